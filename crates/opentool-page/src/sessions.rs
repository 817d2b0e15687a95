//! Who is signed in: [`Sessions`].

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use opentool_core::Cancellation;

use crate::secret::Secret;

/// A browser that is signed in.
#[derive(Debug)]
pub(crate) struct Session {
    /// Tells sessions apart; it is no secret.
    pub(crate) number: u64,
    /// The API key with which it signed in.
    pub(crate) key_name: Option<Arc<str>>,
    /// Given when it ends.
    pub(crate) over: Cancellation,
}

/// The sessions of a page, so many at most.
pub(crate) struct Sessions {
    list: Mutex<Vec<StoredSession>>,
    most: usize,
    timeout: Duration,
    begun: AtomicU64,
}

struct StoredSession {
    secret: Secret,
    session: Arc<Session>,
    used: Instant,
}

impl Drop for StoredSession {
    fn drop(&mut self) {
        self.session.over.cancel();
    }
}

impl Sessions {
    pub(crate) fn new(most: usize, timeout: Duration) -> Self {
        Self { list: Mutex::default(), most: most.max(1), timeout, begun: AtomicU64::new(0) }
    }

    /// Begins a session; none where the system has no random bytes. At the limit, the one that was not used for longest ends.
    pub(crate) fn begin(&self, key_name: Option<Arc<str>>) -> Option<Secret> {
        let secret = Secret::new()?;
        let number = self.begun.fetch_add(1, Relaxed);
        let session = Arc::new(Session { number, key_name, over: Cancellation::new() });
        let mut list = self.lock();
        if list.len() >= self.most
            && let Some((oldest, _)) = list.iter().enumerate().min_by_key(|(_, stored)| stored.used)
        {
            list.swap_remove(oldest);
        }
        list.push(StoredSession { secret: secret.clone(), session, used: Instant::now() });
        Some(secret)
    }

    /// Finds the session of a secret, and notes that it is used.
    pub(crate) fn find(&self, secret: &str) -> Option<Arc<Session>> {
        let mut list = self.lock();
        let mut found = None;
        // Every session is compared, so that the time does not reveal which one came close.
        for stored in list.iter_mut() {
            if stored.secret.matches(secret) {
                stored.used = Instant::now();
                found = Some(stored.session.clone());
            }
        }
        found
    }

    pub(crate) fn end(&self, number: u64) {
        self.lock().retain(|stored| stored.session.number != number);
    }

    /// The sessions that were used lately; the others end here.
    fn lock(&self) -> MutexGuard<'_, Vec<StoredSession>> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|stored| stored.used.elapsed() < self.timeout);
        list
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn at_the_limit_the_session_that_was_not_used_for_longest_ends() {
        let sessions = Sessions::new(2, Duration::from_secs(60));
        let first = sessions.begin(None).unwrap();
        let second = sessions.begin(None).unwrap();
        let over = sessions.find(second.expose()).unwrap().over.clone();
        assert!(sessions.find(first.expose()).is_some());
        let third = sessions.begin(Some("ci".into())).unwrap();
        assert!(sessions.find(second.expose()).is_none() && over.is_cancelled());
        assert!(sessions.find(first.expose()).is_some());
        assert_eq!(sessions.find(third.expose()).unwrap().key_name.as_deref(), Some("ci"));
    }

    #[test]
    fn a_session_ends_when_it_is_not_used() {
        let sessions = Sessions::new(2, Duration::from_millis(20));
        let secret = sessions.begin(None).unwrap();
        std::thread::sleep(Duration::from_millis(40));
        assert!(sessions.find(secret.expose()).is_none());
    }
}
