//! The parent's end of the pipes of one worker, and the calls in flight: [`Connection`].

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::exit::{ExitCause, WorkerExit};
use super::usage::Activity;
use crate::denial::Denial;
use crate::engine::Notes;
use crate::protocol::{HEADER, InvalidFrame, LONGEST_REPLY, Reply, ReplyKind, Request};
use crate::shared_page::{CallRecord, SLOTS, SharedPage, slot_of};
use crate::spin::{Attempts, Spinner};

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// Beyond this, memory that one long call needed is freed after it.
const KEPT: usize = 1 << 20;

/// How a call ends, or why its caller has to act.
#[derive(Debug)]
pub(super) enum Answer {
    /// The worker has answered.
    Reply { kind: ReplyKind, notes: Notes, text: Vec<u8>, denial: Option<Denial> },
    /// The worker exited, and the call may have begun. `is_cause` where the worker was killed because of it, `is_one_of_many`
    /// where other calls may have been running, too.
    WorkerExited { exit: Arc<WorkerExit>, is_cause: bool, is_one_of_many: bool },
    /// The worker exited, and the call cannot have begun: it can be sent to another one.
    Retry,
    /// The task that read the pipe has stopped: the call is still in flight, and the caller has to start another reader.
    ReaderStopped,
}

/// A call in flight.
#[derive(Debug)]
struct PendingCall {
    /// 0 where there is none.
    id: u64,
    /// What its reply has to carry.
    nonce: u64,
    /// Which function of the plan.
    function: usize,
    /// Where its request ends in all that was ever sent to the worker.
    ends_at: u64,
    /// When it can have begun; none as long as others run before it.
    since: Option<Instant>,
    caller: Caller,
}

/// The caller of a call in flight.
#[derive(Debug)]
enum Caller {
    /// It waits for the answer.
    Waiting(oneshot::Sender<Answer>),
    /// It has to start another reader, and then waits again.
    Restarting,
    /// The same, and its answer has arrived meanwhile.
    Answered(Answer),
    /// It has given the call up.
    Gone,
}

/// What came of reading a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// Everything that was there.
    All,
    /// As much as was asked for: there may be more.
    Some,
    /// The other end is closed.
    Closed,
    /// The library has damaged what its worker shares with the parent.
    Damaged(Damage),
}

/// What a library has damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    /// The pipe: it has bytes that are no frame of the worker.
    Pipe,
    /// The record of a call on the shared page. `has_stopped` where the worker has found that itself, and runs nothing more.
    Page { has_stopped: bool },
}

impl From<InvalidFrame> for Damage {
    fn from(_: InvalidFrame) -> Damage {
        Damage::Pipe
    }
}

impl From<Damage> for ExitCause {
    fn from(damage: Damage) -> ExitCause {
        match damage {
            Damage::Pipe => ExitCause::InvalidFrame,
            Damage::Page { .. } => ExitCause::DamagedPage,
        }
    }
}

/// What became of the calls in flight when their worker exited.
#[derive(Debug, Default)]
pub(super) struct Closed {
    /// The answers of callers that are restarting a reader, each with its worker and the number of the call.
    pub(super) kept: Vec<(u64, u64, Answer)>,
    /// The functions that may have been running, each with the number of its call.
    pub(super) running: Vec<(usize, u64)>,
}

/// The parent's end of the pipes of one worker.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) worker: u64,
    pub(super) requests: Arc<PipeWriter>,
    pub(super) replies: Arc<PipeReader>,
    page: SharedPage,
    /// Makes the nonce of a call from its number: the worker does not know how.
    nonces: RandomState,
    slots: Vec<PendingCall>,
    free: Vec<usize>,
    /// Counts the calls; the slot is part of a call's number.
    count: u64,
    /// What could not be sent yet, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    /// How many bytes were ever put into `unsent`, and how many of them were written.
    submitted: u64,
    written: u64,
    /// What one read gets.
    chunk: Box<[u8]>,
    received: Vec<u8>,
    /// How many calls the worker runs at the same time.
    max_concurrency: usize,
    /// How many it has not answered.
    unanswered: usize,
    /// How many calls the worker has answered.
    pub(super) answers: u64,
    /// Whether the functions of answered calls are wanted, and those.
    pub(super) wants_answered: bool,
    pub(super) answered: Vec<usize>,
    /// Those that wait in the worker for others to end, in the order in which they begin.
    queued: VecDeque<u64>,
    /// What the library has damaged, after which no answer counts.
    damage: Option<Damage>,
    /// Whether handles are open, which would be lost with the worker.
    pub(super) has_handles: bool,
    pub(super) spinner: Spinner,
    /// When to yield before a spin, so that other tasks send their calls first. Where caller and worker share a processor, that is a
    /// tenth of a call (`cargo bench -p opentool-dyn --bench isolated -- one`). Where other tasks begin to call, at most so many
    /// of their calls go one by one before they go together.
    pub(super) yields: Attempts<7>,
    /// The task that reads the replies, if there is one.
    pub(super) reader: Option<AbortHandle>,
    /// Whether there is nothing more to read: the exit of the worker answers the calls in flight.
    pub(super) closed: bool,
    /// How many such tasks were ever started.
    pub(super) readers: u64,
    /// How to wake the task.
    pub(super) waker: Option<Waker>,
}

impl Connection {
    pub(super) fn new(
        worker: u64,
        requests: PipeWriter,
        replies: PipeReader,
        page: SharedPage,
        max_concurrency: usize,
    ) -> Connection {
        let slot = || PendingCall { id: 0, nonce: 0, function: 0, ends_at: 0, since: None, caller: Caller::Gone };
        Connection {
            worker,
            requests: Arc::new(requests),
            replies: Arc::new(replies),
            page,
            nonces: RandomState::new(),
            slots: std::iter::repeat_with(slot).take(SLOTS).collect(),
            free: (0..SLOTS).rev().collect(),
            count: 0,
            unsent: Vec::new(),
            sent: 0,
            submitted: 0,
            written: 0,
            chunk: vec![0; CHUNK].into(),
            received: Vec::new(),
            max_concurrency,
            unanswered: 0,
            answers: 0,
            wants_answered: false,
            answered: Vec::new(),
            queued: VecDeque::new(),
            damage: None,
            has_handles: false,
            spinner: Spinner::default(),
            yields: Attempts::default(),
            reader: None,
            closed: false,
            readers: 0,
            waker: None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.free.len() == SLOTS
    }

    /// Whether one call is in flight and no other.
    pub(super) fn has_one_call(&self) -> bool {
        self.free.len() + 1 == SLOTS
    }

    /// How many more calls it takes.
    pub(super) fn capacity(&self) -> usize {
        self.free.len()
    }

    /// What the worker is asked to do.
    pub(super) fn activity(&self) -> Activity {
        let running = self.slots.iter().filter(|slot| slot.id != 0).filter_map(|slot| Some((slot.since?, slot.id)));
        Activity { calls: self.count, running: running.min().map(|(_, id)| id) }
    }

    /// Sends a call, at the given time; none where there is no capacity.
    ///
    /// A first call is written at once, others are collected and written together by the reader task.
    pub(super) fn send(
        &mut self,
        function: usize,
        arguments: &str,
        now: Instant,
    ) -> Option<(u64, oneshot::Receiver<Answer>)> {
        let idle = self.is_idle();
        let slot = self.free.pop()?;
        self.count += 1;
        let id = self.count * SLOTS as u64 + slot as u64;
        let (sender, receiver) = oneshot::channel();
        let since = (self.unanswered < self.max_concurrency).then_some(now);
        if since.is_none() {
            self.queued.push_back(id);
        }
        self.unanswered += 1;
        self.submitted += (HEADER + arguments.len()) as u64;
        let ends_at = self.submitted;
        let nonce = self.nonces.hash_one(id);
        self.slots[slot] = PendingCall { id, nonce, function, ends_at, since, caller: Caller::Waiting(sender) };
        self.page.mark_sent(id);
        Request { function: function as u32, id, nonce }.write(arguments.as_bytes(), &mut self.unsent);
        if idle {
            // An error shows when the pipe is read.
            let _ = self.flush();
        }
        if !self.unsent.is_empty()
            && let Some(waker) = &self.waker
        {
            waker.wake_by_ref();
        }
        Some((id, receiver))
    }

    /// Writes what is unsent; says whether that was everything.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        while self.sent < self.unsent.len() {
            match (&*self.requests).write(&self.unsent[self.sent..]) {
                Ok(written) => {
                    self.sent += written;
                    self.written += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    self.drop_unsent();
                    return Err(error);
                }
            }
        }
        self.drop_unsent();
        Ok(true)
    }

    fn drop_unsent(&mut self) {
        self.unsent.clear();
        self.unsent.shrink_to(KEPT);
        self.sent = 0;
    }

    /// Reads once, and answers the calls whose replies are there.
    pub(super) fn receive(&mut self) -> Received {
        let full = match (&*self.replies).read(&mut self.chunk) {
            Ok(0) => return Received::Closed,
            Ok(read) => {
                self.received.extend_from_slice(&self.chunk[..read]);
                read == CHUNK
            }
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::Interrupted => Received::Some,
                    io::ErrorKind::WouldBlock => Received::All,
                    _ => Received::Closed,
                };
            }
        };
        match self.take_replies() {
            Err(damage) => {
                self.damage = Some(damage);
                Received::Damaged(damage)
            }
            Ok(()) if full => Received::Some,
            Ok(()) => Received::All,
        }
    }

    fn take_replies(&mut self) -> Result<(), Damage> {
        let (mut at, mut now) = (0, None);
        while let Some((reply, payload)) = Reply::read_header(&self.received[at..])? {
            let slot = &mut self.slots[slot_of(reply.id)];
            if !slot.can_be_answered_by(reply) {
                return Err(Damage::Pipe);
            }
            let Some(text) = self.received.get(at + payload.start..at + payload.end) else { break };
            let can_be_true = match (reply.kind, self.page.record(reply.id)) {
                (ReplyKind::Skipped, _) | (_, CallRecord::Begun) => true,
                // The worker found the record as it should be, so a later call has overwritten it. Where calls run at the same
                // time, one that overwrites and one that forges could be two.
                (_, CallRecord::Overwritten) => self.max_concurrency == 1,
                (_, CallRecord::NotBegun) => false,
            };
            if reply.kind == ReplyKind::Damaged || !can_be_true {
                // Where calls run at the same time, the other threads go on.
                let has_stopped = reply.kind == ReplyKind::Damaged && self.max_concurrency == 1;
                return Err(Damage::Page { has_stopped });
            }
            let text = if matches!(slot.caller, Caller::Gone) { Vec::new() } else { text.to_vec() };
            let (kind, mut notes) = (reply.kind, Notes::from_bits(reply.notes));
            if kind != ReplyKind::Skipped {
                self.answers += 1;
                if self.wants_answered {
                    self.answered.push(slot.function);
                }
                self.has_handles = notes.take(Notes::HANDLES);
            }
            let denial = if notes.take(Notes::DENIED) { self.page.last_denial() } else { None };
            if slot.answer(Answer::Reply { kind, notes, text, denial }) {
                self.free.push(slot_of(reply.id));
            }
            self.unanswered = self.unanswered.saturating_sub(1);
            // The next one can begin.
            if let Some(next) = self.queued.pop_front() {
                let slot = &mut self.slots[slot_of(next)];
                slot.since = (slot.id == next).then_some(*now.get_or_insert_with(Instant::now));
            }
            at += payload.end;
        }
        self.received.drain(..at);
        if self.received.is_empty() && self.received.capacity() > KEPT {
            self.received = Vec::new();
        } else if let Some(length) = self.received.first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            // The number at the start of a header is a length only once the header has been checked.
            if self.received.len() >= HEADER && length <= LONGEST_REPLY {
                self.received.reserve((HEADER + length).saturating_sub(self.received.len()));
            }
        }
        Ok(())
    }

    /// Reads what a worker that has exited still wrote, and answers those calls; says what it had damaged, where that was not
    /// known.
    pub(super) fn receive_rest(&mut self) -> Option<Damage> {
        while !self.closed {
            match self.receive() {
                Received::Some => {}
                Received::Damaged(damage) => return Some(damage),
                Received::All | Received::Closed => break,
            }
        }
        None
    }

    /// Since when a call that is not answered can have run; none where others still run before it.
    ///
    /// The shared page is not asked, since the library can write to it.
    pub(super) fn running(&self, id: u64) -> Option<Instant> {
        let slot = &self.slots[slot_of(id)];
        if slot.id == id { slot.since } else { None }
    }

    /// Whether other calls run at the same time, which would end with this one's worker.
    pub(super) fn runs_others(&self, id: u64) -> bool {
        self.slots.iter().any(|slot| slot.id != 0 && slot.id != id && slot.since.is_some())
    }

    /// Whether a call is not answered yet.
    pub(super) fn is_pending(&self, id: u64) -> bool {
        self.slots[slot_of(id)].id == id
    }

    /// Gives a call up; says whether it may go on regardless.
    pub(super) fn give_up(&mut self, id: u64) -> bool {
        let slot = &mut self.slots[slot_of(id)];
        if slot.id != id {
            return false;
        }
        match std::mem::replace(&mut slot.caller, Caller::Gone) {
            Caller::Answered(_) => {
                slot.id = 0;
                self.free.push(slot_of(id));
                false
            }
            // One that may run is watched whatever the page says, since the library can write to it.
            _ => !self.page.give_up(id) || slot.since.is_some(),
        }
    }

    /// Lets the caller wait for its answer again, after it has started another reader.
    pub(super) fn rejoin(&mut self, id: u64) -> Option<oneshot::Receiver<Answer>> {
        let (sender, receiver) = oneshot::channel();
        let slot = &mut self.slots[slot_of(id)];
        if slot.id != id {
            return None;
        }
        if let Caller::Answered(answer) = std::mem::replace(&mut slot.caller, Caller::Restarting) {
            slot.id = 0;
            self.free.push(slot_of(id));
            let _ = sender.send(answer);
        } else {
            slot.caller = Caller::Waiting(sender);
        }
        Some(receiver)
    }

    /// The reader task has stopped: every caller gets [`Answer::ReaderStopped`].
    pub(super) fn reader_stopped(&mut self) {
        self.reader = None;
        self.waker = None;
        if self.closed {
            return;
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.id != 0) {
            match std::mem::replace(&mut slot.caller, Caller::Restarting) {
                Caller::Waiting(caller) => {
                    let _ = caller.send(Answer::ReaderStopped);
                }
                other => slot.caller = other,
            }
        }
    }

    /// What the library was denied last.
    pub(super) fn last_denial(&self) -> Option<Denial> {
        self.page.last_denial()
    }

    /// Ends the connection of a worker that has exited, after the rest of its answers was read: answers all calls in flight.
    ///
    /// A call cannot have begun where the worker has not read the whole of its request, or where others were to run before it and
    /// nothing shows that the worker went on to it.
    pub(super) fn close(mut self, exit: &Arc<WorkerExit>) -> Closed {
        let read = self.written.saturating_sub(unread(&self.requests));
        let was_read = |slot: &PendingCall| slot.id != 0 && slot.ends_at <= read;
        let running = self.slots.iter().filter(|slot| was_read(slot) && slot.since.is_some());
        let running: Vec<_> = running.map(|slot| (slot.function, slot.id)).collect();
        let last_begun = self.last_begun_of_queued(exit);
        let mut kept = Vec::new();
        // In the order in which they were sent, so that they are sent again in that order.
        self.slots.sort_unstable_by_key(|slot| slot.id);
        for slot in self.slots.iter_mut().filter(|slot| slot.id != 0) {
            let id = slot.id;
            let answer = if was_read(slot) && (slot.since.is_some() || last_begun.is_some_and(|last| id <= last)) {
                // One that began though it was not its turn may have ended as it should.
                let is_one_of_many = running.len() > 1 || slot.since.is_none();
                let is_cause = exit.is_caused_by(id);
                Answer::WorkerExited { exit: exit.clone(), is_cause, is_one_of_many }
            } else {
                Answer::Retry
            };
            if !matches!(slot.caller, Caller::Answered(_)) {
                slot.answer(answer);
            }
            if let Caller::Answered(answer) = std::mem::replace(&mut slot.caller, Caller::Gone) {
                kept.push((self.worker, id, answer));
            }
        }
        if let Some(reader) = self.reader.take() {
            reader.abort();
        }
        Closed { kept, running }
    }

    /// The last call that the worker may have begun though the answers do not show that it was its turn.
    ///
    /// The library can write to the shared page: that a call has begun is believed, that it has not only where the record is still
    /// of that call. Calls begin in the order in which they were sent, so that all before the last one have begun, too.
    fn last_begun_of_queued(&self, exit: &WorkerExit) -> Option<u64> {
        let may_have_gone_on = match self.damage {
            Some(Damage::Page { has_stopped }) => !has_stopped,
            Some(Damage::Pipe) => true,
            None => exit.cause == ExitCause::ClosedPipes,
        };
        let may_have_begun = |id: &&u64| match self.page.record(**id) {
            CallRecord::Begun => true,
            CallRecord::Overwritten => may_have_gone_on,
            CallRecord::NotBegun => false,
        };
        self.queued.iter().rev().find(may_have_begun).copied()
    }
}

/// How many bytes a pipe holds that were written and not read.
fn unread(pipe: &PipeWriter) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the call writes one number.
    let asked = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    if asked == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
}

impl PendingCall {
    /// Whether a reply can be to this call: not before it can have begun, and one that was given up alone can be skipped.
    fn can_be_answered_by(&self, reply: Reply) -> bool {
        let is_this = self.id != 0 && self.id == reply.id && self.nonce == reply.nonce && self.since.is_some();
        is_this
            && match reply.kind {
                ReplyKind::Result | ReplyKind::Error | ReplyKind::Damaged => true,
                ReplyKind::Skipped => matches!(self.caller, Caller::Gone),
                ReplyKind::Ready | ReplyKind::NotLoaded => false,
            }
    }

    /// Passes the answer to the caller; says whether the slot is free again.
    fn answer(&mut self, answer: Answer) -> bool {
        match std::mem::replace(&mut self.caller, Caller::Gone) {
            Caller::Waiting(caller) => {
                let _ = caller.send(answer);
            }
            Caller::Restarting => {
                self.caller = Caller::Answered(answer);
                return false;
            }
            Caller::Answered(_) | Caller::Gone => {}
        }
        self.id = 0;
        true
    }
}
