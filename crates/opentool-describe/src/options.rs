//! What a document is to be written from: [`Options`].

use std::ffi::OsString;
use std::path::PathBuf;

use crate::glob::Glob;

/// The headers, how the C compiler reads them, and which functions are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) headers: Vec<PathBuf>,
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) defines: Vec<String>,
    pub(crate) only: Vec<Glob>,
    pub(crate) compiler: Option<OsString>,
}

impl Options {
    /// Whether a function of this name is wanted.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|glob| glob.matches(name))
    }

    /// Whether functions with names that are reserved for the system are wanted.
    pub(crate) fn wants_reserved(&self) -> bool {
        self.only.iter().any(Glob::is_reserved)
    }
}
