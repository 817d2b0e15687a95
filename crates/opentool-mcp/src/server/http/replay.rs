//! Streams of calls that a client can take up again where they broke off: [`ReplayStream`].
//!
//! The revisions with sessions let a client come back with `Last-Event-ID`, since there a connection that breaks off is no
//! cancellation. What was sent is kept for that, within limits.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentool_core::BoxFuture;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::timeout;

use super::events::{EventSink, frame};
use crate::server::sink::MessageSink;

/// How many streams a session keeps.
const MAX_STREAMS: usize = 8;

/// How many bytes of all streams of all sessions are kept.
const MAX_BYTES: usize = 32 << 20;

/// How long a client may take to come back to a question that it was asked.
const COMES_BACK: Duration = Duration::from_secs(60);

/// How many bytes of streams are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayBudget(Arc<AtomicUsize>);

impl ReplayBudget {
    fn take(&self, bytes: usize) -> bool {
        let taken =
            self.0.fetch_update(Relaxed, Relaxed, |used| used.checked_add(bytes).filter(|all| *all <= MAX_BYTES));
        taken.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Relaxed);
    }
}

/// The streams of a session.
#[derive(Debug, Default)]
pub(super) struct ReplayStreams {
    kept: Mutex<VecDeque<Arc<ReplayStream>>>,
    begun: AtomicU64,
}

impl ReplayStreams {
    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<ReplayStream>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a stream; beyond the limit the oldest one can no longer be taken up again.
    pub(super) fn begin(&self, sink: EventSink, budget: &ReplayBudget) -> Arc<ReplayStream> {
        let stream = Arc::new(ReplayStream {
            number: self.begun.fetch_add(1, Relaxed),
            state: AsyncMutex::new(StreamState { sink: Some(Arc::new(sink)), ..StreamState::default() }),
            came_back: Notify::new(),
            budget: budget.clone(),
            kept_bytes: AtomicUsize::new(0),
        });
        let mut kept = self.kept();
        if kept.len() == MAX_STREAMS {
            kept.pop_front();
        }
        kept.push_back(stream.clone());
        stream
    }

    /// Finds the stream of an event, and how many of its events a client has; none where it is no longer kept.
    pub(super) fn find(&self, event: &str) -> Option<(Arc<ReplayStream>, usize)> {
        let (stream, event) = event.split_once('-')?;
        let (stream, event) = (stream.parse::<u64>().ok()?, event.parse::<usize>().ok()?);
        let found = self.kept().iter().find(|kept| kept.number == stream).cloned();
        Some((found?, event.checked_add(1)?))
    }
}

/// The stream of one call.
#[derive(Debug)]
pub(super) struct ReplayStream {
    number: u64,
    state: AsyncMutex<StreamState>,
    came_back: Notify,
    budget: ReplayBudget,
    kept_bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct StreamState {
    /// All events so far; none once there were too many.
    events: Vec<Arc<[u8]>>,
    has_lost_events: bool,
    is_over: bool,
    /// The client's side; none while it is away.
    sink: Option<Arc<EventSink>>,
}

impl ReplayStream {
    /// Ends the stream. Its events stay.
    pub(super) async fn finish(&self) {
        let mut state = self.state.lock().await;
        state.is_over = true;
        state.sink = None;
    }

    /// Takes the stream up again after so many events; nothing is sent where they are not kept.
    pub(super) async fn resume(&self, received: usize, sink: EventSink) {
        let mut state = self.state.lock().await;
        if state.has_lost_events {
            return;
        }
        for event in state.events.iter().skip(received) {
            if !sink.write(event).await {
                return;
            }
        }
        if !state.is_over {
            state.sink = Some(Arc::new(sink));
            drop(state);
            self.came_back.notify_waiters();
        }
    }

    async fn send_event(&self, message: Vec<u8>) -> bool {
        let mut state = self.state.lock().await;
        let event: Arc<[u8]> = frame(message, Some(&format!("{}-{}", self.number, state.events.len()))).into();
        if !state.has_lost_events && self.budget.take(event.len()) {
            self.kept_bytes.fetch_add(event.len(), Relaxed);
            state.events.push(event.clone());
        } else {
            state.has_lost_events = true;
        }
        if let Some(sink) = state.sink.clone()
            && !sink.write(&event).await
        {
            state.sink = None;
        }
        // A client that is away can come back for what is kept.
        state.sink.is_some() || !state.has_lost_events
    }

    /// Waits until the client is away and does not come back.
    async fn lost(&self) {
        loop {
            let came_back = self.came_back.notified();
            let sink = self.state.lock().await.sink.clone();
            if let Some(sink) = sink {
                sink.closed().await;
            }
            if timeout(COMES_BACK, came_back).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for ReplayStream {
    fn drop(&mut self) {
        self.budget.give_back(self.kept_bytes.load(Relaxed));
    }
}

impl MessageSink for ReplayStream {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'_, bool> {
        Box::pin(self.send_event(message))
    }

    fn keep_alive(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let sink = self.state.lock().await.sink.clone();
            match sink {
                Some(sink) => sink.keep_alive().await,
                None => true,
            }
        })
    }

    fn closed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.lost())
    }
}
