//! What a turn notes in its run, and what it noted there before: [`TurnRecorder`].

use std::collections::VecDeque;

use opentool_core::{ApprovalDecision, Decision, RunError, RunLog, RunPlace, RunStatus, RunStep, WaitsFor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::memory::TurnMemory;
use crate::error::ChatError;
use crate::exchange::Exchange;
use crate::generation::FinishReason;
use crate::message::Message;
use crate::response::ChatResponse;
use crate::run_steps::{
    ANSWER, AnswerStep, END, EndStep, MemoryStep, REQUEST, ROUND, RequestStep, RoundStep, SAVED, SAVING, SuspendedStep,
};

/// The record of a turn in a run.
pub(super) struct TurnRecorder {
    place: RunPlace,
    within: String,
    /// What an earlier process recorded and this one has not gone through yet.
    replay: VecDeque<RecordedStep>,
    /// What is known of the calls of the round that was interrupted.
    earlier: Option<RunLog>,
    /// The round that waited.
    suspended: Option<SuspendedStep>,
    decisions: Vec<ApprovalDecision>,
    /// How many messages of the history are in the run.
    pub(super) recorded: usize,
    pub(super) has_request: bool,
}

/// What moves a turn on.
enum RecordedStep {
    Answer(Box<ChatResponse>),
    Round(Box<RoundStep>),
}

/// What a run knows of a turn.
#[derive(Default)]
pub(super) struct RecordedTurn {
    pub(super) request: Option<RequestStep>,
    steps: VecDeque<RecordedStep>,
    suspended: Option<SuspendedStep>,
    decisions: Vec<ApprovalDecision>,
    saving: Option<MemoryStep>,
    saved: Option<usize>,
    end: Option<EndStep>,
}

#[derive(Deserialize)]
struct StepPlace {
    #[serde(default)]
    within: String,
}

impl RecordedTurn {
    /// Reads what a run has recorded of the turn at a place.
    pub(super) fn read(run: &str, within: &str, log: &RunLog) -> Result<Self, RunError> {
        let mut turn = Self::default();
        for (index, step) in log.steps.iter().enumerate() {
            turn.take(within, step).map_err(|error| RunError::Unusable {
                run: run.to_owned(),
                reason: format!("its step {} (`{}`) cannot be read: {error}", index + 1, step.kind),
            })?;
        }
        Ok(turn)
    }

    fn take(&mut self, within: &str, step: &RunStep) -> Result<(), serde_json::Error> {
        if step.kind == RunStep::DECISION {
            self.decisions.push(serde_json::from_str(&step.body)?);
            return Ok(());
        }
        let known = [REQUEST, ANSWER, ROUND, RunStep::SUSPENDED, SAVING, SAVED, END];
        // What others note is not about the turn.
        if !known.contains(&&*step.kind) || serde_json::from_str::<StepPlace>(&step.body)?.within != within {
            return Ok(());
        }
        match &*step.kind {
            REQUEST => self.request = Some(parse(step)?),
            ANSWER => {
                let AnswerStep { response, .. } = parse(step)?;
                self.steps.push_back(RecordedStep::Answer(Box::new(response)));
            }
            ROUND => self.steps.push_back(RecordedStep::Round(Box::new(parse(step)?))),
            RunStep::SUSPENDED => self.suspended = Some(parse(step)?),
            SAVING => self.saving = Some(parse(step)?),
            SAVED => {
                self.saved = Some(parse::<MemoryStep>(step)?.upto);
                self.saving = None;
            }
            _ => self.end = Some(parse(step)?),
        }
        // A turn that failed may go on.
        if matches!(&*step.kind, ANSWER | ROUND) {
            (self.suspended, self.end) = (None, None);
        }
        Ok(())
    }

    /// Returns the answer of a turn that is over.
    pub(super) fn answer(&mut self) -> Option<ChatResponse> {
        let end = self.end.take_if(|end| end.response.is_some())?;
        let request = self.request.take().unwrap_or_default();
        let mut history = request.messages;
        let mut steps = self.steps.iter().peekable();
        while let Some(step) = steps.next() {
            match step {
                RecordedStep::Round(round) => history.extend_from_slice(&round.messages),
                RecordedStep::Answer(answer) if steps.peek().is_some() && is_paused(answer) => {
                    history.extend(answer.message().cloned().map(Message::from));
                }
                RecordedStep::Answer(_) => {}
            }
        }
        history.extend(end.messages);
        let mut response = end.response?;
        let (usage, cost, start) = (response.usage, end.cost, request.start);
        response.exchange = Exchange { history, usage, cost, partial: None, start };
        Some(response)
    }

    /// Returns what is known of the memory.
    pub(super) fn memory(&self) -> RecordedMemory {
        RecordedMemory { saving: self.saving.clone(), saved: self.saved.unwrap_or(0) }
    }

    /// Decides about the calls that wait; those of the command or the code that resumes the run, which are noted.
    pub(super) async fn decide(&mut self, run: &RunPlace, given: Vec<(String, Decision)>) -> Result<(), ChatError> {
        for (call_id, decision) in given {
            let waiting = self.suspended.iter().flat_map(|suspended| &suspended.calls);
            let waiting = waiting.into_iter().find(|call| *call.call_id == *call_id);
            let place = match waiting {
                Some(call) if call.waits_for == WaitsFor::Approval => call.place.clone(),
                Some(_) => {
                    return Err(ChatError::setup(format!(
                        "it is not known what became of the call `{call_id}`: decide about it in the journal"
                    )));
                }
                None => return Err(ChatError::setup(format!("no call `{call_id}` waits for a decision"))),
            };
            let decided = ApprovalDecision::new(place, decision);
            note(run, RunStep::DECISION, &decided).await?;
            self.decisions.push(decided);
        }
        Ok(())
    }
}

/// What a run knows of what the memory has of its messages.
pub(super) struct RecordedMemory {
    saving: Option<MemoryStep>,
    saved: usize,
}

impl RecordedMemory {
    /// Returns how many messages of the history the memory has, at least so many.
    pub(super) async fn saved(&self, least: usize, memory: Option<&TurnMemory>) -> Result<usize, ChatError> {
        let known = least.max(self.saved);
        match (&self.saving, memory) {
            // The process ended while it added them: they are there, or they are not.
            (Some(saving), Some(memory)) => {
                let messages = memory.load().await?;
                let found = occurrences(&messages, saving.count, &saving.fingerprint);
                Ok(if found > saving.found { saving.upto.max(known) } else { known })
            }
            _ => Ok(known),
        }
    }
}

fn parse<T: DeserializeOwned>(step: &RunStep) -> Result<T, serde_json::Error> {
    serde_json::from_str(&step.body)
}

/// Says whether a turn goes on with an answer that its provider paused.
fn is_paused(response: &ChatResponse) -> bool {
    response.finish_reason() == Some(&FinishReason::Paused) && !response.has_tool_calls()
}

async fn note<T: Serialize>(place: &RunPlace, kind: &str, step: &T) -> Result<(), ChatError> {
    Ok(place.run().note(kind, body(step)?).await?)
}

fn body<T: Serialize>(step: &T) -> Result<String, RunError> {
    serde_json::to_string(step).map_err(|error| RunError::Journal(Box::new(error)))
}

impl TurnRecorder {
    /// Records a turn from its start.
    pub(super) fn new(place: RunPlace) -> Self {
        let within = place.within();
        Self {
            place,
            within,
            replay: VecDeque::new(),
            earlier: None,
            suspended: None,
            decisions: Vec::new(),
            recorded: 0,
            has_request: false,
        }
    }

    /// Goes on with a turn.
    pub(super) fn recover(place: RunPlace, turn: RecordedTurn, log: RunLog) -> Self {
        let RecordedTurn { request, steps, suspended, decisions, .. } = turn;
        let mut recorder = Self::new(place);
        recorder.recorded = request.map_or(0, |request| request.messages.len());
        (recorder.replay, recorder.earlier, recorder.has_request) = (steps, Some(log), true);
        (recorder.suspended, recorder.decisions) = (suspended, decisions);
        recorder
    }

    pub(super) fn id(&self) -> &std::sync::Arc<str> {
        self.place.run().id()
    }

    pub(super) fn within(&self) -> &str {
        &self.within
    }

    /// Says whether the turn is the run itself, and not that of a chat which is used as a tool.
    pub(super) fn is_whole_run(&self) -> bool {
        self.within.is_empty()
    }

    pub(super) fn place(&self) -> &RunPlace {
        &self.place
    }

    /// Says whether there is something recorded to go through.
    pub(super) fn is_replaying(&self) -> bool {
        !self.replay.is_empty()
    }

    pub(super) async fn note<T: Serialize>(&self, kind: &str, step: &T) -> Result<(), ChatError> {
        note(&self.place, kind, step).await
    }

    /// Takes the answer that was recorded next.
    pub(super) fn next_answer(&mut self) -> Option<ChatResponse> {
        match self.replay.pop_front_if(|step| matches!(step, RecordedStep::Answer(_)))? {
            RecordedStep::Answer(response) => Some(*response),
            RecordedStep::Round(_) => None,
        }
    }

    /// Takes the round that was recorded next.
    pub(super) fn next_round(&mut self) -> Option<RoundStep> {
        match self.replay.pop_front_if(|step| matches!(step, RecordedStep::Round(_)))? {
            RecordedStep::Round(round) => Some(*round),
            RecordedStep::Answer(_) => None,
        }
    }

    /// Takes what is known of the round that was interrupted: the round that waited with the decisions, and the calls.
    pub(super) fn take_interrupted(&mut self) -> Option<(RunLog, Option<SuspendedStep>, Vec<ApprovalDecision>)> {
        let log = self.earlier.take()?;
        Some((log, self.suspended.take(), std::mem::take(&mut self.decisions)))
    }

    /// Adds messages to the memory, so that no process adds them again.
    pub(super) async fn keep(&self, memory: &TurnMemory, messages: &[Message], upto: usize) -> Result<(), ChatError> {
        if messages.is_empty() {
            return Ok(());
        }
        let (count, fingerprint) = (messages.len(), fingerprint(messages));
        let found = occurrences(&memory.load().await?, count, &fingerprint);
        let step = MemoryStep { within: self.within.clone(), upto, count, fingerprint, found };
        self.note(SAVING, &step).await?;
        memory.add(messages).await?;
        self.note(SAVED, &step).await
    }

    /// Notes how the turn ended, unless it waits, and gives the run back, where the turn is all of it.
    pub(super) async fn end(&self, status: RunStatus, step: Option<&EndStep>) -> Result<(), ChatError> {
        if self.is_whole_run() {
            let last = match step {
                Some(step) => Some(RunStep::new(END, body(step)?)),
                None => None,
            };
            return Ok(self.place.run().end(status, last).await?);
        }
        match step {
            Some(step) => self.note(END, step).await,
            None => Ok(()),
        }
    }
}

/// A turn that is dropped before its end can go on in another part of the process, and in another process.
impl Drop for TurnRecorder {
    fn drop(&mut self) {
        if self.is_whole_run() {
            self.place.run().give_back();
        }
    }
}

/// How often messages with a fingerprint stand together among others.
fn occurrences(messages: &[Message], count: usize, wanted: &str) -> usize {
    if count == 0 {
        return 0;
    }
    messages.windows(count).filter(|some| fingerprint(some) == wanted).count()
}

/// A hash of messages that is the same in every process: FNV-1a of their JSON.
fn fingerprint(messages: &[Message]) -> String {
    let text = serde_json::to_string(messages).unwrap_or_default();
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}
