//! A symbol that a library exports: [`Export`].

use std::fmt;

/// One symbol that a library defines for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    pub(super) name: String,
    pub(super) kind: ExportKind,
    pub(super) version: Option<String>,
    pub(super) default: bool,
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
