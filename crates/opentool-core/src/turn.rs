//! The counters of one conversation turn, and the calls that wait for a decision: [`Turn`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{Arguments, CallKey, Decision, Outcome, RunCall, RunLog, RunPlace, ToolCall};

/// The state of one conversation turn that must survive between its batches.
///
/// It counts calls for the limits, and holds what a suspended batch left behind: the calls that
/// wait for a decision and the outcomes of their siblings. It can be written and read with serde, so
/// a turn may wait for its approval in a database.
///
/// Its text is as powerful as an approval: with another one a call counts as approved, has other arguments, or is not
/// counted. Store it where no one else can write, or signed, by `StateSigner` (feature `signing`).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Turn {
    rounds: u32,
    calls: u32,
    per_tool: BTreeMap<String, u32>,
    /// How often a call was made, by the fingerprint of its name and arguments.
    #[serde(with = "by_fingerprint")]
    repeats: BTreeMap<u64, u32>,
    /// Every call of each round that has a call waiting, in call order.
    slots: Vec<Slot>,
}

/// A call of an unfinished round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slot {
    pub(crate) call: ToolCall,
    pub(crate) state: SlotState,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SlotState {
    /// The limits were not applied to it yet.
    New,
    Answered(Outcome),
    Pending(Option<Decision>),
}

impl Turn {
    /// Starts a turn.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns how many rounds of calls there were.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Returns how many calls there were in all.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Returns how many calls of a tool there were.
    #[must_use]
    pub fn calls_of(&self, tool: &str) -> u32 {
        self.per_tool.get(tool).copied().unwrap_or_default()
    }

    /// Returns how often this very call was made: the same tool with equal arguments.
    #[must_use]
    pub fn repeats_of(&self, call: &ToolCall) -> u32 {
        self.repeats.get(&fingerprint(call)).copied().unwrap_or_default()
    }

    /// Returns the calls that wait for a decision, in call order.
    pub fn pending(&self) -> impl Iterator<Item = &ToolCall> {
        self.slots.iter().filter(|slot| matches!(slot.state, SlotState::Pending(None))).map(|slot| &slot.call)
    }

    /// Returns the calls of a round that is not over that have no outcome yet, in call order: those that wait for a decision and those
    /// on which [`Executor::resume`](crate::Executor::resume) will act.
    pub fn unfinished(&self) -> impl Iterator<Item = &ToolCall> {
        self.slots.iter().filter(|slot| !matches!(slot.state, SlotState::Answered(_))).map(|slot| &slot.call)
    }

    /// Says whether a round is not over, so that [`Executor::resume`](crate::Executor::resume) goes on with it.
    #[must_use]
    pub fn is_in_round(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Returns the calls that were decided and have no outcome yet, in call order.
    pub fn decided(&self) -> impl Iterator<Item = (&ToolCall, &Decision)> {
        self.slots.iter().filter_map(|slot| match &slot.state {
            SlotState::Pending(Some(decision)) => Some((&slot.call, decision)),
            _ => None,
        })
    }

    /// Takes up a round that was interrupted, by what its run has recorded; [`Executor::resume`](crate::Executor::resume) then goes on
    /// with it.
    ///
    /// A call that has its outcome keeps it. One that began was approved, and the journal decides whether it runs again. Any other
    /// is as new as it was, or waits as it did.
    pub fn recover_round(&mut self, calls: &[ToolCall], run: &RunPlace, log: &RunLog) {
        if self.slots.is_empty() {
            self.start_round();
            self.slots = calls.iter().map(|call| Slot { call: call.clone(), state: SlotState::New }).collect();
        }
        let round = self.rounds;
        let mut admitted = Vec::new();
        for (index, Slot { call, state }) in self.slots.iter_mut().enumerate() {
            let recorded = log.call(&run.call_place(round, index)).filter(|recorded| *recorded.tool == *call.name);
            let Some(recorded) = recorded.filter(|_| !matches!(state, SlotState::Answered(_))) else { continue };
            if matches!(state, SlotState::New) {
                admitted.push(call.clone());
            }
            *state = as_recorded(call, recorded);
        }
        admitted.iter().for_each(|call| self.count(call));
    }

    /// Decides about a call that waits; [`Executor::resume`](crate::Executor::resume) then acts on it.
    ///
    /// Where several waiting calls have the same id, each decision is for the first that has none.
    ///
    /// # Errors
    ///
    /// Where no call of that id waits for a decision.
    pub fn decide(&mut self, call_id: &str, decision: Decision) -> Result<(), NotPending> {
        let undecided = self.slots.iter_mut().find_map(|slot| match &mut slot.state {
            SlotState::Pending(decision @ None) if *slot.call.id == *call_id => Some(decision),
            _ => None,
        });
        match undecided {
            // Another suspension is what not deciding means.
            Some(_) if matches!(decision, Decision::Suspend) => Ok(()),
            Some(undecided) => {
                *undecided = Some(decision);
                Ok(())
            }
            None => Err(NotPending { call_id: call_id.to_owned() }),
        }
    }

    pub(crate) fn start_round(&mut self) {
        self.rounds += 1;
    }

    pub(crate) fn count(&mut self, call: &ToolCall) {
        self.calls += 1;
        *self.per_tool.entry(call.name.to_string()).or_default() += 1;
        *self.repeats.entry(fingerprint(call)).or_default() += 1;
    }

    /// The turn as the limits see it that admit one step of a workflow: the same call at another step is no repetition.
    pub(crate) fn at_step(&self, step: &Turn) -> Turn {
        Turn {
            rounds: 1,
            calls: self.calls,
            per_tool: self.per_tool.clone(),
            repeats: step.repeats.clone(),
            slots: Vec::new(),
        }
    }

    pub(crate) fn take_slots(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.slots)
    }

    pub(crate) fn keep_slots(&mut self, slots: impl IntoIterator<Item = Slot>) {
        self.slots.extend(slots);
    }
}

/// What is known of a call that began.
fn as_recorded(call: &ToolCall, recorded: &RunCall) -> SlotState {
    let edited = !is_part_of(&recorded.arguments, &call.arguments);
    match &recorded.outcome {
        Some(outcome) => SlotState::Answered(Outcome {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            arguments: recorded.arguments.clone(),
            result: outcome.result.clone(),
            return_direct: outcome.return_direct,
            edited,
            definition: None,
        }),
        None if edited => SlotState::Pending(Some(Decision::Edit(recorded.arguments.clone()))),
        None => SlotState::Pending(Some(Decision::Approve)),
    }
}

/// Says whether arguments are those of a caller, of which unknown ones may have been dropped, and not edited ones.
fn is_part_of(run: &Arguments, called: &Arguments) -> bool {
    let hash = |arguments| CallKey::new("", "", "", arguments).arguments_hash;
    if hash(run) == hash(called) {
        return true;
    }
    match (run.value(), called.value()) {
        (Ok(Value::Object(run)), Ok(Value::Object(called))) => {
            run.iter().all(|(name, value)| called.get(name) == Some(value))
        }
        _ => false,
    }
}

/// The counters by fingerprint, whose keys are text in every format.
///
/// JSON would write numbers as text by itself, but reads them back as numbers only directly:
/// within a tagged enum or a flattened field, a key stays text.
mod by_fingerprint {
    use std::collections::BTreeMap;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(counters: &BTreeMap<u64, u32>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(counters.iter().map(|(fingerprint, count)| (fingerprint.to_string(), count)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u64, u32>, D::Error> {
        let counters = BTreeMap::<String, u32>::deserialize(deserializer)?;
        let counters = counters.into_iter().map(|(key, count)| {
            let fingerprint =
                key.parse().map_err(|_| D::Error::custom(format!("`{key}` is no fingerprint of a call")))?;
            Ok((fingerprint, count))
        });
        counters.collect()
    }
}

/// No call of that id waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no call `{call_id}` waits for a decision")]
pub struct NotPending {
    call_id: String,
}

/// A hash of a call that is the same in every process and does not mind spaces or the order of keys.
fn fingerprint(call: &ToolCall) -> u64 {
    let mut hash = Fnv::new();
    hash.write(call.name.as_bytes());
    match call.arguments.value() {
        Ok(value) => hash.value(value),
        Err(_) => hash.write(call.arguments.as_str().as_bytes()),
    }
    hash.0
}

/// FNV-1a: the standard library's hashers may change between releases, and a turn may be read by a later one.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        // The length separates what is written from what follows.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(items) => {
                self.write(b"[");
                items.iter().for_each(|item| self.value(item));
                self.write(b"]");
            }
            Value::Object(map) => {
                self.write(b"{");
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                for (key, value) in entries {
                    self.write(key.as_bytes());
                    self.value(value);
                }
                self.write(b"}");
            }
            Value::String(text) => {
                self.write(b"\"");
                self.write(text.as_bytes());
            }
            scalar => self.write(scalar.to_string().as_bytes()),
        }
    }
}
