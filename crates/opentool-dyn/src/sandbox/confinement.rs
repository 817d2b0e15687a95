//! What is enforced on a library, and what is not: [`Confinement`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the system really enforces on a library in its worker process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Confinement {
    /// Whether files are out of reach but for those that are permitted (Landlock).
    pub files: bool,
    /// Whether the network, other programs, other processes and, where none is permitted, writing are refused (seccomp).
    pub system_calls: bool,
    /// Whether memory, descriptors and the size of files are limited.
    pub limits: bool,
    /// What is not enforced, and why; also what is only a part of the above.
    pub missing: Vec<String>,
}

impl Confinement {
    /// Whether everything is enforced.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.files && self.system_calls && self.limits && self.missing.is_empty()
    }
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(self.files, "files"), (self.system_calls, "system calls"), (self.limits, "limits")];
        let enforced: Vec<_> = parts.iter().filter(|(enforced, _)| *enforced).map(|(_, name)| *name).collect();
        match enforced.as_slice() {
            [] => f.write_str("nothing is enforced")?,
            names => write!(f, "enforced: {}", names.join(", "))?,
        }
        if !self.missing.is_empty() {
            write!(f, "; not enforced: {}", self.missing.join("; "))?;
        }
        Ok(())
    }
}
