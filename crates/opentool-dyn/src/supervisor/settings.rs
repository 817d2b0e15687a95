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
    /// Who shares a worker.
    pub(crate) sharing: WorkerSharing,
    /// After how long without a call the workers of a caller end.
    pub(crate) idle_timeout: Duration,
}

/// Which callers share the worker process of a library, and with it what the library keeps in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerSharing {
    /// All of them: a crash that one causes ends the handles of the others.
    #[default]
    Shared,
    /// Each has its own: those that [`ToolContext::caller`](opentool_core::ToolContext::caller) tells apart, at most 16 at a
    /// time. The worker of one that makes no calls is ended, and with it its handles. Callers without a name share one.
    PerCaller,
}
