//! A guard for tests against requests to real models.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// How many guards there are in this process.
static GUARDS: AtomicUsize = AtomicUsize::new(0);

/// Forbids requests to real models, in the whole process, for as long as the guard lives.
///
/// A test that forgot to put a model of the test kit in place then fails at once with a clear error, instead of asking a
/// real one and paying for it. Scripted and function models still work.
///
/// ```
/// let _guard = opentool_chat::testing::forbid_requests();
/// let refused = opentool_chat::provider::permit_request("openai").unwrap_err();
/// assert_eq!(refused.to_string(), "a test forbids requests to real models, and this one would go to openai");
/// ```
#[must_use = "requests are forbidden only as long as the guard lives"]
pub fn forbid_requests() -> RequestsForbidden {
    GUARDS.fetch_add(1, SeqCst);
    RequestsForbidden(())
}

/// While this lives, no request goes to a real model: see [`forbid_requests`].
#[derive(Debug)]
pub struct RequestsForbidden(());

impl Drop for RequestsForbidden {
    fn drop(&mut self) {
        GUARDS.fetch_sub(1, SeqCst);
    }
}

pub(crate) fn requests_are_forbidden() -> bool {
    GUARDS.load(SeqCst) > 0
}
