//! The format of a library's file: [`Format`].

use std::fmt;

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
