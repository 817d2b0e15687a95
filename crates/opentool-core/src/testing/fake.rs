//! A tool that records its calls: [`FakeTool`].

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use serde_json::{Value, json};

use crate::{Arguments, Invocation, Tool, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput};

/// A tool that does what a test tells it to, and keeps a log of its calls.
///
/// It takes any arguments unless it is given a schema.
///
/// ```
/// # use opentool_core::{testing::{FakeTool, Probe}, ToolError};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let mail = FakeTool::new("send").fails(ToolError::failed("no network"));
/// let log = mail.log();
/// Probe::new(mail).call("send", r#"{"to":"ann"}"#).await.assert_message("no network");
/// assert_eq!(log.arguments(), [r#"{"to":"ann"}"#]);
/// # }
/// ```
pub struct FakeTool {
    definition: ToolDefinition,
    metadata: ToolMetadata,
    log: CallLog,
    act: Box<Act>,
}

type Act = dyn Fn(Arguments, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

impl FakeTool {
    /// Makes a tool that answers nothing.
    ///
    /// # Panics
    ///
    /// Where the name is no name for a tool.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            definition: define(name, json!({ "type": "object", "additionalProperties": true })),
            metadata: ToolMetadata::new(),
            log: CallLog::default(),
            act: Box::new(|_, _| Box::pin(async { Ok(ToolOutput::Empty) })),
        }
    }

    /// Sets the schema of the arguments.
    ///
    /// # Panics
    ///
    /// Where the schema does not compile.
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> Self {
        self.definition = define(self.definition.name(), schema);
        self
    }

    /// Sets the definition.
    #[must_use]
    pub fn with_definition(mut self, definition: ToolDefinition) -> Self {
        self.definition = definition;
        self
    }

    /// Sets the metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: ToolMetadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// Answers this every time.
    #[must_use]
    pub fn answers(self, output: impl Into<ToolOutput>) -> Self {
        let output = output.into();
        self.acts(move |_, _| {
            let output = output.clone();
            async move { Ok(output) }
        })
    }

    /// Answers this after some time.
    #[must_use]
    pub fn answers_after(self, time: Duration, output: impl Into<ToolOutput>) -> Self {
        let output = output.into();
        self.acts(move |_, _| {
            let output = output.clone();
            async move {
                tokio::time::sleep(time).await;
                Ok(output)
            }
        })
    }

    /// Fails every time.
    #[must_use]
    pub fn fails(self, error: ToolError) -> Self {
        self.acts(move |_, _| {
            let error = error.clone();
            async move { Err(error) }
        })
    }

    /// Panics every time.
    #[must_use]
    pub fn panics(self, message: &'static str) -> Self {
        self.acts(move |_, _| async move { panic!("{message}") })
    }

    /// Never answers.
    #[must_use]
    pub fn hangs(self) -> Self {
        self.acts(|_, _| std::future::pending())
    }

    /// Does what a closure does.
    #[must_use]
    pub fn acts<F, R>(mut self, act: F) -> Self
    where
        F: Fn(Arguments, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        self.act = Box::new(move |arguments, context| Box::pin(act(arguments, context)));
        self
    }

    /// Returns the log of the calls, which stays with the test.
    #[must_use]
    pub fn log(&self) -> CallLog {
        self.log.clone()
    }
}

fn define(name: &str, schema: Value) -> ToolDefinition {
    match ToolDefinition::builder(name).input_schema(schema).build() {
        Ok(definition) => definition,
        Err(error) => panic!("{error}"),
    }
}

impl Tool for FakeTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let _running = self.log.enter(invocation.arguments);
            let result = (self.act)(invocation.arguments.clone(), invocation.context.clone()).await;
            self.log.0.finished.fetch_add(1, SeqCst);
            result
        })
    }
}

impl fmt::Debug for FakeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeTool").field("name", &self.definition.name()).finish_non_exhaustive()
    }
}

/// What was asked of a [`FakeTool`].
#[derive(Clone, Debug, Default)]
pub struct CallLog(Arc<Log>);

#[derive(Debug, Default)]
struct Log {
    arguments: Mutex<Vec<String>>,
    running: AtomicUsize,
    most: AtomicUsize,
    finished: AtomicUsize,
}

struct Running<'a>(&'a Log);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl CallLog {
    /// Returns how often the tool's body began to run.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns how often the tool's body came to its end.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.0.finished.load(SeqCst)
    }

    /// Returns how many calls run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.0.running.load(SeqCst)
    }

    /// Returns how many calls ran at once, at most.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.0.most.load(SeqCst)
    }

    /// Returns the arguments of each call, in the order in which the calls began.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn enter(&self, arguments: &Arguments) -> Running<'_> {
        self.lock().push(arguments.as_str().to_owned());
        let running = self.0.running.fetch_add(1, SeqCst) + 1;
        self.0.most.fetch_max(running, SeqCst);
        Running(&self.0)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.arguments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
