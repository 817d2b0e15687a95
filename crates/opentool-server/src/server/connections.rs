//! The connections of a listener: what each one does, since when, and which must go.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use tokio::sync::Notify;

use crate::body::Budget;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Nothing is asked, or the last answer is still being read.
    Idle,
    /// A request has begun to arrive.
    Head,
    /// A request is being answered.
    Busy,
}

/// Why a connection must go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Farewell {
    None,
    /// As soon as nothing is asked of it.
    Quiet,
    /// Its request takes too long to arrive.
    LateHead,
    /// The head of its request is large, and so are too many others.
    Crowded,
    /// Now.
    Abort,
}

/// How often connections are looked after.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// How many bytes of large heads are held over all connections.
const HEADS: usize = 4 * 1024 * 1024;

/// One connection, as its task and the listener see it.
#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    phase: AtomicU8,
    /// Since when it does so or last made progress, by the listener's clock.
    since: AtomicU64,
    clock: Arc<AtomicU64>,
    /// What all connections may hold together of large heads.
    heads: Arc<Budget>,
    farewell: AtomicU8,
    signal: Notify,
}

impl Connection {
    pub(super) fn heads(&self) -> &Arc<Budget> {
        &self.heads
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

    /// Something moved.
    pub(super) fn touch(&self) {
        self.since.store(self.clock.load(Relaxed), Relaxed);
    }

    pub(super) fn dismiss(&self, farewell: Farewell) {
        // A connection is never asked twice for the same; a stronger word replaces a weaker one.
        if self.farewell.fetch_max(farewell as u8, Relaxed) < farewell as u8 {
            self.signal.notify_one();
        }
    }

    /// Waits until the connection must go.
    pub(super) async fn dismissed(&self) -> Farewell {
        self.signal.notified().await;
        match self.farewell.load(Relaxed) {
            0 => Farewell::None,
            1 => Farewell::Quiet,
            2 => Farewell::LateHead,
            3 => Farewell::Crowded,
            _ => Farewell::Abort,
        }
    }
}

/// A request while it is answered.
pub(super) struct Busy(Arc<Connection>);

impl Busy {
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        connection.enter(Phase::Busy);
        Self(connection.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.enter(Phase::Idle);
    }
}

/// How long connections may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) head: Duration,
    pub(super) idle: Duration,
}

/// All connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>, RandomState>>,
    /// Milliseconds that the server has had to look after its connections, as of the last tick. Reading it is free, and
    /// time in which nobody could have been served counts against nobody.
    clock: Arc<AtomicU64>,
    last_tick: Mutex<Instant>,
    heads: Arc<Budget>,
    next: AtomicU64,
    most: usize,
}

/// What became of a connection that wants in.
pub(super) enum Admission {
    Admitted(Arc<Connection>),
    /// The longest idle one had to go.
    InPlaceOfAnother(Arc<Connection>),
    /// All are busy.
    Refused,
}

impl Connections {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            clock: Arc::default(),
            last_tick: Mutex::new(Instant::now()),
            heads: Budget::new(HEADS),
            next: AtomicU64::new(0),
            most: most.max(1),
        })
    }

    pub(super) fn admit(&self) -> Admission {
        let mut open = self.lock();
        let evicted = open.len() >= self.most;
        if evicted && !evict(&mut open) {
            return Admission::Refused;
        }
        let number = self.next.fetch_add(1, Relaxed);
        let connection = Arc::new(Connection {
            number,
            phase: AtomicU8::new(Phase::Idle as u8),
            since: AtomicU64::new(self.clock.load(Relaxed)),
            clock: self.clock.clone(),
            heads: self.heads.clone(),
            farewell: AtomicU8::new(Farewell::None as u8),
            signal: Notify::new(),
        });
        open.insert(number, connection.clone());
        if evicted { Admission::InPlaceOfAnother(connection) } else { Admission::Admitted(connection) }
    }

    /// Closes the longest idle connections, where the system has no room for more; returns how many.
    ///
    /// One at a time would let each newcomer wait for somebody else's end.
    pub(super) fn make_room(&self) -> usize {
        let mut open = self.lock();
        let some = open.len() / 8 + 1;
        (0..some).take_while(|_| evict(&mut open)).count()
    }

    pub(super) fn remove(&self, connection: &Connection) {
        self.lock().remove(&connection.number);
    }

    /// Moves the clock and dismisses the connections that take too long.
    pub(super) fn tick(&self, patience: Patience) {
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
                Phase::Head if still > patience.head => connection.dismiss(Farewell::LateHead),
                Phase::Idle if still > patience.idle => connection.dismiss(Farewell::Quiet),
                _ => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>, RandomState>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the connection that has been idle longest or, where none is, the one whose request takes longest to arrive.
///
/// Where something moved only just now comes last: what its client has sent may be on its way.
fn evict(open: &mut HashMap<u64, Arc<Connection>, RandomState>) -> bool {
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
    connection.dismiss(if connection.phase() == Phase::Idle { Farewell::Quiet } else { Farewell::Abort });
    open.remove(&connection.number);
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use super::*;

    fn admitted(connections: &Connections) -> Arc<Connection> {
        match connections.admit() {
            Admission::Admitted(connection) | Admission::InPlaceOfAnother(connection) => connection,
            Admission::Refused => panic!("refused"),
        }
    }

    #[test]
    fn at_the_cap_the_longest_idle_connection_goes_and_a_busy_one_stays() {
        let connections = Connections::new(3);
        let (busy, slow, idle) = (admitted(&connections), admitted(&connections), admitted(&connections));
        let answering = Busy::new(&busy);
        slow.received();
        assert!(matches!(connections.admit(), Admission::InPlaceOfAnother(_)));
        let farewells = || [&busy, &slow, &idle].map(|connection| connection.farewell.load(Relaxed));
        assert_eq!(farewells(), [Farewell::None as u8, Farewell::None as u8, Farewell::Quiet as u8]);
        assert_eq!(connections.lock().len(), 3);
        drop(answering);
        assert_eq!(connections.make_room(), 1, "now all three are idle or slow");
    }

    #[test]
    fn whoever_has_only_just_connected_goes_after_those_whose_requests_do_not_arrive() {
        let connections = Connections::new(2);
        let slow = admitted(&connections);
        slow.received();
        connections.clock.store(1, Relaxed);
        let new = admitted(&connections);
        assert_eq!(connections.make_room(), 1);
        let farewells = [&slow, &new].map(|connection| connection.farewell.load(Relaxed));
        assert_eq!(farewells, [Farewell::Abort as u8, Farewell::None as u8]);
    }

    #[test]
    fn where_all_are_busy_the_new_one_is_refused() {
        let connections = Connections::new(1);
        let only = admitted(&connections);
        let _answering = Busy::new(&only);
        assert!(matches!(connections.admit(), Admission::Refused));
    }
}
