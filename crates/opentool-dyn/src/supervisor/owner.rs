//! Whom a child process belongs to: [`Owner`].

use std::time::Duration;

use super::connection::Connection;
use super::exit::{ExitCause, WorkerExit};
use super::settings::Settings;
use super::spawn::Launcher;
use super::usage::Activity;
use crate::LoadError;

/// The library whose worker a child is: what the child is started with, and who is notified about it.
pub(super) trait Owner: Send + Sync {
    fn settings(&self) -> &Settings;

    fn launcher(&self) -> &Launcher;

    /// How long a worker may take to load the library.
    fn start_timeout(&self) -> Duration;

    /// How many calls a worker runs at the same time.
    fn max_concurrency(&self) -> usize;

    /// A worker has loaded the library.
    fn started(&self, connection: Connection);

    /// A worker could not be started, or could not load the library.
    fn not_started(&self, error: &LoadError);

    /// What a worker is asked to do; none where it takes no calls any more.
    fn activity(&self, worker: u64) -> Option<Activity>;

    /// Ends a worker that uses more than it may; one that only burns, unless it has got a call since it was sampled.
    fn end_overuse(&self, worker: u64, activity: Activity, cause: ExitCause);

    /// A worker that had loaded the library has exited.
    fn exited(&self, worker: u64, exit: WorkerExit);
}
