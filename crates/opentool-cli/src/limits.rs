//! The limits of calls that a command line can set.

use std::time::Duration;

use opentool::{Executor, ExecutorBuilder};
use opentool_client::Client;

/// How much larger than its result the answer of a server may be: the rest of the message, and escapes.
const ANSWER_OVERHEAD: usize = 2;

/// An executor with a deadline and a limit of results, where they are given.
pub(crate) fn executor(timeout: Option<Duration>, max_result: Option<usize>) -> ExecutorBuilder {
    let mut executor = Executor::builder();
    if let Some(timeout) = timeout {
        executor = executor.timeout(timeout);
    }
    if let Some(bytes) = max_result {
        executor = executor.max_result_size(bytes);
    }
    executor
}

/// A client whose own limits are no tighter than those of the executor.
pub(crate) fn prepared(mut client: Client, timeout: Option<Duration>, max_result: Option<usize>) -> Client {
    if let Some(timeout) = timeout {
        client = client.timeout(timeout);
    }
    if let Some(bytes) = max_result {
        const DEFAULT: usize = 16 << 20;
        client = client.max_response_size(bytes.saturating_mul(ANSWER_OVERHEAD).max(DEFAULT));
    }
    client
}
