//! The end of calls that still run when the drain is over.

use std::pin::Pin;

use opentool_core::ToolError;

use crate::shutdown::ShutdownState;

/// Runs a call until it is over or the server can wait for it no longer.
///
/// The future of the call is borrowed: an argument of an async function takes its place twice (`scripts/bench http`).
pub(super) async fn until_cut_off<T>(
    shutdown: &ShutdownState,
    call: Pin<&mut impl Future<Output = T>>,
) -> Result<T, ToolError> {
    tokio::select! {
        // The call first: one that is ready at once does not register for the signal.
        biased;
        outcome = call => Ok(outcome),
        () = shutdown.cut_off.cancelled() => Err(ToolError::stopped()),
    }
}
