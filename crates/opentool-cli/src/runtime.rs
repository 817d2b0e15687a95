//! The async runtime of commands that wait for one thing.

use crate::failure::Failure;

/// Runs a future to its end on a runtime of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| Failure::Runtime { source })?.block_on(work)
}
