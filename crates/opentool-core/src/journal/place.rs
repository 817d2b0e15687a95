//! Where in a run a context is: [`RunPlace`].

use std::fmt;
use std::sync::Arc;

use super::origin::{Identity, Recording};
use super::run::OwnedRun;

/// A run, and the place in it at which the calls of a context are.
#[derive(Clone)]
pub struct RunPlace {
    run: Arc<dyn OwnedRun>,
    identity: Identity,
}

impl RunPlace {
    /// Returns the run and the place in it, where what happens between its calls is recorded too.
    pub(crate) fn new(recording: &Recording) -> Option<Self> {
        Some(Self { run: recording.owned.clone()?, identity: recording.identity.clone() })
    }

    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &Arc<dyn OwnedRun> {
        &self.run
    }

    /// Returns the place within which the calls are: empty for those of the run itself, otherwise that of the call that makes them.
    #[must_use]
    pub fn within(&self) -> String {
        self.identity.within()
    }

    /// Returns the place of a call, by its round and its number there.
    #[must_use]
    pub fn call_place(&self, round: u32, index: usize) -> String {
        self.identity.place("", "", Some((round, index))).1.to_string()
    }
}

impl fmt::Debug for RunPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunPlace").field("run", self.run.id()).field("within", &self.within()).finish()
    }
}
