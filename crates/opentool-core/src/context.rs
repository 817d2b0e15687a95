//! What the application passes to tools and the model never sees: [`ToolContext`].

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::blocking::BlockingPool;
use crate::call_clock::{CallClock, ThreadClock, TimeLeft, now};
use crate::gate::ExclusivePermit;
use crate::journal::{CallOrigin, Recording};
use crate::question::AttachedRespondent;
use crate::sink::EventSink;
use crate::{
    CallKey, Cancellation, IdempotencyKey, Journal, OwnedRun, Progress, ProgressMessage, RunPlace, ToolDefinition,
    ToolError, ToolOutput,
};

/// What the application passes to tools and the model never sees.
///
/// It holds JSON values by name and Rust values by type, and, inside a call, what is known about
/// that call: its id, the tool's name, the attempt, the deadline, the cancellation, and the way to
/// stream results. An empty context works. A clone is cheap and shares the call. `Debug` shows keys, never values.
///
/// ```
/// use opentool_core::ToolContext;
///
/// struct Database(&'static str);
///
/// let context = ToolContext::new().with("tenant", "acme").with_typed(Database("main"));
/// assert_eq!(context.get("tenant").and_then(|v| v.as_str()), Some("acme"));
/// assert_eq!(context.typed::<Database>().map(|db| db.0), Some("main"));
/// assert_eq!(format!("{context:?}"), r#"ToolContext { values: ["tenant"], typed: ["Database"] }"#);
/// ```
#[derive(Default)]
pub struct ToolContext {
    values: Option<Arc<Values>>,
    cancellation: OnceLock<Cancellation>,
    /// The parent of a cancellation that is made later.
    parent: Option<Cancellation>,
    caller: Option<Arc<str>>,
    /// What answers the questions of tools.
    respondent: Option<Arc<AttachedRespondent>>,
    scope: Option<Scope>,
    /// Set where calls are recorded or their caller waits only so long; boxed, because few contexts have one.
    origin: Option<Arc<CallOrigin>>,
}

#[derive(Clone, Default)]
struct Values {
    named: Map<String, Value>,
    typed: HashMap<TypeId, Typed>,
}

#[derive(Clone)]
struct Typed {
    type_name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

/// What is known about the call that runs.
#[derive(Clone)]
struct Scope {
    call_id: Option<Arc<str>>,
    definition: ToolDefinition,
    attempt: u32,
    /// What makes the call this one, where it is recorded.
    key: Option<Arc<CallKey>>,
    clock: CallClock,
    /// None where the batch is not watched.
    sink: Option<Arc<EventSink>>,
    pool: BlockingPool,
    /// The permit of a serial or exclusive call; code on a blocking thread holds it until it returns.
    exclusive: Option<Weak<ExclusivePermit>>,
}

/// What the executor knows about a call.
pub(crate) struct CallScope<'a> {
    pub(crate) call_id: Option<&'a Arc<str>>,
    pub(crate) definition: &'a ToolDefinition,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sink: Option<Arc<EventSink>>,
    pub(crate) pool: &'a BlockingPool,
    pub(crate) exclusive: Option<Weak<ExclusivePermit>>,
    pub(crate) recorded: Option<RecordedScope>,
}

/// What the executor knows about a call that is recorded.
pub(crate) struct RecordedScope {
    pub(crate) key: Arc<CallKey>,
    pub(crate) attempt: u32,
    /// Where the calls that the call makes are recorded, if it consists of them.
    pub(crate) inner: Option<Arc<CallOrigin>>,
}

impl ToolContext {
    /// Makes an empty context.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            values: None,
            cancellation: OnceLock::new(),
            parent: None,
            caller: None,
            respondent: None,
            scope: None,
            origin: None,
        }
    }

    /// Adds a JSON value under a name, replacing one that is there.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.insert(key, value);
        self
    }

    /// Adds a Rust value under its type, replacing one that is there.
    #[must_use]
    pub fn with_typed<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.insert_typed(value);
        self
    }

    /// Sets the signal that cancels every call made with this context.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = OnceLock::from(cancellation);
        self
    }

    /// Names who makes the calls: the name of an API key, a session, a conversation. It is no secret and no proof.
    ///
    /// Tools that keep something for their callers keep it apart by this. Frontends set it.
    ///
    /// ```
    /// use opentool_core::ToolContext;
    ///
    /// assert_eq!(ToolContext::new().with_caller("ann").caller(), Some("ann"));
    /// assert_eq!(ToolContext::new().caller(), None);
    /// ```
    #[must_use]
    pub fn with_caller(mut self, caller: impl Into<Arc<str>>) -> Self {
        self.caller = Some(caller.into());
        self
    }

    /// Makes the calls of this context part of a run, which a journal records.
    ///
    /// The place of a call in its run is its round and its number there, for a call of a batch, or the one that
    /// [`with_place`](Self::with_place) sets, or a number in the order in which the calls begin.
    #[must_use]
    pub fn with_run(self, journal: Arc<dyn Journal>, run: impl Into<Arc<str>>) -> Self {
        self.recorded_by(Recording::run(journal, run.into(), "".into()))
    }

    /// Makes the calls of this context part of a run of this process, which can wait and go on after a crash.
    ///
    /// A call of a batch of which it is not known whether it had its effect then waits in its [turn](crate::Turn), instead of being an error.
    #[must_use]
    pub fn with_owned_run(self, run: Arc<dyn OwnedRun>) -> Self {
        self.recorded_by(Recording::owned(run, "".into()))
    }

    /// Returns the run that the calls of this context are part of, where it can wait and go on.
    #[must_use]
    pub fn run_place(&self) -> Option<RunPlace> {
        RunPlace::new(self.origin()?.recording.as_ref()?)
    }

    /// Gives the next call a key that its caller chose: a journal records it, and a repeated call has the outcome of the first.
    ///
    /// Keys of different [callers](Self::with_caller) and tools are apart.
    #[must_use]
    pub fn with_idempotency_key(self, journal: Arc<dyn Journal>, key: IdempotencyKey) -> Self {
        self.recorded_by(Recording::keyed(journal, key))
    }

    /// Says at which place of their run the next calls are, within the call that makes them.
    ///
    /// It has to be the same when the run is resumed. Without a run it says nothing.
    #[must_use]
    pub fn with_place(mut self, place: impl Into<Arc<str>>) -> Self {
        if let Some(origin) = &mut self.origin
            && let Some(recording) = &mut Arc::make_mut(origin).recording
        {
            recording.set_place(place.into());
        }
        self
    }

    /// Says that the caller waits no longer than this: every call of this context has at most the time that is left.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        let origin = Arc::make_mut(self.origin.get_or_insert_default());
        origin.deadline = now().checked_add(limit);
        self
    }

    fn recorded_by(mut self, recording: Recording) -> Self {
        Arc::make_mut(self.origin.get_or_insert_default()).recording = Some(recording);
        self
    }

    /// Adds a JSON value under a name, replacing one that is there.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.values_mut().named.insert(key.into(), value.into());
    }

    /// Adds a Rust value under its type, replacing one that is there.
    pub fn insert_typed<T: Send + Sync + 'static>(&mut self, value: T) {
        let typed = Typed { type_name: short_type_name::<T>(), value: Arc::new(value) };
        self.values_mut().typed.insert(TypeId::of::<T>(), typed);
    }

    /// Returns the JSON value of a name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.as_ref()?.named.get(key)
    }

    /// Deserialises the JSON value of a name; `None` where there is none.
    ///
    /// # Errors
    ///
    /// Where the value does not fit the type. The value is not in the error.
    pub fn get_as<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ToolError> {
        self.get(key).map(T::deserialize).transpose().map_err(|_| {
            let expected = short_type_name::<T>();
            ToolError::failed("the application gave the tool a context it cannot use")
                .with_detail(format!("context value `{key}` is no {expected}"))
        })
    }

    /// Returns the Rust value of a type.
    #[must_use]
    pub fn typed<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.as_ref()?.typed.get(&TypeId::of::<T>())?.value.downcast_ref()
    }

    /// Returns the name of the caller, where there are several to tell apart.
    #[must_use]
    pub fn caller(&self) -> Option<&str> {
        self.caller.as_deref()
    }

    /// Returns the names of the JSON values.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.iter().flat_map(|values| values.named.keys().map(String::as_str))
    }

    /// Returns this context with the values of another added; where both have one, the other's wins.
    ///
    /// So do its caller and its respondent, and its cancellation, where it was given one or is the context of a call.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let mut merged = self.clone();
        match (&mut merged.values, &other.values) {
            (_, None) => {}
            (values @ None, Some(_)) => values.clone_from(&other.values),
            (Some(values), Some(others)) => {
                let values = Arc::make_mut(values);
                for (key, value) in &others.named {
                    values.named.insert(key.clone(), value.clone());
                }
                for (key, value) in &others.typed {
                    values.typed.insert(*key, value.clone());
                }
            }
        }
        if other.caller.is_some() {
            merged.caller.clone_from(&other.caller);
        }
        if other.respondent.is_some() {
            merged.respondent.clone_from(&other.respondent);
        }
        if other.origin.is_some() {
            merged.origin.clone_from(&other.origin);
        }
        if other.given_cancellation().is_some() || other.scope.is_some() {
            merged.cancellation = OnceLock::from(other.cancellation().clone());
        }
        merged
    }

    /// Returns the id of the call that runs; empty outside a call or where the caller gave none.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.scope.as_ref().and_then(|scope| scope.call_id.as_deref()).unwrap_or_default()
    }

    /// Returns the name of the tool that runs; empty outside a call.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        self.scope.as_ref().map(|scope| scope.definition.name()).unwrap_or_default()
    }

    /// Returns which attempt of the call this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.scope.as_ref().map_or(1, |scope| scope.attempt)
    }

    /// Returns what makes the call this one in every attempt and process, for systems that take idempotency keys; `None` where the call
    /// is not recorded.
    #[must_use]
    pub fn call_key(&self) -> Option<&CallKey> {
        self.scope.as_ref()?.key.as_deref()
    }

    /// Returns when the call will time out; `None` outside a call, without a deadline, and while a sync tool waits for its
    /// thread, on which its clock starts.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.scope.as_ref()?.clock.deadline(self.respondent())
    }

    /// Returns how much time is left before the deadline.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let deadline = self.deadline()?;
        Some(deadline.saturating_duration_since(now()))
    }

    /// Returns the signal that is given when the call is cancelled, times out or is dropped.
    ///
    /// Outside a call it is the signal that cancels every call made with this context.
    pub fn cancellation(&self) -> &Cancellation {
        self.cancellation.get_or_init(|| match &self.parent {
            Some(parent) => parent.child(),
            None => Cancellation::new(),
        })
    }

    /// Says whether the call was cancelled, timed out or was dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match self.cancellation.get() {
            Some(cancellation) => cancellation.is_cancelled(),
            None => self.parent.as_ref().is_some_and(Cancellation::is_cancelled),
        }
    }

    /// Says whether the batch is watched: whether what is [emitted](Self::emit) is read.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.sink().is_some()
    }

    /// Streams a piece of the result to the watcher of the batch; waits while its backlog is full.
    ///
    /// The value the tool returns in the end is authoritative.
    pub async fn emit(&self, output: impl Into<ToolOutput>) {
        if let Some(sink) = self.sink() {
            sink.emit(output.into()).await;
        }
    }

    /// Streams a piece of the result from code that cannot await.
    ///
    /// A sync tool, and code in [`run_blocking`](Self::run_blocking), waits while the backlog of the watcher is full. Inline and async
    /// code does not wait, and nothing is lost: what is not yet read is kept.
    pub fn emit_blocking(&self, output: impl Into<ToolOutput>) {
        if let Some(sink) = self.sink() {
            sink.emit_blocking(output.into());
        }
    }

    /// Reports to the watcher of the batch how far the call is; dropped while its backlog is full.
    ///
    /// ```
    /// # let context = opentool_core::ToolContext::new();
    /// context.progress(1.0, Some(2.0), "half of it");
    /// context.progress(1.0, None, None);
    /// ```
    pub fn progress(&self, done: f64, total: Option<f64>, message: impl Into<ProgressMessage>) {
        if let Some(sink) = self.sink() {
            sink.progress(Progress { done, total, message: message.into().0 });
        }
    }

    /// Runs code that blocks its thread, on the executor's bounded pool.
    ///
    /// It is for async tools; a sync tool runs there as a whole. A thread cannot be stopped: past the deadline the call has
    /// its outcome, while the thread counts as busy until the code returns, so that the pool stays bounded. Until then no other call
    /// of a serial tool runs, and no other call of the batch of an exclusive one.
    ///
    /// # Errors
    ///
    /// Where there is no runtime to run it on. A panic of the code continues in the caller.
    pub async fn run_blocking<T, F>(&self, code: F) -> Result<T, ToolError>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let scope = self.scope.as_ref();
        let exclusive = scope.and_then(|scope| scope.exclusive.as_ref()?.upgrade());
        let sink = self.sink().cloned();
        let cancellation = self.cancellation().clone();
        let code = move || {
            let _until_it_returns = exclusive;
            // A call that is over before its thread starts must not run after all.
            (!cancellation.is_cancelled()).then(|| match &sink {
                Some(sink) => sink.run_blocking(code),
                None => code(),
            })
        };
        self.pool().run(self.tool_name(), code).await?.ok_or_else(ToolError::cancelled)
    }

    /// Runs a sync tool on the pool; the clock of the call starts when the code does.
    pub(crate) async fn run_tool<T, F>(&self, code: F) -> Result<T, ToolError>
    where
        F: FnOnce(&ToolContext) -> T + Send + 'static,
        T: Send + 'static,
    {
        let thread = self.scope.as_ref().and_then(|scope| scope.clock.on_thread(self.respondent.as_ref()));
        // What stops waiting for the tool, such as a middleware with a timeout of its own, may go on with the call.
        let _starts = thread.clone().map(ThreadClock::start_after_wait);
        let context = self.clone();
        let code = move || thread.is_none_or(|thread| thread.start()).then(|| code(&context));
        self.run_blocking(code).await?.ok_or_else(ToolError::cancelled)
    }

    /// Makes the context of one call, with the same values.
    pub(crate) fn for_call(&self, call: CallScope<'_>) -> Self {
        let mut timeout = call.timeout;
        if let Some(left) = self.remaining() {
            // A call made by a tool cannot outlive the tool's own call.
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        let (mut key, mut attempt, mut origin) = (None, 1, None);
        if let Some(recorded) = call.recorded {
            (key, attempt, origin) = (Some(recorded.key), recorded.attempt, recorded.inner);
        }
        let parent = match self.cancellation.get() {
            Some(cancellation) => Some(cancellation.clone()),
            None if self.scope.is_some() => Some(self.cancellation().clone()),
            None => self.parent.clone(),
        };
        Self {
            values: self.values.clone(),
            cancellation: OnceLock::new(),
            parent,
            caller: self.caller.clone(),
            respondent: self.respondent.as_ref().map(AttachedRespondent::for_call),
            scope: Some(Scope {
                call_id: call.call_id.cloned(),
                definition: call.definition.clone(),
                attempt,
                key,
                clock: CallClock::new(timeout),
                sink: call.sink,
                pool: call.pool.clone(),
                exclusive: call.exclusive,
            }),
            origin,
        }
    }

    /// Returns where the calls of this context are recorded and until when their caller waits.
    pub(crate) fn origin(&self) -> Option<&CallOrigin> {
        self.origin.as_deref()
    }

    /// Returns how long the caller waits, where that is known.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        Some(self.origin()?.deadline?.saturating_duration_since(now()))
    }

    /// Returns how much time the call has, and starts its clock unless it waits for a thread.
    pub(crate) fn time_left(&self) -> TimeLeft {
        match &self.scope {
            Some(scope) => scope.clock.time_left(|| self.deadline()),
            None => TimeLeft::Running { until: None, timeout: Duration::MAX },
        }
    }

    /// Gives up the wait for a thread. False where the tool has started meanwhile; else it never will.
    pub(crate) fn give_up_thread(&self) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.clock.give_up_thread())
    }

    /// Returns the pool for code that blocks.
    pub(crate) fn pool(&self) -> &BlockingPool {
        self.scope.as_ref().map_or_else(|| BlockingPool::shared(), |scope| &scope.pool)
    }

    /// Returns the signal that stops the call from outside, if there is one.
    pub(crate) fn outer_cancellation(&self) -> Option<&Cancellation> {
        self.parent.as_ref()
    }

    /// Returns the signal of a context that is not in a call, if there is one.
    pub(crate) fn given_cancellation(&self) -> Option<&Cancellation> {
        self.cancellation.get().or(self.parent.as_ref())
    }

    /// Cancels the call, if its tool asked for the signal.
    pub(crate) fn cancel_call(&self) {
        if let Some(cancellation) = self.cancellation.get() {
            cancellation.cancel();
        }
    }

    /// Returns this context for another attempt of the same call.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        if let Some(scope) = &mut self.scope {
            scope.attempt = attempt;
        }
        self
    }

    pub(crate) fn set_respondent(&mut self, respondent: AttachedRespondent) {
        self.respondent = Some(Arc::new(respondent));
    }

    /// Returns what answers the questions of tools.
    pub(crate) fn respondent(&self) -> Option<&AttachedRespondent> {
        self.respondent.as_deref()
    }

    fn sink(&self) -> Option<&Arc<EventSink>> {
        self.scope.as_ref()?.sink.as_ref()
    }

    fn values_mut(&mut self) -> &mut Values {
        Arc::make_mut(self.values.get_or_insert_default())
    }
}

impl Clone for ToolContext {
    fn clone(&self) -> Self {
        let cancellation = if self.scope.is_some() {
            // Both must see the same signal, so it can no longer be made lazily.
            OnceLock::from(self.cancellation().clone())
        } else {
            self.cancellation.clone()
        };
        if let Some(scope) = &self.scope
            && scope.clock.has_timeout()
        {
            let _ = self.deadline();
        }
        Self {
            values: self.values.clone(),
            cancellation,
            parent: self.parent.clone(),
            caller: self.caller.clone(),
            respondent: self.respondent.clone(),
            scope: self.scope.clone(),
            origin: self.origin.clone(),
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("ToolContext");
        if let Some(scope) = &self.scope {
            out.field("tool", &scope.definition.name()).field("call_id", &self.call_id());
        }
        if let Some(values) = &self.values {
            let named: Vec<_> = values.named.keys().collect();
            let mut typed: Vec<_> = values.typed.values().map(|typed| typed.type_name).collect();
            typed.sort_unstable();
            out.field("values", &named).field("typed", &typed);
        }
        out.finish()
    }
}

fn short_type_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    // A generic type keeps its full name: its last `::` may be inside the brackets.
    if name.contains('<') { name } else { name.rsplit("::").next().unwrap_or(name) }
}
