//! Why a library cannot be described.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::cpp_sign::CppSign;

/// How many C++ exports a message shows.
const SHOWN: usize = 10;

/// Why no document can be written from a library and its headers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DescribeError {
    /// No header was given.
    #[error("no header: an exported name does not say what a function takes")]
    NoHeader,
    /// A header is a directory.
    #[error("the header `{}` is a directory: name the file in it", .path.display())]
    HeaderDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The name of a header cannot stand in an `#include`.
    #[error("the name of the header {path:?} cannot stand in an `#include`: rename it")]
    HeaderName {
        /// The file.
        path: PathBuf,
    },
    /// The C compiler cannot be started.
    #[error(
        "cannot run the C compiler `{compiler}`: {source}; install one (on Debian: `apt-get install gcc`), or name it in the environment variable CC"
    )]
    Compiler {
        /// The command.
        compiler: String,
        /// What the system said.
        source: io::Error,
    },
    /// The C compiler refuses a header.
    #[error("`{compiler} -E` cannot read the headers:\n{}{}", .said.trim_end(), folders_message(.folders))]
    Preprocessor {
        /// The command.
        compiler: String,
        /// What it said.
        said: String,
        /// Folders that have the header that is missing.
        folders: Vec<PathBuf>,
    },
    /// No file matches a pattern for headers.
    #[error("no header matches `{pattern}`")]
    NoSuchHeaders {
        /// The pattern.
        pattern: String,
    },
    /// `pkg-config` does not know a package.
    #[error("`pkg-config {package}` failed: {said}")]
    Package {
        /// The package.
        package: String,
        /// What it said.
        said: String,
    },
    /// The header is not C that is understood.
    #[error("{place}: this is beyond the parser: `{text}`")]
    Syntax {
        /// The header and line.
        place: String,
        /// The line, as it was written.
        text: String,
    },
    /// The header needs a C++ compiler.
    #[error("{}", cpp_message(.place, .sign, .exports))]
    Cpp {
        /// The header and line.
        place: String,
        /// What is there that C does not have.
        sign: String,
        /// The C++ functions that the library exports.
        exports: Vec<CppExport>,
    },
}

/// A C++ function that a library exports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CppExport {
    /// The mangled name.
    pub symbol: String,
    /// The declaration that the name stands for.
    pub declaration: String,
    /// A function that would export it for C.
    pub shim: Option<String>,
}

impl From<CppSign> for DescribeError {
    fn from(sign: CppSign) -> Self {
        DescribeError::Cpp { place: sign.place, sign: sign.text, exports: Vec::new() }
    }
}

impl DescribeError {
    /// Adds what the library exports, where that is of use.
    pub(crate) fn with_exports(mut self, cpp: impl FnOnce() -> Vec<CppExport>) -> Self {
        if let DescribeError::Cpp { exports, .. } = &mut self {
            *exports = cpp();
        }
        self
    }
}

fn folders_message(folders: &[PathBuf]) -> String {
    match folders {
        [] => String::new(),
        [only] => format!("\nthe missing header is there: add `-I {}`", only.display()),
        several => {
            let list: Vec<_> = several.iter().map(|folder| format!("`-I {}`", folder.display())).collect();
            format!("\nheaders of that name are there: add one of {}", list.join(", "))
        }
    }
}

fn cpp_message(place: &str, sign: &str, exports: &[CppExport]) -> String {
    let mut text = format!(
        "{place}: this needs a C++ compiler: `{sign}`; tools are made of C functions, so export those that you want as \
         `extern \"C\"`, and declare them in a header of their own"
    );
    if exports.is_empty() {
        return text;
    }
    text.push_str("\nthe library exports as C++:");
    for export in exports.iter().take(SHOWN) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {}", export.declaration);
        if let Some(shim) = &export.shim {
            let _ = write!(text, "\n    for example: {shim}");
        }
    }
    if exports.len() > SHOWN {
        let _ = write!(text, "\n  and {} more", exports.len() - SHOWN);
    }
    text
}
