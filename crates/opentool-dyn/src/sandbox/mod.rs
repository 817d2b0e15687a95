//! What keeps a library inside its worker: limits, Landlock, seccomp.
//!
//! All of it is applied by the worker to itself, before the library is loaded and before there is a second thread. What a
//! system cannot enforce is said in the [`Confinement`], not passed over.

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod filter;
mod limits;
mod refusal;
#[cfg(target_os = "linux")]
mod syscalls;
#[cfg(target_os = "linux")]
mod trap;

use std::fmt;
use std::os::fd::RawFd;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(crate) use refusal::{Operation, READ_HINT, Refusal};

use crate::Permissions;
use crate::worker::Board;

/// What the system really enforces upon a library in its worker process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Confinement {
    /// Whether files are out of reach but for those that are permitted (Landlock).
    pub files: bool,
    /// Whether the network, other programs, other processes and, where none is permitted, writing are refused (seccomp).
    pub system_calls: bool,
    /// Whether memory, descriptors and the size of files are limited.
    pub limits: bool,
    /// What is not enforced, and why.
    pub missing: Vec<String>,
}

impl Confinement {
    /// Whether everything is enforced.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.files && self.system_calls && self.limits
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

/// Confines this process, for good.
///
/// # Errors
///
/// Where the operator's permissions cannot be given: a path that does not exist. What the system cannot enforce is no error.
pub(crate) fn confine(
    permissions: &Permissions,
    library: &Path,
    board: &'static Board,
    own: &[RawFd],
) -> Result<Confinement, String> {
    let mut confinement = Confinement::default();
    match limits::apply(permissions) {
        Ok(()) => confinement.limits = true,
        Err(error) => confinement.missing.push(format!("limits: {error}")),
    }
    confine_further(permissions, library, board, own, &mut confinement)?;
    Ok(confinement)
}

#[cfg(target_os = "linux")]
fn confine_further(
    permissions: &Permissions,
    library: &Path,
    board: &'static Board,
    own: &[RawFd],
    confinement: &mut Confinement,
) -> Result<(), String> {
    if !permissions.allows_unsafe() {
        limits::drop_capabilities();
    }
    match files::apply(permissions, library)? {
        Ok(()) => confinement.files = true,
        Err(error) => confinement.missing.push(format!("files: {error}")),
    }
    let filtered = trap::catch(board).and_then(|()| syscalls::apply(permissions, confinement.files, own));
    match filtered {
        Ok(()) => confinement.system_calls = true,
        Err(error) => confinement.missing.push(format!("system calls: {error}")),
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn confine_further(
    _permissions: &Permissions,
    _library: &Path,
    _board: &'static Board,
    _own: &[RawFd],
    confinement: &mut Confinement,
) -> Result<(), String> {
    let system = std::env::consts::OS;
    confinement.missing.push(format!("files: opentool has no means for it on {system}"));
    confinement.missing.push(format!("system calls: opentool has no means for it on {system}"));
    Ok(())
}
