//! A function of a library as a tool: [`DynTool`].

use std::cell::Cell;
use std::sync::Arc;

use opentool_core::{BoxFuture, Invocation, Tool, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput};
use serde_json::value::RawValue;
use tokio::sync::Mutex;

use crate::engine::Engine;
use crate::plan::Plan;
use crate::workers::Workers;

/// Where the functions of a library run.
#[derive(Debug)]
pub(crate) enum Backend {
    /// In this process.
    InProcess {
        engine: Box<Engine>,
        /// Held by the one call that may run; none where calls may run at the same time.
        serial: Option<Mutex<()>>,
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
                // Boxed where it has to wait, so that the future of a call that need not stays small (`--bench calls`).
                let _guard = match serial.as_ref().map(|serial| (serial.try_lock(), serial)) {
                    None => None,
                    Some((Ok(guard), _)) => Some(guard),
                    Some((Err(_), serial)) => Some(Box::pin(serial.lock()).await),
                };
                self.call_in_process(engine, invocation)
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

impl DynTool {
    /// Calls the function on this thread. Where the library is slow, the async thread waits for it: in-process calls are for
    /// quick functions, since nothing can end them.
    fn call_in_process(&self, engine: &Engine, invocation: Invocation<'_>) -> Result<ToolOutput, ToolError> {
        let mut result = RESULT.take();
        let called = engine.call(self.function, invocation.arguments.as_str(), &mut result);
        let output = called.map(|_| {
            debug_assert!(std::str::from_utf8(&result).is_ok(), "a result that is no UTF-8");
            // SAFETY: the engine wrote one JSON value in UTF-8 without space around it: numbers and punctuation are its own,
            // and every text of the library is decoded and escaped. Debug builds, and so the tests, check both all the same.
            // To read the result again would cost a quarter of the call: `cargo bench -p opentool-dyn --bench calls`.
            let (text, json) = unsafe {
                let text = std::str::from_utf8_unchecked(&result);
                (text, RawValue::from_string_unchecked(text.to_owned()))
            };
            self.report(text, invocation.context);
            ToolOutput::Json(json)
        });
        if result.capacity() <= KEPT {
            RESULT.set(result);
        }
        output
    }

    async fn call_worker(&self, workers: &Workers, invocation: Invocation<'_>) -> Result<ToolOutput, ToolError> {
        let (arguments, context) = (invocation.arguments.as_str(), invocation.context);
        let (_, text) = workers.of_caller(context)?.call(self.function, arguments).await?;
        self.report(&text, context);
        // The worker runs untrusted code: its text is parsed before it counts as JSON.
        self.parse_output(text)
    }

    /// Reports the meaning of a returned code as progress.
    #[inline]
    fn report(&self, result: &str, context: &ToolContext) {
        if let Some(meaning) = self.shared.plan.meaning(self.function, result) {
            tracing::debug!(tool = self.definition.name(), meaning, "the returned code");
            context.progress(1.0, Some(1.0), Some(meaning.to_owned()));
        }
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
