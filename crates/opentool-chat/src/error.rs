//! Why a chat has no answer: [`ChatError`].

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{RunError, ToolError};
use thiserror::Error;

use crate::exchange::Exchange;
use crate::memory::MemoryError;
use crate::turn_end::TurnEnd;

/// Why a chat has no answer, and what was said until then.
///
/// It never holds a key.
pub struct ChatError(Box<Inner>);

struct Inner {
    cause: Cause,
    exchange: Exchange,
    run: Option<Arc<str>>,
}

/// The cause of a [`ChatError`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Cause {
    /// Something is missing or wrong before anything is sent, for instance a key.
    #[error("{message}")]
    Setup {
        /// What is wrong and what to do.
        message: String,
    },
    /// The provider answered with an error.
    #[error("{provider} answered {}{message}{}", answered(*status), asked_to_wait(*retry_after))]
    Refused {
        /// The provider.
        provider: String,
        /// The HTTP status; none for an error in the middle of a stream.
        status: Option<u16>,
        /// The provider's own code, where it has one.
        code: Option<String>,
        /// The provider's message.
        message: String,
        /// When to try again, where the provider says so.
        retry_after: Option<Duration>,
    },
    /// The provider could not be reached, or did not answer in time.
    #[error("{provider} {}: {message}", if *timed_out { "did not answer in time" } else { "cannot be reached" })]
    Unreachable {
        /// The provider.
        provider: String,
        /// What happened.
        message: String,
        /// Whether it took too long.
        timed_out: bool,
        /// The error underneath.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The provider's answer broke off.
    #[error("the answer of {provider} broke off: {message}")]
    Interrupted {
        /// The provider.
        provider: String,
        /// What happened.
        message: String,
    },
    /// The provider's answer cannot be read.
    #[error("the answer of {provider} cannot be read: {message}")]
    Unreadable {
        /// The provider.
        provider: String,
        /// What is wrong, with the beginning of what came.
        message: String,
    },
    /// The tools of the request are not available: two have the same name, a name cannot be resolved, a source cannot be reached.
    #[error("the tools of the request are not available: {0}")]
    Tools(#[source] ToolError),
    /// A tool failed with an error that is not for the model.
    #[error("the tool `{tool}` ended the turn: {error}")]
    Tool {
        /// The tool.
        tool: Arc<str>,
        /// The error.
        #[source]
        error: ToolError,
    },
    /// A limit of the turn was reached.
    #[error("{0}")]
    Limit(#[source] ToolError),
    /// The answer does not have the [form](crate::AnswerForm) that was asked for.
    #[error("the answer does not have the form that was asked for{}: {message}", if *tries > 1 { format!(" after {tries} tries") } else { String::new() })]
    Form {
        /// What is wrong with the last answer.
        message: String,
        /// How often the model was asked.
        tries: u32,
    },
    /// The turn took longer than it [may](crate::ChatOptions::turn_timeout).
    #[error("the turn did not end within {after:?}: give it more time, or ask for less")]
    Deadline {
        /// How long it may take.
        after: Duration,
    },
    /// The turn was cancelled.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The memory of the conversation failed.
    #[error("the memory of the conversation failed: {0}")]
    Memory(#[source] MemoryError),
    /// The run that the turn is recorded in cannot go on, or cannot be recorded.
    #[error("{0}")]
    Run(#[source] RunError),
    /// A test forbids requests to real models.
    #[error("a test forbids requests to real models, and this one would go to {provider}")]
    Forbidden {
        /// The provider.
        provider: String,
    },
}

fn answered(status: Option<u16>) -> String {
    status.map_or_else(|| "with an error: ".to_owned(), |status| format!("{status}: "))
}

/// Says when to try again, where that is worth saying.
fn asked_to_wait(after: Option<Duration>) -> String {
    match after.map(|after| after.as_secs_f64().ceil() as u64) {
        None | Some(0) => String::new(),
        Some(seconds @ ..120) => format!(" (it asks to wait {seconds} s before the next try)"),
        Some(seconds @ ..7200) => format!(" (it asks to wait {} minutes before the next try)", seconds.div_ceil(60)),
        Some(seconds) => format!(" (it asks to wait {} hours before the next try)", seconds.div_ceil(3600)),
    }
}

impl Cause {
    /// Returns the stable name of the cause, as it stands in spans and metrics.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Setup { .. } => "setup",
            Self::Refused { .. } => "refused",
            Self::Unreachable { timed_out: true, .. } => "timeout",
            Self::Unreachable { .. } => "unreachable",
            Self::Interrupted { .. } => "interrupted",
            Self::Unreadable { .. } => "unreadable",
            Self::Tools(_) => "tools",
            Self::Tool { .. } => "tool",
            Self::Limit(_) => "limit",
            Self::Form { .. } => "form",
            Self::Deadline { .. } => "deadline",
            Self::Cancelled => "cancelled",
            Self::Memory(_) => "memory",
            Self::Run(_) => "run",
            Self::Forbidden { .. } => "forbidden",
        }
    }
}

impl ChatError {
    /// Something is missing or wrong before anything is sent: say what, and what to do.
    pub fn setup(message: impl Into<String>) -> Self {
        Cause::Setup { message: message.into() }.into()
    }

    /// The provider answered with an error.
    pub fn refused(provider: impl Into<String>, status: impl Into<Option<u16>>, message: impl Into<String>) -> Self {
        let (provider, status, message) = (provider.into(), status.into(), message.into());
        Cause::Refused { provider, status, code: None, message, retry_after: None }.into()
    }

    /// The provider could not be reached; the source must not show a key.
    pub fn unreachable(provider: impl Into<String>, message: impl Into<String>) -> Self {
        let (provider, message) = (provider.into(), message.into());
        Cause::Unreachable { provider, message, timed_out: false, source: None }.into()
    }

    /// The provider did not answer, or did not continue, in time.
    pub fn timed_out(provider: impl Into<String>, message: impl Into<String>) -> Self {
        let (provider, message) = (provider.into(), message.into());
        Cause::Unreachable { provider, message, timed_out: true, source: None }.into()
    }

    /// The provider's answer broke off.
    pub fn interrupted(provider: impl Into<String>, message: impl Into<String>) -> Self {
        Cause::Interrupted { provider: provider.into(), message: message.into() }.into()
    }

    /// The provider's answer cannot be read.
    pub fn unreadable(provider: impl Into<String>, message: impl Into<String>) -> Self {
        Cause::Unreadable { provider: provider.into(), message: message.into() }.into()
    }

    /// A test forbids requests to real models.
    pub fn forbidden(provider: impl Into<String>) -> Self {
        Cause::Forbidden { provider: provider.into() }.into()
    }

    /// Sets the provider's own code of an answer that is an error.
    #[must_use]
    pub fn with_code(mut self, value: impl Into<String>) -> Self {
        if let Cause::Refused { code, .. } = &mut self.0.cause {
            *code = Some(value.into());
        }
        self
    }

    /// Sets when to try again after an answer that is an error.
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        if let Cause::Refused { retry_after, .. } = &mut self.0.cause {
            *retry_after = Some(after);
        }
        self
    }

    /// Sets the error underneath one that is about the way to the provider; it must not show a key.
    #[must_use]
    pub fn with_source(mut self, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        if let Cause::Unreachable { source, .. } = &mut self.0.cause {
            *source = Some(error.into());
        }
        self
    }

    /// Sets what was said until then.
    #[must_use]
    pub fn with_exchange(mut self, exchange: Exchange) -> Self {
        self.0.exchange = exchange;
        self
    }

    /// Sets the run that the turn is recorded in.
    pub(crate) fn with_run(mut self, run: Arc<str>) -> Self {
        self.0.run = Some(run);
        self
    }

    /// Returns the id of the run that the turn is recorded in, where the client has a [journal](crate::ChatClientBuilder::journal): it can be
    /// [resumed](crate::ChatClient::resume_run).
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.0.run.as_deref()
    }

    /// Returns the cause.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// Returns what was said until then: every call in it has its answer, so the work done is not lost.
    #[must_use]
    pub fn exchange(&self) -> &Exchange {
        &self.0.exchange
    }

    /// Takes it apart into the cause and what was said until then.
    #[must_use]
    pub fn into_parts(self) -> (Cause, Exchange) {
        (self.0.cause, self.0.exchange)
    }

    /// Returns the HTTP status of an answer that is an error.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match &self.0.cause {
            Cause::Refused { status, .. } => *status,
            _ => None,
        }
    }

    /// Returns when to try again, where the provider says so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.0.cause {
            Cause::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns why the turn ended, in the words that a [response](crate::ChatResponse::end) has too.
    #[must_use]
    pub fn end(&self) -> TurnEnd {
        match &self.0.cause {
            Cause::Limit(_) => TurnEnd::Limit,
            Cause::Deadline { .. } => TurnEnd::Deadline,
            Cause::Cancelled => TurnEnd::Cancelled,
            Cause::Tool { .. } => TurnEnd::ToolFailed,
            Cause::Form { .. } => TurnEnd::WrongForm,
            _ => TurnEnd::Failed,
        }
    }

    /// Says whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match &self.0.cause {
            Cause::Refused { status, .. } => matches!(status, Some(408 | 409 | 425 | 429 | 500..=599)),
            Cause::Unreachable { .. } | Cause::Interrupted { .. } => true,
            _ => false,
        }
    }
}

impl From<Cause> for ChatError {
    fn from(cause: Cause) -> Self {
        Self(Box::new(Inner { cause, exchange: Exchange::default(), run: None }))
    }
}

impl From<RunError> for ChatError {
    fn from(error: RunError) -> Self {
        Cause::Run(error).into()
    }
}

impl From<MemoryError> for ChatError {
    fn from(error: MemoryError) -> Self {
        Cause::Memory(error).into()
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.cause.fmt(f)
    }
}

impl fmt::Debug for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatError")
            .field("cause", &self.0.cause)
            .field("messages", &self.0.exchange.messages().len())
            .finish()
    }
}

impl StdError for ChatError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.source()
    }
}
