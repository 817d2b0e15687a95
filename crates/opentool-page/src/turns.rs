//! The turns of chats that are not over: [`RunningTurns`], and the approvals that they wait for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentool_core::Cancellation;
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::questions::OpenQuestions;

/// How many turns may run at once.
const MAX_TURNS: usize = 16;

/// The running turns. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningTurns(Arc<TurnTable>);

#[derive(Debug, Default)]
struct TurnTable {
    turns: Mutex<Vec<RunningTurn>>,
    /// Counts approvals, so that each has a name of its own.
    approvals: AtomicU64,
}

/// What reaches a turn while it runs.
#[derive(Clone, Debug)]
pub(crate) struct RunningTurn {
    /// Whose it is: the name of an API key, or empty.
    pub(crate) owner: Arc<str>,
    pub(crate) id: String,
    /// The name under which the conversation is kept.
    pub(crate) conversation: String,
    pub(crate) cancellation: Cancellation,
    pub(crate) questions: Arc<OpenQuestions>,
    pub(crate) approvals: Arc<OpenApprovals>,
}

/// The calls of a turn that wait for approval.
#[derive(Debug, Default)]
pub(crate) struct OpenApprovals(Mutex<ApprovalTable>);

#[derive(Debug, Default)]
struct ApprovalTable {
    /// By the name of the approval.
    waiting: HashMap<String, oneshot::Sender<ApprovalBody>>,
    /// Whether the page has disconnected, so that no answer will come.
    is_disconnected: bool,
}

/// The answer of the person at the page, as the page sends it.
#[derive(Debug, Deserialize)]
pub(crate) struct ApprovalBody {
    pub(crate) decision: ApprovalAnswer,
    pub(crate) reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ApprovalAnswer {
    Allow,
    Deny,
    Always,
}

/// Keeps a turn among those that run.
pub(crate) struct TurnEntry {
    turns: RunningTurns,
    owner: Arc<str>,
    id: String,
}

impl RunningTurns {
    /// Adds a turn; a conversation has one at a time.
    pub(crate) fn enter(&self, turn: RunningTurn) -> Result<TurnEntry, ApiError> {
        let mut turns = self.lock();
        if turns.len() >= MAX_TURNS {
            return Err(ApiError::busy(format!("{MAX_TURNS} turns are running: wait, or cancel one")));
        }
        if turns.iter().any(|other| other.owner == turn.owner && other.id == turn.id) {
            return Err(ApiError::conflict("a turn of this id is running"));
        }
        if turns.iter().any(|other| other.conversation == turn.conversation) {
            return Err(ApiError::conflict("a turn of this conversation is running: wait, or cancel it"));
        }
        let entry = TurnEntry { turns: self.clone(), owner: turn.owner.clone(), id: turn.id.clone() };
        turns.push(turn);
        Ok(entry)
    }

    pub(crate) fn find(&self, owner: &str, id: &str) -> Option<RunningTurn> {
        self.lock().iter().find(|turn| *turn.owner == *owner && turn.id == id).cloned()
    }

    /// Returns the id of the turn that runs in a conversation.
    pub(crate) fn of_conversation(&self, conversation: &str) -> Option<String> {
        self.lock().iter().find(|turn| turn.conversation == conversation).map(|turn| turn.id.clone())
    }

    /// Passes the person's answer on; says whether a call waited for it.
    pub(crate) fn decide(&self, owner: &str, approval: &str, answer: ApprovalBody) -> bool {
        let turns = self.lock().iter().filter(|turn| *turn.owner == *owner).cloned().collect::<Vec<_>>();
        let waiting = turns.iter().find_map(|turn| turn.approvals.lock().waiting.remove(approval));
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// Makes a name for an approval.
    pub(crate) fn name_approval(&self) -> String {
        format!("approval-{}", self.0.approvals.fetch_add(1, Relaxed) + 1)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RunningTurn>> {
        self.0.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TurnEntry {
    fn drop(&mut self) {
        self.turns.lock().retain(|turn| turn.owner != self.owner || turn.id != self.id);
    }
}

/// A call that waits for approval, until this is dropped.
pub(crate) struct OpenApproval<'a> {
    approvals: &'a OpenApprovals,
    name: &'a str,
    answer: oneshot::Receiver<ApprovalBody>,
}

impl OpenApprovals {
    pub(crate) fn open<'a>(&'a self, name: &'a str) -> OpenApproval<'a> {
        let (sender, answer) = oneshot::channel();
        let mut table = self.lock();
        if !table.is_disconnected {
            table.waiting.insert(name.to_owned(), sender);
        }
        OpenApproval { approvals: self, name, answer }
    }

    /// Ends the waiting, since the page has disconnected; says whether a call waited.
    pub(crate) fn disconnect(&self) -> bool {
        let mut table = self.lock();
        table.is_disconnected = true;
        !std::mem::take(&mut table.waiting).is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, ApprovalTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenApproval<'_> {
    /// Waits for the person's answer; none where the turn is over, or the page has disconnected.
    pub(crate) async fn answer(&mut self) -> Option<ApprovalBody> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for OpenApproval<'_> {
    fn drop(&mut self) {
        self.approvals.lock().waiting.remove(self.name);
    }
}
