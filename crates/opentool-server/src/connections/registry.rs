//! The open connections of a listener: what each one does, since when, and which must close.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use opentool_core::MemoryBudget;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// There is no request, or the client still reads the last response.
    Idle,
    /// A request has begun to arrive.
    Head,
    /// A request is being answered.
    Busy,
}

/// Why a connection must close; a later one is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum CloseReason {
    None,
    /// It is idle too long, or its place is needed: it closes once its request is answered.
    Idle,
    /// The head of its request takes too long to arrive; as `Idle`, if it has arrived after all.
    HeadTimeout,
    /// The head of its request is large, and those of too many others are too.
    OverBudget,
    /// Its place is needed now, and its request has not arrived; as `Idle`, if it has arrived after all.
    Evicted,
}

/// How often connections are checked.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// How many bytes of large heads may be held over all connections.
const HEAD_BUDGET: usize = 4 * 1024 * 1024;

/// One connection, shared by its task and the listener.
#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    phase: AtomicU8,
    /// When the phase began or something last moved, by the listener's clock.
    since: AtomicU64,
    clock: Arc<AtomicU64>,
    /// The bytes of large heads over all connections.
    head_budget: MemoryBudget,
    close_reason: AtomicU8,
    /// Wakes the task of the connection when it must close.
    signal: AtomicWaker,
    /// Whether the request that is answered has arrived to its last byte.
    request_complete: AtomicBool,
    /// Wakes the reader that keeps the end of what the client sends to itself while a request is answered.
    answered: AtomicWaker,
}

impl Connection {
    pub(super) fn head_budget(&self) -> &MemoryBudget {
        &self.head_budget
    }

    pub(super) fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            0 => Phase::Idle,
            1 => Phase::Head,
            _ => Phase::Busy,
        }
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
        self.touch();
    }

    /// Bytes came in.
    pub(super) fn received(&self) {
        if self.phase() == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    /// Notes whether all of the request has arrived.
    pub(super) fn set_request_complete(&self, complete: bool) {
        self.request_complete.store(complete, Relaxed);
    }

    /// Wakes a task once the request is answered.
    pub(super) fn wake_when_answered(&self, waker: &Waker) {
        self.answered.register(waker);
    }

    /// Says whether a request is answered of which nothing is missing.
    pub(super) fn is_answering(&self) -> bool {
        self.phase() == Phase::Busy && self.request_complete.load(Relaxed)
    }

    /// Something moved.
    pub(super) fn touch(&self) {
        self.since.store(self.clock.load(Relaxed), Relaxed);
    }

    /// Asks the connection to close. Only a stronger reason replaces one that was given before.
    pub(super) fn close(&self, reason: CloseReason) {
        if self.close_reason.fetch_max(reason as u8, Release) < reason as u8 {
            self.signal.wake();
        }
    }

    /// Waits until the connection must close for a stronger reason than one that is known.
    ///
    /// Only the task of the connection may wait. Its waker is registered once and not on every poll, of which a request has several
    /// (`scripts/bench http`).
    pub(super) fn closing(&self, known: CloseReason) -> impl Future<Output = CloseReason> {
        let mut registered: Option<Waker> = None;
        poll_fn(move |cx| {
            if !registered.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                self.signal.register(cx.waker());
                registered = Some(cx.waker().clone());
            }
            let reason = self.close_reason();
            if reason as u8 > known as u8 { Poll::Ready(reason) } else { Poll::Pending }
        })
    }

    fn close_reason(&self) -> CloseReason {
        match self.close_reason.load(Acquire) {
            0 => CloseReason::None,
            1 => CloseReason::Idle,
            2 => CloseReason::HeadTimeout,
            3 => CloseReason::OverBudget,
            _ => CloseReason::Evicted,
        }
    }
}

/// Marks a connection as busy while a request is answered.
pub(super) struct BusyGuard(Arc<Connection>);

impl BusyGuard {
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        connection.enter(Phase::Busy);
        Self(connection.clone())
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.enter(Phase::Idle);
        self.0.answered.wake();
    }
}

/// How long a connection may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseLimits {
    pub(super) head: Duration,
    pub(super) idle: Duration,
}

/// All connections of a listener.
#[derive(Debug)]
pub(super) struct ConnectionRegistry {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    /// Milliseconds in which the server could serve its connections, as of the last tick. Time in which the process was
    /// stopped or starved counts against no client.
    clock: Arc<AtomicU64>,
    last_tick: Mutex<Instant>,
    head_budget: MemoryBudget,
    next: AtomicU64,
    limit: usize,
}

/// Whether a new connection is served.
pub(super) enum Admission {
    Admitted(Arc<Connection>),
    /// Another one was closed for it.
    AfterEviction(Arc<Connection>),
    /// All others are busy.
    Refused,
}

impl ConnectionRegistry {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            clock: Arc::default(),
            last_tick: Mutex::new(Instant::now()),
            head_budget: MemoryBudget::new(HEAD_BUDGET),
            next: AtomicU64::new(0),
            limit: limit.max(1),
        })
    }

    pub(super) fn admit(&self) -> Admission {
        let mut open = self.lock();
        let evicted = open.len() >= self.limit;
        if evicted && !evict(&mut open) {
            return Admission::Refused;
        }
        let number = self.next.fetch_add(1, Relaxed);
        let connection = Arc::new(Connection {
            number,
            phase: AtomicU8::new(Phase::Idle as u8),
            since: AtomicU64::new(self.clock.load(Relaxed)),
            clock: self.clock.clone(),
            head_budget: self.head_budget.clone(),
            close_reason: AtomicU8::new(CloseReason::None as u8),
            signal: AtomicWaker::new(),
            request_complete: AtomicBool::new(false),
            answered: AtomicWaker::new(),
        });
        open.insert(number, connection.clone());
        if evicted { Admission::AfterEviction(connection) } else { Admission::Admitted(connection) }
    }

    /// Closes the longest idle connections, where the system cannot open more; returns how many.
    ///
    /// Several at once: with one at a time each new connection would wait for another one to close.
    pub(super) fn evict_some(&self) -> usize {
        let mut open = self.lock();
        let some = open.len() / 8 + 1;
        (0..some).take_while(|_| evict(&mut open)).count()
    }

    pub(super) fn remove(&self, connection: &Connection) {
        self.lock().remove(&connection.number);
    }

    /// Advances the clock and closes the connections that take too long.
    pub(super) fn tick(&self, limits: PhaseLimits) {
        let passed = {
            let mut last = self.last_tick.lock().unwrap_or_else(PoisonError::into_inner);
            let passed = last.elapsed();
            *last += passed;
            passed.min(2 * TICK)
        };
        let now = self.clock.load(Relaxed) + passed.as_millis() as u64;
        self.clock.store(now, Relaxed);
        for connection in self.lock().values() {
            let still = Duration::from_millis(now.saturating_sub(connection.since.load(Relaxed)));
            match connection.phase() {
                Phase::Head if still > limits.head => connection.close(CloseReason::HeadTimeout),
                Phase::Idle if still > limits.idle => connection.close(CloseReason::Idle),
                _ => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the connection that has been idle longest or, where none is, the one whose request takes longest to arrive.
///
/// A connection on which something moved just now comes last: its client may have sent a request that is still on its way.
fn evict(open: &mut HashMap<u64, Arc<Connection>>) -> bool {
    let oldest = open
        .values()
        .filter(|connection| connection.phase() != Phase::Busy)
        .min_by_key(|connection| {
            let since = connection.since.load(Relaxed);
            let just_now = since >= connection.clock.load(Relaxed);
            (just_now, connection.phase() == Phase::Head, since, connection.number)
        })
        .cloned();
    let Some(connection) = oldest else { return false };
    connection.close(if connection.phase() == Phase::Idle { CloseReason::Idle } else { CloseReason::Evicted });
    open.remove(&connection.number);
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    fn admitted(connections: &ConnectionRegistry) -> Arc<Connection> {
        match connections.admit() {
            Admission::Admitted(connection) | Admission::AfterEviction(connection) => connection,
            Admission::Refused => panic!("refused"),
        }
    }

    #[test]
    fn at_the_cap_the_longest_idle_connection_is_closed() {
        let connections = ConnectionRegistry::new(3);
        let (busy, slow, idle) = (admitted(&connections), admitted(&connections), admitted(&connections));
        let answering = BusyGuard::new(&busy);
        slow.received();
        assert!(matches!(connections.admit(), Admission::AfterEviction(_)));
        let reasons = || [&busy, &slow, &idle].map(|connection| connection.close_reason.load(Relaxed));
        assert_eq!(reasons(), [CloseReason::None as u8, CloseReason::None as u8, CloseReason::Idle as u8]);
        assert_eq!(connections.lock().len(), 3);
        drop(answering);
        assert_eq!(connections.evict_some(), 1, "now all three are idle or slow");
    }

    #[test]
    fn a_new_connection_is_evicted_after_slow_ones() {
        let connections = ConnectionRegistry::new(2);
        let slow = admitted(&connections);
        slow.received();
        connections.clock.store(1, Relaxed);
        let new = admitted(&connections);
        assert_eq!(connections.evict_some(), 1);
        let reasons = [&slow, &new].map(|connection| connection.close_reason.load(Relaxed));
        assert_eq!(reasons, [CloseReason::Evicted as u8, CloseReason::None as u8]);
    }

    #[test]
    fn a_new_connection_is_refused_when_all_are_busy() {
        let connections = ConnectionRegistry::new(1);
        let only = admitted(&connections);
        let _answering = BusyGuard::new(&only);
        assert!(matches!(connections.admit(), Admission::Refused));
    }

    #[test]
    fn time_is_counted_once_and_only_while_the_server_could_serve() {
        let connections = ConnectionRegistry::new(1);
        let limits = PhaseLimits { head: Duration::from_secs(60), idle: Duration::from_secs(60) };
        let stopped_for = 10 * TICK;
        *connections.last_tick.lock().unwrap_or_else(PoisonError::into_inner) -= stopped_for;
        connections.tick(limits);
        assert_eq!(
            connections.clock.load(Relaxed),
            (2 * TICK).as_millis() as u64,
            "a stopped process is no slow client"
        );
        let last = *connections.last_tick.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(last.elapsed() < stopped_for, "what has passed is not counted again");
    }
}
