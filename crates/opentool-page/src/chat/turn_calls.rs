//! The calls of a turn as the page knows them: [`TurnCalls`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentool_core::{CallRef, Outcome, ToolError};
use opentool_server::{CallCounter, CountedCall, TooManyCalls};

/// The calls of a turn as the page knows them.
pub(super) struct TurnCalls {
    counter: CallCounter,
    pub(super) round: u32,
    /// The ids that were given out. Models repeat theirs.
    ids: HashSet<String>,
    /// The calls of this round, by their place in it.
    open: HashMap<usize, ShownCall>,
}

struct ShownCall {
    /// The id that the page knows the call by.
    id: String,
    /// The id that the model gave it.
    model_id: Arc<str>,
    counted: CountedCall,
    since: Instant,
}

impl TurnCalls {
    pub(super) fn new(counter: CallCounter) -> Self {
        Self { counter, round: 0, ids: HashSet::new(), open: HashMap::new() }
    }

    /// Notes a call that the model asked for.
    pub(super) fn add(&mut self, call: &CallRef) -> Result<&str, TooManyCalls> {
        if call.index == 0 {
            self.round += 1;
        }
        let mut id = call.id.to_string();
        let mut number = 1;
        while id.is_empty() || self.ids.contains(&id) {
            number += 1;
            id = format!("{}-{number}", call.id);
        }
        self.ids.insert(id.clone());
        let counted = self.counter.count(call.tool.clone())?;
        let shown = ShownCall { id, model_id: call.id.clone(), counted, since: Instant::now() };
        Ok(&self.open.entry(call.index).insert_entry(shown).into_mut().id)
    }

    pub(super) fn id(&self, call: &CallRef) -> Option<&str> {
        self.open.get(&call.index).map(|shown| &*shown.id)
    }

    /// Finds the call that an approval is about: itself, or the one that makes it.
    pub(super) fn of_model_id(&self, id: &str) -> Option<&str> {
        let calls = || self.open.values();
        let found = calls().find(|shown| *shown.model_id == *id);
        let around = || calls().find(|shown| !shown.model_id.is_empty() && id.starts_with(&*shown.model_id));
        found.or_else(around).map(|shown| &*shown.id)
    }

    /// Takes a call that is over.
    pub(super) fn end(&mut self, call: &CallRef, outcome: Option<&Outcome>) -> Option<(String, Duration)> {
        let mut shown = self.open.remove(&call.index)?;
        if let Some(outcome) = outcome {
            shown.counted.finish(outcome.error().map(ToolError::kind));
        }
        Some((shown.id, shown.since.elapsed()))
    }
}
