//! What the workers of a library are started with: [`Settings`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::Permissions;
use crate::engine::Options;

/// What a worker is started with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The document's text, from which the worker makes the plan again.
    pub(crate) document: Arc<str>,
    /// The library's file.
    pub(crate) library: PathBuf,
    /// How values are written.
    pub(crate) options: Options,
    /// What the operator allows.
    pub(crate) permissions: Permissions,
    /// The program that is started as the worker; none for the running one.
    pub(crate) worker: Option<PathBuf>,
    /// How long a call may take; none where only the caller's own deadline counts.
    pub(crate) timeout: Option<Duration>,
}
