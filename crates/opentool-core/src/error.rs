//! What can go wrong with a call: [`ToolError`], one type for every cause, and [`Failure`], what fallible tools return.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::check::ArgumentError;
use crate::output::ToolOutput;

/// What the message of an error about arguments begins with.
const INVALID_ARGUMENTS: &str = "invalid arguments: ";

/// The cause of a [`ToolError`], the same for every kind of tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// No tool of that name may run.
    UnknownTool,
    /// The arguments are no JSON, break the schema or cannot be deserialised.
    InvalidArguments,
    /// The call needed approval and did not get it.
    Denied,
    /// A limit of the turn was reached.
    Limit,
    /// The call ran past its deadline.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// The tool panicked.
    Panic,
    /// The tool's result cannot be serialised or is too large.
    InvalidResult,
    /// What the tool needs (a server, a process, a slot) cannot be had now.
    Unavailable,
    /// The tool ran and failed in its own way.
    Failed,
    /// The call began, and it is not known whether it had its effect.
    Uncertain,
}

impl ErrorKind {
    /// Returns the kind as a stable, low-cardinality word, as it stands in spans and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::InvalidArguments => "invalid_arguments",
            Self::Denied => "denied",
            Self::Limit => "limit",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Panic => "panic",
            Self::InvalidResult => "invalid_result",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
            Self::Uncertain => "uncertain",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who gets an error: the model, which may correct itself, or the caller of the executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorSeverity {
    /// The model sees the error and the turn goes on.
    #[default]
    Recoverable,
    /// The error ends the turn and reaches the caller.
    Fatal,
}

/// Why a call has no result: one type for every cause and every kind of tool.
///
/// It keeps what the model sees ([`message`](Self::message)) apart from what only the operator
/// reads ([`detail`](Self::detail)). It is one pointer wide. Written with serde, for instance in a saved
/// turn, it keeps everything but its [`source`](Error::source) and its `detail`.
///
/// ```
/// use opentool_core::{ErrorKind, ErrorSeverity, ToolError};
///
/// let error = ToolError::failed("the calendar is read-only")
///     .with_code(423)
///     .with_detail("lock held by sync job 17");
/// assert_eq!(error.kind(), ErrorKind::Failed);
/// assert_eq!(error.severity(), ErrorSeverity::Recoverable);
/// assert_eq!(error.to_string(), "the calendar is read-only");
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
#[non_exhaustive]
pub struct ToolError(Box<Inner>);

#[derive(Clone, Serialize, Deserialize)]
struct Inner {
    kind: ErrorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    message: String,
    /// For the operator only: not written, because what is written may reach a caller.
    #[serde(skip)]
    detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<ToolOutput>,
    #[serde(default)]
    retryable: bool,
    #[serde(default)]
    severity: ErrorSeverity,
    #[serde(skip)]
    source: Option<Arc<dyn Error + Send + Sync>>,
    /// The Rust type of the source, for an error whose own text is blank.
    #[serde(skip)]
    source_type: Option<&'static str>,
}

impl ToolError {
    /// Creates a recoverable error of a kind, with the text for the model.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: None,
            message: message.into(),
            detail: None,
            data: None,
            output: None,
            retryable: false,
            severity: ErrorSeverity::Recoverable,
            source: None,
            source_type: None,
        }))
    }

    /// The tool failed, and the model sees this text.
    #[must_use]
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// The tool failed with an error whose text the model sees.
    ///
    /// A `ToolError` inside the box comes out unchanged.
    #[must_use]
    pub fn from_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(error) => *error,
            Err(error) => Self::wrap(Arc::from(error), None),
        }
    }

    /// The tool failed with an error that the caller must see and the model must not.
    #[must_use]
    pub fn fatal(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::from_error(error).with_severity(ErrorSeverity::Fatal)
    }

    /// The tool failed in a way that another attempt of the same call may repair.
    #[must_use]
    pub fn retry(message: impl Into<String>) -> Self {
        Self::failed(message).with_retryable(true)
    }

    /// The argument that the JSON pointer names is wrong; an empty pointer means the arguments as a whole.
    #[must_use]
    pub fn invalid_arguments(pointer: impl Into<String>, message: impl fmt::Display) -> Self {
        let pointer = pointer.into();
        let text = if pointer.is_empty() {
            format!("{INVALID_ARGUMENTS}{message}")
        } else {
            format!("{INVALID_ARGUMENTS}{pointer}: {message}")
        };
        Self::new(ErrorKind::InvalidArguments, text)
            .with_data(json!({ "problems": [{ "pointer": pointer, "message": message.to_string() }] }))
    }

    /// No tool of that name may run; `near` are names the model may have meant.
    #[must_use]
    pub fn unknown_tool(name: &str, near: &[&str]) -> Self {
        // No tool has a longer name, and the sender need not get all of it back.
        const SHOWN: usize = 64;
        let more = if name.chars().nth(SHOWN).is_some() { "…" } else { "" };
        let shown: String = name.chars().take(SHOWN).collect();
        let mut message = format!("there is no tool named `{shown}{more}`");
        for (index, candidate) in near.iter().enumerate() {
            message.push_str(if index == 0 { "; did you mean `" } else { "`, `" });
            message.push_str(candidate);
        }
        if !near.is_empty() {
            message.push_str("`?");
        }
        let error = Self::new(ErrorKind::UnknownTool, message);
        if near.is_empty() { error } else { error.with_data(json!({ "near": near })) }
    }

    /// The call needed approval and this is why it did not get it.
    #[must_use]
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, message)
    }

    /// A limit of the turn was reached.
    #[must_use]
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// The call ran past its deadline.
    ///
    /// It is not retryable by itself, because the call may have had its effect: the executor and sources of remote tools say
    /// that another attempt may help where the tool [may be repeated](crate::ToolMetadata::is_repeatable).
    #[must_use]
    pub fn timeout(after: Duration) -> Self {
        Self::new(ErrorKind::Timeout, format!("the tool did not answer within {:?}", readable(after)))
    }

    /// The server that ran the call stopped before it had a result.
    ///
    /// It is not retryable, as a [`timeout`](Self::timeout) is not by itself: the call may have had its effect.
    #[must_use]
    pub fn stopped() -> Self {
        Self::new(ErrorKind::Timeout, "the server stopped before the tool answered")
    }

    /// The call was cancelled before it had a result.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the call was cancelled")
    }

    /// The tool panicked: the model sees a generic text, the operator the panic's own message.
    #[must_use]
    pub fn panicked(panic: impl Into<String>) -> Self {
        Self::new(ErrorKind::Panic, "the tool failed with an internal error").with_detail(panic)
    }

    /// The tool's result cannot be used, for instance because it cannot be serialised or is too large.
    #[must_use]
    pub fn invalid_result(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidResult, message)
    }

    /// What the tool needs cannot be had now; a later attempt may succeed.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message).with_retryable(true)
    }

    /// The call began, and it is not known whether it had its effect; it does not run again by itself.
    #[must_use]
    pub fn uncertain(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Uncertain, message)
    }

    /// The key of the call was used for another one: another tool or other arguments.
    #[must_use]
    pub fn key_reused() -> Self {
        const UNPROCESSABLE: i32 = 422;
        Self::denied("the key was used for a call with other arguments: choose a new key for a new call")
            .with_code(UNPROCESSABLE)
    }

    /// It was decided that an uncertain call is given up.
    #[must_use]
    pub fn given_up(reason: &str) -> Self {
        let reason = reason.trim();
        let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Self::uncertain(format!("it is not known whether the call had its effect, and it was given up{because}"))
    }

    /// Notes the Rust type of the source, where there is one whose type is not known.
    pub(crate) fn or_source_type(mut self, source_type: &'static str) -> Self {
        if self.0.source.is_some() {
            self.0.source_type.get_or_insert(source_type);
        }
        self
    }

    fn wrap(source: Arc<dyn Error + Send + Sync>, source_type: Option<&'static str>) -> Self {
        let mut error = Self::failed(source.to_string());
        error.0.source = Some(source);
        error.0.source_type = source_type;
        error
    }

    /// Sets the numeric code that a frontend with codes (the OpenTool wire) answers.
    #[must_use]
    pub fn with_code(mut self, code: i32) -> Self {
        self.0.code = Some(code);
        self
    }

    /// Replaces the text for the model.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Sets what only the operator reads.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Sets structured data about the error.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.0.data = Some(data);
        self
    }

    /// Sets what the failed call answered besides the message, for instance the parts of an MCP result that is an error.
    #[must_use]
    pub fn with_output(mut self, output: ToolOutput) -> Self {
        self.0.output = Some(output);
        self
    }

    /// Says whether another attempt of the same call may succeed.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Says who gets the error.
    #[must_use]
    pub fn with_severity(mut self, severity: ErrorSeverity) -> Self {
        self.0.severity = severity;
        self
    }

    /// Sets the error that caused this one.
    #[must_use]
    pub fn with_source<E: Error + Send + Sync + 'static>(mut self, source: E) -> Self {
        self.0.source = Some(Arc::new(source));
        self.0.source_type = Some(std::any::type_name::<E>());
        self
    }

    /// Returns the cause.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the tool's own numeric code, if it set one.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.0.code
    }

    /// Returns the text for the model.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns what is wrong with the arguments, without the words that say so; of any other error, the whole message.
    #[must_use]
    pub fn argument_problem(&self) -> &str {
        let stripped =
            self.message().strip_prefix(INVALID_ARGUMENTS).filter(|_| self.kind() == ErrorKind::InvalidArguments);
        stripped.unwrap_or(self.message())
    }

    /// Returns what only the operator reads.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Returns structured data about the error, for instance the problems of invalid arguments.
    #[must_use]
    pub fn data(&self) -> Option<&Value> {
        self.0.data.as_ref()
    }

    /// Returns what the failed call answered besides the message.
    #[must_use]
    pub fn output(&self) -> Option<&ToolOutput> {
        self.0.output.as_ref()
    }

    /// Says whether another attempt of the same call may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Returns who gets the error.
    #[must_use]
    pub fn severity(&self) -> ErrorSeverity {
        self.0.severity
    }

    /// Says whether the error reaches the caller instead of the model.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.0.severity == ErrorSeverity::Fatal
    }

    /// Returns the Rust type of the underlying error, where it is known: only for wording, never to tell errors apart.
    pub(crate) fn source_type(&self) -> Option<&'static str> {
        self.0.source_type
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ToolError");
        out.field("kind", &self.0.kind).field("message", &self.0.message);
        if let Some(code) = self.0.code {
            out.field("code", &code);
        }
        if let Some(detail) = &self.0.detail {
            out.field("detail", detail);
        }
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.field("severity", &self.0.severity).field("retryable", &self.0.retryable).finish_non_exhaustive()
    }
}

impl Error for ToolError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

/// A time to the millisecond, for messages: what is left of a deadline is never round.
pub(crate) fn readable(time: Duration) -> Duration {
    let milliseconds = time.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

/// The model sees every problem of refused arguments, with its JSON pointer.
impl From<ArgumentError> for ToolError {
    fn from(error: ArgumentError) -> Self {
        let problems: Vec<_> = error
            .problems()
            .iter()
            .map(|problem| json!({ "pointer": problem.pointer, "message": problem.message }))
            .collect();
        Self::new(ErrorKind::InvalidArguments, format!("{INVALID_ARGUMENTS}{error}"))
            .with_data(json!({ "problems": problems }))
    }
}

/// What a fallible closure returns, so that `?` works on every [`std::error::Error`].
///
/// What is none is made into one on the way: a string with `.map_err(Failure::new)?`, a boxed error or an `anyhow::Error` with
/// `.map_err(ToolError::from_error)?`.
///
/// It deliberately is no [`std::error::Error`]: otherwise the conversion from every error would
/// overlap with the one from itself. A [`ToolError`] passes through it unchanged.
///
/// ```
/// use opentool_core::{Failure, ToolError};
///
/// fn size(path: &str) -> Result<u64, Failure> {
///     if path.is_empty() {
///         return Err(ToolError::failed("the path is empty").into());
///     }
///     check(path).map_err(Failure::new)?;
///     resolve(path).map_err(ToolError::from_error)?;
///     Ok(std::fs::metadata(path)?.len())
/// }
/// # fn check(path: &str) -> Result<(), &'static str> { if path == "/" { Err("not all of it") } else { Ok(()) } }
/// # fn resolve(path: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> { if path == "~" { Err("no home".into()) } else { Ok(()) } }
/// assert_eq!(size("").unwrap_err().into_error().message(), "the path is empty");
/// assert_eq!(size("/").unwrap_err().into_error().message(), "not all of it");
/// assert_eq!(size("~").unwrap_err().into_error().message(), "no home");
/// ```
#[derive(Clone)]
pub struct Failure(ToolError);

impl Failure {
    /// Fails with a text that the model sees.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self(ToolError::failed(message))
    }

    /// Returns the error inside.
    #[must_use]
    pub fn into_error(self) -> ToolError {
        self.0
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        if let Some(error) = (&error as &dyn Any).downcast_ref::<ToolError>() {
            return Self(error.clone());
        }
        Self(ToolError::wrap(Arc::new(error), Some(std::any::type_name::<E>())))
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
