//! What a library exports: [`Exports`].

use std::path::{Path, PathBuf};

use super::error::ExportsError;
use super::format::Format;
use super::nearest;
use super::symbol::Export;

/// The functions and data that a shared library defines for others, and the libraries that it needs.
///
/// It is read from the file (ELF, Mach-O or PE, of any architecture). The library is never loaded, so none of its code runs,
/// and a damaged one is an error instead of a crash.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # #[cfg(target_os = "linux")] {
/// use opentool_dyn::{Exports, find_library};
///
/// let exports = Exports::read(find_library("libm.so.6")?)?;
/// assert!(exports.get("cos").is_some_and(|export| export.kind().is_callable()));
/// assert_eq!(exports.nearest("tanhh"), ["tanh", "tanhf", "tanhl"]);
/// # } Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Exports {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    pub(super) architecture: &'static str,
    pub(super) little_endian: bool,
    /// In the order of names; of one name, what a look-up without a version finds comes first.
    pub(super) symbols: Vec<Export>,
    pub(super) needed: Vec<String>,
}

impl Exports {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format of the file.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The architecture that the library is for, in the words of [`std::env::consts::ARCH`].
    #[must_use]
    pub fn architecture(&self) -> &'static str {
        self.architecture
    }

    /// Every symbol that the library defines for others, in the order of names.
    ///
    /// A name occurs several times where the library has older versions of it.
    #[must_use]
    pub fn symbols(&self) -> &[Export] {
        &self.symbols
    }

    /// The symbol that a look-up by name finds.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Export> {
        let first = self.symbols.partition_point(|export| export.name.as_str() < name);
        self.symbols.get(first).filter(|export| export.name == name && export.default)
    }

    /// The names of the libraries that this one needs.
    #[must_use]
    pub fn needed(&self) -> &[String] {
        &self.needed
    }

    /// The names of callable exports that are most like a name, the nearest first, and at most three.
    ///
    /// A C++ function of that name counts, by its mangled name.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest::names(name, self.symbols.iter().filter(|export| export.default && export.kind.is_callable()))
    }

    /// Says whether the running program could load the library, as far as format and architecture go.
    ///
    /// # Errors
    ///
    /// Where it could not, with both machines named.
    pub fn loadable_here(&self) -> Result<(), ExportsError> {
        let here = (Format::native(), std::env::consts::ARCH, cfg!(target_endian = "little"));
        let is = (self.format, self.architecture, self.little_endian);
        if is == here {
            return Ok(());
        }
        Err(ExportsError::OtherMachine { path: self.path.clone(), is: machine(is), here: machine(here) })
    }
}

fn machine((format, architecture, little_endian): (Format, &str, bool)) -> String {
    // Only few architectures have both orders; for the others it would be noise.
    let order = match architecture {
        "arm" | "aarch64" | "mips" | "mips64" | "powerpc" | "powerpc64" if !little_endian => ", big-endian",
        "mips" | "mips64" | "powerpc" | "powerpc64" => ", little-endian",
        _ => "",
    };
    format!("{architecture} ({format}{order})")
}
