//! What a library exports, read from its file without loading it: [`Exports`].

mod error;
mod nearest;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

pub use self::error::ExportsError;

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
    path: PathBuf,
    format: Format,
    architecture: &'static str,
    little_endian: bool,
    /// In the order of names; of one name, what a look-up without a version finds comes first.
    symbols: Vec<Export>,
    needed: Vec<String>,
}

impl Exports {
    /// Reads the exports of the library at a path.
    ///
    /// A universal Mach-O file is read for the architecture of the running program, or else for its first one.
    ///
    /// # Errors
    ///
    /// Where there is no such file, it is no shared library, or it is damaged. A library for another machine is read
    /// nevertheless; [`loadable_here`](Self::loadable_here) tells.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ExportsError> {
        read::file(path.as_ref())
    }

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
    // Only few architectures have both orders; naming it elsewhere would be noise.
    let order = match architecture {
        "arm" | "aarch64" | "mips" | "mips64" | "powerpc" | "powerpc64" if !little_endian => ", big-endian",
        "mips" | "mips64" | "powerpc" | "powerpc64" => ", little-endian",
        _ => "",
    };
    format!("{architecture} ({format}{order})")
}

/// The format of a library's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// That of Linux and the BSDs.
    Elf,
    /// That of macOS.
    MachO,
    /// That of Windows.
    Pe,
}

impl Format {
    /// The format that the running program loads.
    #[must_use]
    pub fn native() -> Self {
        if cfg!(target_vendor = "apple") {
            Self::MachO
        } else if cfg!(windows) {
            Self::Pe
        } else {
            Self::Elf
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elf => "ELF",
            Self::MachO => "Mach-O",
            Self::Pe => "PE",
        })
    }
}

/// One symbol that a library defines for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    name: String,
    kind: ExportKind,
    version: Option<String>,
    default: bool,
}

impl Export {
    /// The name, as a look-up takes it: without the underscore that Mach-O puts before C names.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a function or data.
    #[must_use]
    pub fn kind(&self) -> &ExportKind {
        &self.kind
    }

    /// The version of the symbol, where the library has versions.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether a look-up by name alone finds this symbol, and not a newer version of it or nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.default
    }

    /// The C++ declaration that the name stands for, where it is a mangled one.
    #[must_use]
    pub fn demangled(&self) -> Option<String> {
        // A dot begins what a compiler adds to a clone of a function (`.cold`, `.part.0`).
        if !self.name.starts_with("_Z") {
            return None;
        }
        cpp_demangle::Symbol::new(self.name.as_bytes()).ok()?.demangle().ok()
    }
}

/// What an exported symbol stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportKind {
    /// A function.
    Function,
    /// A function of which the library chooses an implementation when it is loaded.
    Indirect,
    /// A variable or constant.
    Data,
    /// A variable of which every thread has its own.
    ThreadLocal,
    /// A symbol of another library under this one's name.
    Forwarded {
        /// The other library, empty where the file does not say.
        library: String,
        /// The name or ordinal there.
        symbol: String,
    },
}

impl ExportKind {
    /// Whether it can be called; what is forwarded is taken to be a function.
    #[must_use]
    pub fn is_callable(&self) -> bool {
        matches!(self, Self::Function | Self::Indirect | Self::Forwarded { .. })
    }
}

impl fmt::Display for ExportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Function => "function",
            Self::Indirect => "indirect function",
            Self::Data => "data",
            Self::ThreadLocal => "thread-local data",
            Self::Forwarded { .. } => "forwarded",
        })
    }
}
