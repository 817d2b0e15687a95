//! What a [`Describer`](crate::Describer) writes: [`Description`].

use std::fmt;
use std::path::PathBuf;

use opentool_spec::OpenDyn;

/// A document, what was guessed in it, and what is not in it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Description {
    /// The document.
    pub document: OpenDyn,
    /// What was guessed.
    pub reviews: Vec<Review>,
    /// What is not in the document.
    pub skipped: Vec<Skipped>,
    /// The functions that no comment describes, whose description is their prototype.
    pub uncommented: Vec<String>,
}

/// A guess that a person should check; the document has it as `x-review`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Review {
    /// The function.
    pub function: String,
    /// The parameter or return value, or nothing where it is about the whole function.
    pub value: Option<String>,
    /// What was guessed, and what else it could be.
    pub reason: String,
}

impl fmt::Display for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}, `{value}`: {}", self.function, self.reason),
            None => write!(f, "{}: {}", self.function, self.reason),
        }
    }
}

/// A function that is not in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The function, as C++ declares it where it is of C++.
    pub function: String,
    /// Why.
    pub reason: String,
    /// A small function in C that would make a tool of it.
    pub shim: Option<String>,
    /// The header that declares it, where that was not given.
    pub header: Option<PathBuf>,
}
