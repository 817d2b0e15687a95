//! Why a memory fails: [`MemoryError`].

use std::error::Error;
use std::fmt;

/// Why a memory could not keep or give a conversation.
#[derive(Debug)]
#[non_exhaustive]
pub struct MemoryError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl MemoryError {
    /// Makes an error that says what happened and what to do.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    /// Sets the error underneath.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for MemoryError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
