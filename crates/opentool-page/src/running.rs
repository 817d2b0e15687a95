//! The calls that people at the page have made and that are not over: [`RunningCalls`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentool_core::Cancellation;

use crate::error::ApiError;
use crate::questions::OpenQuestions;

/// How many calls one session may have at once.
const MAX_CALLS: usize = 32;

/// The running calls by session and id. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningCalls(Arc<Mutex<HashMap<CallAddress, RunningCall>>>);

/// Which session a call belongs to, and the id that its page gave it.
type CallAddress = (u64, String);

/// What reaches a call while it runs.
#[derive(Clone, Debug)]
pub(crate) struct RunningCall {
    pub(crate) cancellation: Cancellation,
    pub(crate) questions: Arc<OpenQuestions>,
}

/// Keeps a call among those that run.
pub(crate) struct CallEntry {
    calls: RunningCalls,
    address: CallAddress,
}

impl RunningCalls {
    /// Adds a call.
    pub(crate) fn enter(&self, session: u64, id: &str, call: RunningCall) -> Result<CallEntry, ApiError> {
        let mut calls = self.lock();
        if calls.keys().filter(|(of, _)| *of == session).count() >= MAX_CALLS {
            return Err(ApiError::busy(format!("this page has {MAX_CALLS} calls running: wait, or cancel one")));
        }
        let address = (session, id.to_owned());
        if calls.contains_key(&address) {
            return Err(ApiError::conflict("a call of this id is running"));
        }
        calls.insert(address.clone(), call);
        Ok(CallEntry { calls: self.clone(), address })
    }

    pub(crate) fn find(&self, session: u64, id: &str) -> Result<RunningCall, ApiError> {
        let found = self.lock().get(&(session, id.to_owned())).cloned();
        found.ok_or_else(|| ApiError::not_found("no call of this id is running"))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallAddress, RunningCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallEntry {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.address);
    }
}
