//! What `pkg-config` knows of a library: [`Package`].

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::DescribeError;

/// Where the headers of a package are, and what its library is.
#[derive(Debug, Clone, Default)]
pub struct Package {
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) defines: Vec<String>,
    libraries: Vec<String>,
    folders: Vec<PathBuf>,
}

impl Package {
    /// Asks `pkg-config` for a package.
    ///
    /// # Errors
    ///
    /// Where there is no `pkg-config`, or it does not know the package.
    pub fn find(name: &str) -> Result<Self, DescribeError> {
        let failed = |said: String| DescribeError::Package { package: name.to_owned(), said: said.trim().to_owned() };
        let output =
            Command::new("pkg-config").args(["--cflags", "--libs", "--keep-system-libs", name]).output().map_err(
                |error| failed(format!("cannot run it: {error}; install it (on Debian: `apt-get install pkg-config`)")),
            )?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let mut package = Self::default();
        for word in String::from_utf8_lossy(&output.stdout).split_whitespace() {
            if let Some(folder) = word.strip_prefix("-I") {
                package.includes.push(folder.into());
            } else if let Some(define) = word.strip_prefix("-D") {
                package.defines.push(define.to_owned());
            } else if let Some(folder) = word.strip_prefix("-L") {
                package.folders.push(folder.into());
            } else if let Some(library) = word.strip_prefix("-l") {
                package.libraries.push(library.to_owned());
            }
        }
        Ok(package)
    }

    /// The library: its file where `pkg-config` says the folder, otherwise a name for the system's loader.
    #[must_use]
    pub fn library(&self) -> Option<String> {
        let name = format!("lib{}.so", self.libraries.first()?);
        let file = self.folders.iter().map(|folder| folder.join(&name)).find(|file| file.exists());
        // The name without a version is for linkers: programs load what it stands for.
        Some(match file {
            Some(file) => real(&file).to_string_lossy().into_owned(),
            None => name,
        })
    }
}

fn real(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}
