//! Calls that wait for their client to call again with answers: [`PendingCalls`].

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentool_core::{ToolCall, UserAnswer};
use tokio::time::Instant;

use super::random;

/// How long a client may take to call again.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How many calls may wait; beyond that the oldest is forgotten.
const LIMIT: usize = 10_000;

/// The calls that wait for answers.
///
/// The client holds nothing but a random name for what is kept here, so there is nothing that it could change, and a name is
/// good for one use, by the caller that got it, for the same tool and arguments.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls(Mutex<HashMap<String, Pending>>);

/// A call that has ended with questions.
#[derive(Debug)]
struct Pending {
    identity: CallIdentity,
    /// The questions that the client was asked last.
    asked: Vec<String>,
    answers: HashMap<String, UserAnswer>,
    expires: Instant,
}

/// A call that is taken up again.
#[derive(Debug, PartialEq)]
pub(crate) struct ResumedCall {
    /// The questions that the client was asked last.
    pub(crate) asked: Vec<String>,
    /// What it answered before.
    pub(crate) answers: HashMap<String, UserAnswer>,
}

/// Whose call it is, of which tool, with which arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallIdentity {
    key_name: Option<Arc<str>>,
    tool: Arc<str>,
    arguments: u64,
}

impl CallIdentity {
    pub(crate) fn new(call: &ToolCall, key_name: Option<&Arc<str>>) -> Self {
        let mut hasher = DefaultHasher::new();
        call.arguments.as_str().hash(&mut hasher);
        Self { key_name: key_name.cloned(), tool: call.name.clone(), arguments: hasher.finish() }
    }
}

impl PendingCalls {
    /// Keeps a call until its client calls again, and returns the name by which it does; none without random bytes.
    pub(crate) fn keep(
        &self,
        identity: CallIdentity,
        asked: Vec<String>,
        answers: HashMap<String, UserAnswer>,
    ) -> Option<String> {
        let name = random::name()?;
        let now = Instant::now();
        let mut pending = self.lock();
        if pending.len() >= LIMIT {
            pending.retain(|_, call| call.expires > now);
        }
        if pending.len() >= LIMIT
            && let Some(oldest) = pending.iter().min_by_key(|(_, call)| call.expires).map(|(name, _)| name.clone())
        {
            pending.remove(&oldest);
        }
        pending.insert(name.clone(), Pending { identity, asked, answers, expires: now + TIMEOUT });
        Some(name)
    }

    /// Takes a call up again; none where there is no such call of this caller.
    pub(crate) fn resume(&self, name: &str, identity: &CallIdentity) -> Option<ResumedCall> {
        let mut pending = self.lock();
        // Another caller's try does not use it up.
        pending.get(name).filter(|call| call.identity == *identity && call.expires > Instant::now())?;
        let Pending { asked, answers, .. } = pending.remove(name)?;
        Some(ResumedCall { asked, answers })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn identity(arguments: &str, key: &str) -> CallIdentity {
        CallIdentity::new(&ToolCall::new("1", "f", arguments), Some(&Arc::from(key)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_is_good_once_for_its_caller_and_call_and_not_for_ever() {
        let pending = PendingCalls::default();
        let keep = || pending.keep(identity("{}", "ann"), vec!["a".to_owned()], HashMap::new()).unwrap();
        let name = keep();
        assert_eq!(pending.resume("made-up", &identity("{}", "ann")), None);
        assert_eq!(pending.resume(&name, &identity("{}", "ben")), None);
        assert_eq!(pending.resume(&name, &identity(r#"{"x":1}"#, "ann")), None);
        assert_eq!(pending.resume(&name, &identity("{}", "ann")).unwrap().asked, ["a"]);
        assert_eq!(pending.resume(&name, &identity("{}", "ann")), None, "it is used up");
        let name = keep();
        tokio::time::advance(TIMEOUT).await;
        assert_eq!(pending.resume(&name, &identity("{}", "ann")), None);
    }
}
