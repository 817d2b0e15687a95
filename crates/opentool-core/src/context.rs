//! What the application hands to tools and the model never sees: [`ToolContext`].

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::blocking::BlockingPool;
use crate::event::{Progress, ProgressMessage};
use crate::sink::EventSink;
use crate::turnstile::Stay;
use crate::{Cancellation, ToolDefinition, ToolError, ToolOutput};

/// What the application hands to tools and the model never sees.
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
    /// What a cancellation made later is a child of.
    parent: Option<Cancellation>,
    scope: Option<Scope>,
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
    timeout: Option<Duration>,
    deadline: OnceLock<Option<Instant>>,
    /// None where nobody watches.
    sink: Option<Arc<EventSink>>,
    /// None for the pool that all executors share.
    pool: Option<BlockingPool>,
    /// What keeps others waiting while a serial or exclusive call runs; code on a blocking thread holds it until it returns.
    stay: Option<Weak<Stay>>,
}

/// What the executor tells a tool about the call.
pub(crate) struct CallScope<'a> {
    pub(crate) call_id: Option<&'a Arc<str>>,
    pub(crate) definition: &'a ToolDefinition,
    pub(crate) timeout: Option<Duration>,
    pub(crate) sink: Option<Arc<EventSink>>,
    pub(crate) pool: Option<&'a BlockingPool>,
    pub(crate) stay: Option<Weak<Stay>>,
}

impl ToolContext {
    /// Makes an empty context.
    #[must_use]
    pub const fn new() -> Self {
        Self { values: None, cancellation: OnceLock::new(), parent: None, scope: None }
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
            ToolError::failed("the application handed the tool a context it cannot use")
                .with_detail(format!("context value `{key}` is no {expected}"))
        })
    }

    /// Returns the Rust value of a type.
    #[must_use]
    pub fn typed<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.as_ref()?.typed.get(&TypeId::of::<T>())?.value.downcast_ref()
    }

    /// Returns the names of the JSON values.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.iter().flat_map(|values| values.named.keys().map(String::as_str))
    }

    /// Returns this context with the values of another added; where both have one, the other's wins.
    ///
    /// So does its cancellation, where it was given one or is the context of a call.
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

    /// Returns when the call will be cut off; `None` outside a call or without a deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let scope = self.scope.as_ref()?;
        // The clock is read only when somebody needs it: by the tool here, or by the executor when the
        // call first waits. Most calls do neither.
        let timeout = scope.timeout?;
        // A time that no clock can tell is no deadline.
        *scope.deadline.get_or_init(|| tokio::time::Instant::now().into_std().checked_add(timeout))
    }

    /// Returns how much time is left before the deadline.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let deadline = self.deadline()?;
        Some(deadline.saturating_duration_since(tokio::time::Instant::now().into_std()))
    }

    /// Returns the signal that is given when the call is cancelled, cut off or dropped.
    ///
    /// Outside a call it is the signal that cancels every call made with this context.
    pub fn cancellation(&self) -> &Cancellation {
        self.cancellation.get_or_init(|| match &self.parent {
            Some(parent) => parent.child(),
            None => Cancellation::new(),
        })
    }

    /// Says whether the call was cancelled, cut off or dropped.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        match self.cancellation.get() {
            Some(cancellation) => cancellation.is_cancelled(),
            None => self.parent.as_ref().is_some_and(Cancellation::is_cancelled),
        }
    }

    /// Says whether anybody watches the batch: whether what is [emitted](Self::emit) goes anywhere.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.sink().is_some()
    }

    /// Streams a piece of the result to whoever watches the batch; waits while they are behind.
    ///
    /// The value the tool returns in the end is authoritative.
    pub async fn emit(&self, output: impl Into<ToolOutput>) {
        if let Some(sink) = self.sink() {
            sink.emit(output.into()).await;
        }
    }

    /// Streams a piece of the result from code that cannot await.
    ///
    /// Code on the pool of [blocking tools](Self::run_blocking) waits while whoever watches the batch is behind. Everywhere else
    /// nothing waits and nothing is lost: what is not yet read is kept.
    pub fn emit_blocking(&self, output: impl Into<ToolOutput>) {
        if let Some(sink) = self.sink() {
            sink.emit_blocking(output.into());
        }
    }

    /// Tells whoever watches the batch how far the call is; dropped while they are behind.
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
    /// This is what `#[tool(blocking)]` does. A thread cannot be stopped: past the deadline the call has
    /// its outcome, while the thread stays counted until the code returns, so that the pool stays bounded. Until then no other call
    /// of a serial tool runs, and no other call of the batch of an exclusive one.
    ///
    /// # Errors
    ///
    /// Where there is no runtime to run it on. A panic of the code goes on in the caller.
    pub async fn run_blocking<T, F>(&self, code: F) -> Result<T, ToolError>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let scope = self.scope.as_ref();
        let pool = scope.and_then(|scope| scope.pool.as_ref()).unwrap_or_else(|| BlockingPool::shared());
        let stay = scope.and_then(|scope| scope.stay.as_ref()?.upgrade());
        let sink = self.sink().cloned();
        let cancellation = self.cancellation().clone();
        let code = move || {
            let _until_it_returns = stay;
            // A call that was given up before its thread began must not run after all.
            (!cancellation.is_cancelled()).then(|| match &sink {
                Some(sink) => sink.blocking(code),
                None => code(),
            })
        };
        pool.run(code).await?.ok_or_else(ToolError::cancelled)
    }

    /// Makes the context of one call, with the same values.
    // Inlined, so that it is built where it stays.
    #[inline(always)]
    pub(crate) fn for_call(&self, call: CallScope<'_>) -> Self {
        let mut timeout = call.timeout;
        if let Some(left) = self.remaining() {
            // A call made by a tool cannot outlive the tool's own call.
            timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
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
            scope: Some(Scope {
                call_id: call.call_id.cloned(),
                definition: call.definition.clone(),
                attempt: 1,
                timeout,
                deadline: OnceLock::new(),
                sink: call.sink,
                pool: call.pool.cloned(),
                stay: call.stay,
            }),
        }
    }

    /// Returns how long the call may run.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.scope.as_ref()?.timeout
    }

    /// Returns the signal that stops the call from outside, if there is one.
    pub(crate) fn outer_cancellation(&self) -> Option<&Cancellation> {
        self.parent.as_ref()
    }

    /// Returns the signal of a context that is not in a call, if there is one.
    pub(crate) fn given_cancellation(&self) -> Option<&Cancellation> {
        self.cancellation.get().or(self.parent.as_ref())
    }

    /// Tells the tool, if it listens, that nobody waits for it any more.
    pub(crate) fn abandon(&self) {
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
            && scope.timeout.is_some()
        {
            let _ = self.deadline();
        }
        Self { values: self.values.clone(), cancellation, parent: self.parent.clone(), scope: self.scope.clone() }
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
