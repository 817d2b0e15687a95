//! A function of a library as a tool: [`DynTool`].

use std::cell::Cell;
use std::sync::Arc;

use opentool_core::{BoxFuture, Invocation, Tool, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput};
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::engine::Engine;
use crate::plan::Plan;
use crate::serial::Serial;
use crate::workers::Workers;

/// Where the functions of a library run.
#[derive(Debug)]
pub(crate) enum Backend {
    /// In this process.
    InProcess {
        engine: Box<Engine>,
        /// None where calls may run at the same time.
        serial: Option<Serial>,
    },
    /// In worker processes.
    Workers(Workers),
}

/// What the tools of one library share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    pub(crate) backend: Backend,
}

/// A function of a library.
#[derive(Debug)]
pub(crate) struct DynTool {
    pub(crate) definition: ToolDefinition,
    pub(crate) metadata: ToolMetadata,
    /// Which function of the plan it is.
    pub(crate) function: usize,
    pub(crate) shared: Arc<Shared>,
}

impl Tool for DynTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.metadata
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match &self.shared.backend {
            Backend::InProcess { engine, serial } => Box::pin(async move {
                let call = || {
                    let (arguments, context) = (invocation.arguments.as_str(), invocation.context);
                    self.shared.call_in_process(engine, self.function, arguments, context)
                };
                let Some(serial) = serial else { return call() };
                if let Some(_running) = serial.try_enter() {
                    return call();
                }
                // Boxed, so that the future of a call that need not wait stays small (`--bench calls`).
                Box::pin(self.wait_and_call(serial, invocation)).await
            }),
            Backend::Workers(workers) => Box::pin(self.call_worker(workers, invocation)),
        }
    }
}

thread_local! {
    /// The buffer of the last result on this thread, kept so that a call allocates its result once and in its size:
    /// `cargo bench -p opentool-dyn --bench calls`.
    static RESULT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// How many bytes a thread keeps for later results.
const KEPT: usize = 64 << 10;

impl Shared {
    /// Calls a function on this thread. Where the library is slow, the async thread waits for it: in-process calls are for
    /// quick functions, since nothing can end them.
    fn call_in_process(
        &self,
        engine: &Engine,
        function: usize,
        arguments: &str,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let mut result = RESULT.take();
        let called = engine.call(function, arguments, &mut result);
        let output = called.map(|_| {
            debug_assert!(std::str::from_utf8(&result).is_ok(), "a result that is no UTF-8");
            // SAFETY: the engine wrote one JSON value in UTF-8 without space around it: numbers and punctuation are its own,
            // and every text of the library is decoded and escaped. Debug builds, and so the tests, check both all the same.
            // To read the result again would cost a quarter of the call: `cargo bench -p opentool-dyn --bench calls`.
            let (text, json) = unsafe {
                let text = std::str::from_utf8_unchecked(&result);
                (text, RawValue::from_string_unchecked(text.to_owned()))
            };
            self.report(function, text, context);
            ToolOutput::Json(json)
        });
        if result.capacity() <= KEPT {
            RESULT.set(result);
        }
        output
    }

    /// Reports the meaning of a returned code as progress.
    #[inline]
    fn report(&self, function: usize, result: &str, context: &ToolContext) {
        if let Some(meaning) = self.plan.meaning(function, result) {
            tracing::debug!(tool = self.plan.functions[function].name, meaning, "the returned code");
            context.progress(1.0, Some(1.0), Some(meaning.to_owned()));
        }
    }
}

impl DynTool {
    /// Waits until no other call runs, on a thread that may block, and calls the function there.
    async fn wait_and_call(&self, serial: &Serial, invocation: Invocation<'_>) -> Result<ToolOutput, ToolError> {
        let _next = serial.be_next().await;
        let (shared, function) = (self.shared.clone(), self.function);
        let (arguments, context) = (invocation.arguments.as_str().to_owned(), invocation.context.clone());
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            let Backend::InProcess { engine, serial } = &shared.backend else { return };
            let _running = serial.as_ref().map(Serial::enter);
            // A caller that has gone away meanwhile has its outcome: the call must not begin after it.
            if !sender.is_closed() {
                let _ = sender.send(shared.call_in_process(engine, function, &arguments, &context));
            }
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(job)),
            Err(_) => job(),
        }
        receiver.await.map_err(|_| ToolError::cancelled())?
    }

    async fn call_worker(&self, workers: &Workers, invocation: Invocation<'_>) -> Result<ToolOutput, ToolError> {
        let (arguments, context) = (invocation.arguments.as_str(), invocation.context);
        let (_, text) = workers.of_caller(context)?.call(self.function, arguments).await?;
        self.shared.report(self.function, &text, context);
        // The worker runs untrusted code: its text is parsed before it counts as JSON.
        self.parse_output(text)
    }

    #[cold]
    fn unreadable(&self) -> ToolError {
        ToolError::invalid_result(format!("`{}` has a result that is no JSON", self.definition.name()))
    }

    fn parse_output(&self, text: String) -> Result<ToolOutput, ToolError> {
        match RawValue::from_string(text) {
            Ok(json) => Ok(ToolOutput::Json(json)),
            Err(error) => Err(self.unreadable().with_source(error)),
        }
    }
}
