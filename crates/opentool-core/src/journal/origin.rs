//! What a context says about where its calls are recorded, and until when their caller waits: [`CallOrigin`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Instant;

use super::key::keyed_run;
use super::record::Journal;
use super::run::OwnedRun;

/// How many bytes a key of a caller may have.
const MAX_KEY: usize = 255;

/// A key that a caller chose for a call, so that it can be repeated without a second effect.
///
/// It has 1 to 255 visible ASCII characters.
///
/// ```
/// use opentool_core::IdempotencyKey;
///
/// assert_eq!(IdempotencyKey::parse("order-17").map(|key| key.as_str().to_owned()), Some("order-17".to_owned()));
/// assert!(IdempotencyKey::parse("").is_none() && IdempotencyKey::parse(&"k".repeat(256)).is_none());
/// assert!(IdempotencyKey::parse("a key").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    text: Arc<str>,
    /// Whose key it is, where that is not the caller of the context.
    caller: Option<Arc<str>>,
}

impl IdempotencyKey {
    /// What a key must be, for messages.
    pub const RULE: &'static str = "an idempotency key has 1 to 255 visible ASCII characters";

    /// Takes a text as a key, if it can be one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_KEY).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self { text: text.into(), caller: None })
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Says whose key it is, instead of the [caller](crate::ToolContext::with_caller) of the context.
    #[must_use]
    pub fn of_caller(mut self, caller: impl Into<Arc<str>>) -> Self {
        self.caller = Some(caller.into());
        self
    }
}

/// Where the calls of a context come from.
#[derive(Clone, Default)]
pub(crate) struct CallOrigin {
    pub(crate) recording: Option<Recording>,
    /// Until when the caller waits.
    pub(crate) deadline: Option<Instant>,
}

/// Where the calls of a context are recorded.
#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) identity: Identity,
    /// The run, where what happens between its calls is recorded too, so that it can wait and go on.
    pub(crate) owned: Option<Arc<dyn OwnedRun>>,
}

/// What calls are recorded as.
#[derive(Clone)]
pub(crate) enum Identity {
    /// Parts of a run.
    Run {
        run: Arc<str>,
        /// The place of the call that makes these calls; empty for those of the run itself.
        parent: Arc<str>,
        /// The place of the next call within that, where the caller says it.
        place: Option<Arc<str>>,
        /// How many calls took the next number, since their place was not said.
        numbered: Arc<AtomicU32>,
    },
    /// Each a run of its own, by a key that the caller chose.
    Keyed(IdempotencyKey),
}

impl Recording {
    pub(crate) fn run(journal: Arc<dyn Journal>, run: Arc<str>, parent: Arc<str>) -> Self {
        let identity = Identity::Run { run, parent, place: None, numbered: Arc::default() };
        Self { journal, identity, owned: None }
    }

    pub(crate) fn owned(run: Arc<dyn OwnedRun>, parent: Arc<str>) -> Self {
        let recording = Self::run(run.journal(), run.id().clone(), parent);
        Self { owned: Some(run), ..recording }
    }

    pub(crate) fn keyed(journal: Arc<dyn Journal>, key: IdempotencyKey) -> Self {
        Self { journal, identity: Identity::Keyed(key), owned: None }
    }

    pub(crate) fn set_place(&mut self, said: Arc<str>) {
        if let Identity::Run { place, .. } = &mut self.identity {
            *place = Some(said);
        }
    }
}

impl Identity {
    pub(crate) fn is_keyed(&self) -> bool {
        matches!(self, Self::Keyed(_))
    }

    /// Returns the place within which the calls are.
    pub(crate) fn within(&self) -> String {
        match self {
            Self::Keyed(_) => String::new(),
            Self::Run { parent, place: None, .. } => parent.to_string(),
            Self::Run { parent, place: Some(place), .. } if parent.is_empty() => place.to_string(),
            Self::Run { parent, place: Some(place), .. } => format!("{parent}>{place}"),
        }
    }

    /// Returns the run of a call, and its place there; `in_batch` is its place in a turn.
    pub(crate) fn place(&self, caller: &str, tool: &str, in_batch: Option<(u32, usize)>) -> (Arc<str>, Arc<str>) {
        match self {
            Self::Keyed(key) => {
                let caller = key.caller.as_deref().unwrap_or(caller);
                (keyed_run(caller, tool, key.as_str()).into(), "0".into())
            }
            Self::Run { run, parent, place, numbered } => {
                let own = match (place, in_batch) {
                    (Some(place), None) => place.to_string(),
                    (Some(place), Some((round, index))) => format!("{place}.{round}.{index}"),
                    (None, Some((round, index))) => format!("{round}.{index}"),
                    (None, None) => format!("n{}", numbered.fetch_add(1, Relaxed) + 1),
                };
                let place = if parent.is_empty() { own } else { format!("{parent}>{own}") };
                (run.clone(), place.into())
            }
        }
    }
}

impl fmt::Debug for CallOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOrigin").field("recorded", &self.recording.is_some()).finish_non_exhaustive()
    }
}
