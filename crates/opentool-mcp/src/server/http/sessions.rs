//! The sessions of clients that begin with `initialize`: [`Sessions`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentool_core::Cancellation;
use tokio::time::Instant;

use super::replay::ReplayStreams;
use crate::server::ask::OpenQuestions;
use crate::server::in_flight::CallsInFlight;
use crate::server::random;
use crate::server::revision::Revision;

/// How many sessions were ever begun.
static COUNT: AtomicU64 = AtomicU64::new(1);

/// What a client said when it began, and what it has under way.
#[derive(Debug)]
pub(super) struct Session {
    /// What it is called among others. The id is as good as a key, and is shown to no tool.
    pub(super) name: Arc<str>,
    pub(super) revision: Revision,
    pub(super) calls: CallsInFlight,
    /// Whether its client said that it can ask the user.
    pub(super) can_ask: bool,
    pub(super) questions: OpenQuestions,
    pub(super) streams: ReplayStreams,
    /// Given when the session is over.
    pub(super) over: Cancellation,
    /// The name of the API key that it was begun with.
    key_name: Option<Arc<str>>,
    is_listening: AtomicBool,
    last_used: Mutex<Instant>,
}

/// The stream of a session, of which there is one at a time.
pub(super) struct ListeningGuard(Arc<Session>);

impl Drop for ListeningGuard {
    fn drop(&mut self) {
        self.0.is_listening.store(false, Ordering::Release);
        self.0.touch();
    }
}

impl Session {
    /// Takes the place of the one who listens, if it is free.
    pub(super) fn listen(self: &Arc<Self>) -> Option<ListeningGuard> {
        let was_listening = self.is_listening.swap(true, Ordering::AcqRel);
        (!was_listening).then(|| ListeningGuard(self.clone()))
    }

    fn is_busy(&self) -> bool {
        self.is_listening.load(Ordering::Acquire) || !self.calls.is_empty()
    }

    fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.over.cancel();
        self.questions.close();
        self.calls.cancel_all();
    }
}

/// The sessions that are open. Most clients never end theirs, so they expire, and there is a limit to their number.
#[derive(Debug)]
pub(super) struct Sessions {
    open: Mutex<HashMap<String, Arc<Session>>>,
    limit: usize,
    timeout: Duration,
}

impl Sessions {
    pub(super) fn new(limit: usize, timeout: Duration) -> Self {
        Self { open: Mutex::default(), limit, timeout }
    }

    /// Begins a session and returns its id; none where there may be no sessions, or the system has no random bytes.
    pub(super) fn begin(&self, revision: Revision, can_ask: bool, key_name: Option<Arc<str>>) -> Option<String> {
        let id = (self.limit > 0).then(random::name).flatten()?;
        let session = Session {
            name: format!("mcp-session-{}", COUNT.fetch_add(1, Ordering::Relaxed)).into(),
            revision,
            calls: CallsInFlight::default(),
            can_ask,
            questions: OpenQuestions::default(),
            streams: ReplayStreams::default(),
            over: Cancellation::new(),
            key_name,
            is_listening: AtomicBool::new(false),
            last_used: Mutex::new(Instant::now()),
        };
        let mut open = self.lock();
        if open.len() >= self.limit {
            self.free_place(&mut open);
        }
        open.insert(id.clone(), Arc::new(session));
        Some(id)
    }

    /// Finds a session that was begun with the same key.
    pub(super) fn find(&self, id: &str, key_name: Option<&Arc<str>>) -> Option<Arc<Session>> {
        let mut open = self.lock();
        let session = open.get(id)?.clone();
        if session.key_name.as_ref() != key_name {
            return None;
        }
        if self.is_expired(&session) {
            open.remove(id);
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends a session and everything that it has under way.
    pub(super) fn end(&self, id: &str) {
        if let Some(session) = self.lock().remove(id) {
            session.end();
        }
    }

    fn is_expired(&self, session: &Session) -> bool {
        !session.is_busy() && session.last_used().elapsed() > self.timeout
    }

    /// Removes the sessions that have expired or, where none has, the one that was not used for the longest time.
    fn free_place(&self, open: &mut HashMap<String, Arc<Session>>) {
        open.retain(|_, session| !self.is_expired(session));
        if open.len() < self.limit {
            return;
        }
        let oldest = open.iter().min_by_key(|(_, session)| (session.is_busy(), session.last_used()));
        if let Some(id) = oldest.map(|(id, _)| id.clone())
            && let Some(session) = open.remove(&id)
        {
            session.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const ANN: Option<&str> = Some("ann");

    fn begin(sessions: &Sessions, key: Option<&str>) -> String {
        sessions.begin(Revision::V2025_11_25, false, key.map(Arc::from)).unwrap()
    }

    fn is_open(sessions: &Sessions, id: &str, key: Option<&str>) -> bool {
        sessions.find(id, key.map(Arc::from).as_ref()).is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_belongs_to_its_key_and_expires() {
        let sessions = Sessions::new(10, Duration::from_secs(60));
        let id = begin(&sessions, ANN);
        assert!(id.len() > 32 && id.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(is_open(&sessions, &id, ANN));
        assert!(!is_open(&sessions, &id, None) && !is_open(&sessions, &id, Some("ben")));
        tokio::time::advance(Duration::from_secs(50)).await;
        assert!(is_open(&sessions, &id, ANN), "it is used, and so stays");
        tokio::time::advance(Duration::from_secs(50)).await;
        let listening = sessions.find(&id, ANN.map(Arc::from).as_ref()).unwrap().listen().unwrap();
        tokio::time::advance(Duration::from_secs(100)).await;
        assert!(is_open(&sessions, &id, ANN), "its client listens");
        drop(listening);
        tokio::time::advance(Duration::from_secs(100)).await;
        assert!(!is_open(&sessions, &id, ANN));
        assert!(sessions.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_limit_the_longest_unused_session_ends() {
        let sessions = Sessions::new(2, Duration::from_secs(60));
        let first = begin(&sessions, None);
        tokio::time::advance(Duration::from_secs(1)).await;
        let second = begin(&sessions, None);
        let ended = sessions.find(&first, None).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        let _busy = sessions.find(&second, None).unwrap().listen().unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        let third = begin(&sessions, None);
        assert!(ended.over.is_cancelled(), "the other one is busy, though longer unused");
        assert!(is_open(&sessions, &second, None) && is_open(&sessions, &third, None));
        sessions.end(&third);
        assert!(!is_open(&sessions, &third, None));
        assert_eq!(Sessions::new(0, Duration::MAX).begin(Revision::V2025_11_25, false, None), None);
    }
}
