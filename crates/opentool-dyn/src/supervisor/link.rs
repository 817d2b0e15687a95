//! The parent's end of the pipes of one worker, and the calls that are on their way: [`Link`].

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::death::Death;
use crate::engine::Notes;
use crate::lookout::{Look, Lookout};
use crate::sandbox::Refusal;
use crate::worker::{Board, Forged, Kind, Reply, Request, SLOTS, Stage, slot_of};

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// Beyond this, memory that one long call needed is given back after it.
const KEPT: usize = 1 << 20;

/// One in so many calls is not looked for.
const LOOKS: u64 = 32;

/// What becomes of a call.
#[derive(Debug)]
pub(super) enum Answer {
    /// The worker has answered.
    Reply { kind: Kind, notes: Notes, text: Vec<u8>, refusal: Option<Refusal> },
    /// The worker ended after the call had begun, perhaps because of it.
    Died { death: Arc<Death>, guilty: bool },
    /// The worker ended before the call began: another one may have it.
    Again,
    /// Whoever read the pipe has stopped: the call is still on its way, and somebody else has to read.
    Unread,
}

/// A call that is on its way.
#[derive(Debug)]
struct Slot {
    /// 0 where the slot is free.
    id: u64,
    /// When it can have begun; none as long as others are in its way.
    since: Option<Instant>,
    waiting: Waiting,
}

/// Who waits for the answer.
#[derive(Debug)]
enum Waiting {
    Caller(oneshot::Sender<Answer>),
    /// Nobody yet: the caller was told to see to the reading first.
    Unread,
    /// The caller is not back yet, and its answer is here.
    Kept(Answer),
    /// The caller has gone.
    Nobody,
}

/// What came of reading a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// Everything that was there, and this many answers.
    All(usize),
    /// As much as was asked for: there may be more.
    Some(usize),
    /// The other end is closed.
    Closed,
    /// Something that the worker has not written.
    Forged,
}

/// The parent's end of the pipes of one worker.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) worker: u64,
    pub(super) requests: Arc<OwnedFd>,
    pub(super) replies: Arc<OwnedFd>,
    board: Board,
    nonce: u64,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Counts the calls; the place on the board is part of a call's number.
    count: u64,
    /// What could not be sent yet, from `sent` on.
    unsent: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    /// How many calls the worker makes at the same time.
    lanes: usize,
    /// How many it has not answered.
    unanswered: usize,
    /// Those that others are in the way of, in the order in which they begin.
    queued: VecDeque<u64>,
    /// Whether the library has handed out what goes with the worker.
    pub(super) keeps_handles: bool,
    lookout: Lookout,
    /// Whether the call that was sent last was sent while there was no other.
    lone: bool,
    /// Whether calls were beside each other of late: then one answer is followed by others, and reading waits for all of them.
    crowded: bool,
    /// Who reads the pipe, if anybody.
    pub(super) pump: Option<AbortHandle>,
    /// Whether there is nothing more to read: the end of the worker answers whoever still waits.
    pub(super) closed: bool,
    /// How many have ever read it.
    pub(super) pumps: u64,
    /// How to wake it.
    pub(super) waker: Option<Waker>,
}

impl Link {
    pub(super) fn new(
        worker: u64,
        requests: OwnedFd,
        replies: OwnedFd,
        board: Board,
        nonce: u64,
        lanes: usize,
    ) -> Link {
        let slot = || Slot { id: 0, since: None, waiting: Waiting::Nobody };
        Link {
            worker,
            requests: Arc::new(requests),
            replies: Arc::new(replies),
            board,
            nonce,
            slots: std::iter::repeat_with(slot).take(SLOTS).collect(),
            free: (0..SLOTS).rev().collect(),
            count: 0,
            unsent: Vec::new(),
            sent: 0,
            received: Vec::new(),
            lanes,
            unanswered: 0,
            queued: VecDeque::new(),
            keeps_handles: false,
            lookout: Lookout::default(),
            lone: false,
            crowded: false,
            pump: None,
            closed: false,
            pumps: 0,
            waker: None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.free.len() == SLOTS
    }

    /// How many more calls it takes.
    pub(super) fn room(&self) -> usize {
        self.free.len()
    }

    /// Sends a call; there must be room. A first call goes out at once, others together with what else is there.
    ///
    /// Says how to look for its answer for a moment, where that is worthwhile.
    pub(super) fn send(
        &mut self,
        function: usize,
        arguments: &str,
    ) -> Option<(u64, oneshot::Receiver<Answer>, Option<Look>)> {
        let idle = self.is_idle();
        let slot = self.free.pop()?;
        self.count += 1;
        let id = self.count * SLOTS as u64 + slot as u64;
        let (sender, receiver) = oneshot::channel();
        let since = (self.unanswered < self.lanes).then(Instant::now);
        if since.is_none() {
            self.queued.push_back(id);
        }
        self.unanswered += 1;
        self.slots[slot] = Slot { id, since, waiting: Waiting::Caller(sender) };
        self.board.send(id);
        Request { function: function as u32, id }.write(arguments.as_bytes(), &mut self.unsent);
        let mut look = None;
        self.lone = idle;
        if idle {
            // An error shows when the pipe is read.
            let _ = self.flush();
            // Now and then nobody looks, so that it shows whether others would be sent meanwhile.
            if !self.crowded && !self.count.is_multiple_of(LOOKS) {
                look = self.lookout.begin(true);
            }
        } else {
            self.crowded = true;
        }
        if !self.unsent.is_empty()
            && let Some(waker) = &self.waker
        {
            waker.wake_by_ref();
        }
        Some((id, receiver, look))
    }

    /// Learns whether it was worthwhile to look for an answer.
    pub(super) fn learn(&mut self, look: Look, found: bool) {
        self.lookout.learn(look, found);
    }

    /// Sends what is to be sent; says whether that was everything.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        while self.sent < self.unsent.len() {
            let rest = &self.unsent[self.sent..];
            // SAFETY: the kernel only reads the slice.
            let written = unsafe { libc::write(self.requests.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) => self.sent += written,
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    error => {
                        self.drop_unsent();
                        return Err(error);
                    }
                },
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
        if self.received.capacity() - self.received.len() < CHUNK / 2 {
            self.received.reserve(CHUNK);
        }
        let space = self.received.spare_capacity_mut();
        // SAFETY: the kernel writes at most as many bytes as there is space.
        let read = unsafe { libc::read(self.replies.as_raw_fd(), space.as_mut_ptr().cast(), space.len()) };
        let full = usize::try_from(read).is_ok_and(|read| read == space.len());
        match usize::try_from(read) {
            Ok(0) => return Received::Closed,
            // SAFETY: the kernel has written these bytes.
            Ok(read) => unsafe { self.received.set_len(self.received.len() + read) },
            Err(_) => {
                return match io::Error::last_os_error().kind() {
                    io::ErrorKind::Interrupted => Received::Some(0),
                    io::ErrorKind::WouldBlock => Received::All(0),
                    _ => Received::Closed,
                };
            }
        }
        match self.take_replies() {
            Err(Forged) => Received::Forged,
            Ok(answered) if full => Received::Some(answered),
            Ok(answered) => Received::All(answered),
        }
    }

    fn take_replies(&mut self) -> Result<usize, Forged> {
        let (mut at, mut answered) = (0, 0);
        let now = Instant::now();
        while let Some((reply, payload)) = Reply::read(&self.received[at..], self.nonce)? {
            let text = &self.received[at + payload.start..at + payload.end];
            let slot = &mut self.slots[slot_of(reply.id)];
            if slot.id == 0 || slot.id != reply.id || matches!(reply.kind, Kind::Ready | Kind::NotLoaded) {
                return Err(Forged);
            }
            let text = if matches!(slot.waiting, Waiting::Nobody) { Vec::new() } else { text.to_vec() };
            let (kind, mut notes) = (reply.kind, Notes::from_bits(reply.notes));
            if kind != Kind::Skipped {
                answered += 1;
                self.keeps_handles = notes.take(Notes::HANDLES);
            }
            let refusal = if notes.take(Notes::REFUSED) { self.board.refused() } else { None };
            if slot.answer(Answer::Reply { kind, notes, text, refusal }) {
                self.free.push(slot_of(reply.id));
            }
            self.unanswered = self.unanswered.saturating_sub(1);
            // It makes way for the next one.
            if let Some(next) = self.queued.pop_front() {
                let slot = &mut self.slots[slot_of(next)];
                slot.since = (slot.id == next).then_some(now);
            }
            at += payload.end;
        }
        self.crowded &= !(self.lone && self.is_idle());
        self.received.drain(..at);
        if self.received.is_empty() && self.received.capacity() > KEPT {
            self.received = Vec::new();
        } else if let Some(length) = self.received.first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            // The number at the start of a header is a length only once the header has been checked.
            if self.received.len() >= 24 && length <= crate::worker::LONGEST {
                self.received.reserve((24 + length).saturating_sub(self.received.len()));
            }
        }
        Ok(answered)
    }

    /// Since when a call that is not answered can have run; none where others are still in its way.
    ///
    /// It is not the board that says so, since a library may write there what it likes.
    pub(super) fn running(&self, id: u64) -> Option<Instant> {
        let slot = &self.slots[slot_of(id)];
        if slot.id == id { slot.since } else { None }
    }

    /// Whether other calls run at the same time, which would end with this one's worker.
    pub(super) fn runs_others(&self, id: u64) -> bool {
        self.slots.iter().any(|slot| slot.id != 0 && slot.id != id && slot.since.is_some())
    }

    /// Gives a call up; says whether it has begun and goes on regardless.
    pub(super) fn give_up(&mut self, id: u64) -> bool {
        let slot = &mut self.slots[slot_of(id)];
        if slot.id != id {
            return false;
        }
        match std::mem::replace(&mut slot.waiting, Waiting::Nobody) {
            Waiting::Kept(_) => {
                slot.id = 0;
                self.free.push(slot_of(id));
                false
            }
            _ => !self.board.give_up(id),
        }
    }

    /// Lets the caller wait for its answer again.
    pub(super) fn rejoin(&mut self, id: u64) -> Option<oneshot::Receiver<Answer>> {
        let (sender, receiver) = oneshot::channel();
        let slot = &mut self.slots[slot_of(id)];
        if slot.id != id {
            return None;
        }
        if let Waiting::Kept(answer) = std::mem::replace(&mut slot.waiting, Waiting::Unread) {
            slot.id = 0;
            self.free.push(slot_of(id));
            let _ = sender.send(answer);
        } else {
            slot.waiting = Waiting::Caller(sender);
        }
        Some(receiver)
    }

    /// Tells every caller that nobody reads any more.
    pub(super) fn unread(&mut self) {
        self.pump = None;
        self.waker = None;
        if self.closed {
            return;
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.id != 0) {
            match std::mem::replace(&mut slot.waiting, Waiting::Unread) {
                Waiting::Caller(caller) => {
                    let _ = caller.send(Answer::Unread);
                }
                other => slot.waiting = other,
            }
        }
    }

    /// What the library was refused last.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        self.board.refused()
    }

    /// Answers what the worker still answered, and tells the others what became of it.
    ///
    /// Gives the answers whose callers are not back yet, each with its worker and its number.
    pub(super) fn end(mut self, death: &Arc<Death>) -> Vec<(u64, u64, Answer)> {
        while matches!(self.receive(), Received::Some(_) | Received::All(1..)) {}
        let mut kept = Vec::new();
        // In the order in which they were sent, so that they are sent again in that order.
        self.slots.sort_unstable_by_key(|slot| slot.id);
        for slot in self.slots.iter_mut().filter(|slot| slot.id != 0) {
            let answer = match self.board.stage(slot.id) {
                Stage::Begun => Answer::Died { death: death.clone(), guilty: death.is_by(slot.id) },
                Stage::Sent | Stage::GivenUp => Answer::Again,
            };
            let id = slot.id;
            if !matches!(slot.waiting, Waiting::Kept(_)) {
                slot.answer(answer);
            }
            if let Waiting::Kept(answer) = std::mem::replace(&mut slot.waiting, Waiting::Nobody) {
                kept.push((self.worker, id, answer));
            }
        }
        if let Some(pump) = self.pump.take() {
            pump.abort();
        }
        kept
    }
}

impl Slot {
    /// Hands the answer over; says whether the slot is free again.
    fn answer(&mut self, answer: Answer) -> bool {
        match std::mem::replace(&mut self.waiting, Waiting::Nobody) {
            Waiting::Caller(caller) => {
                let _ = caller.send(answer);
            }
            Waiting::Unread => {
                self.waiting = Waiting::Kept(answer);
                return false;
            }
            Waiting::Kept(_) | Waiting::Nobody => {}
        }
        self.id = 0;
        true
    }
}
