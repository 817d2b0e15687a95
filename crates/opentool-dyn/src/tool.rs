//! A function of a library as a tool: [`DynTool`].

use std::cell::Cell;
use std::sync::Arc;

use opentool_core::{BoxFuture, Invocation, Tool, ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput};
use serde_json::value::RawValue;

use crate::engine::{Engine, Notes};
use crate::plan::Plan;
use crate::supervisor::Supervisor;
use crate::turn::Turn;

/// Where the functions of a library run.
#[derive(Debug)]
pub(crate) enum Place {
    /// In this process.
    Here {
        engine: Box<Engine>,
        /// Whoever holds it may call; none where calls may run at the same time.
        turn: Option<Turn>,
    },
    /// In worker processes.
    Worker(Supervisor),
}

/// What the tools of one library share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Arc<Plan>,
    pub(crate) place: Place,
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
        match &self.shared.place {
            Place::Here { engine, turn } => Box::pin(async move {
                let _mine = match turn {
                    Some(turn) => Some(turn.take().await),
                    None => None,
                };
                self.call_here(engine, invocation)
            }),
            Place::Worker(supervisor) => Box::pin(self.call_worker(supervisor, invocation)),
        }
    }
}

thread_local! {
    /// The text of the last result on this thread, kept for its memory.
    static RESULT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// How many bytes a thread keeps for later results.
const KEPT: usize = 64 << 10;

impl DynTool {
    fn call_here(&self, engine: &Engine, invocation: Invocation<'_>) -> Result<ToolOutput, ToolError> {
        let mut result = RESULT.take();
        let output = engine.call(self.function, invocation.arguments.as_str(), &mut result).and_then(|notes| {
            debug_assert!(std::str::from_utf8(&result).is_ok());
            // SAFETY: an engine writes names and texts that are `str`, and what stands for numbers and bytes in ASCII.
            let text = unsafe { std::str::from_utf8_unchecked(&result) };
            self.tell(notes, text, invocation.context);
            self.read_again(text.to_owned())
        });
        if result.capacity() <= KEPT {
            RESULT.set(result);
        }
        output
    }

    async fn call_worker(&self, supervisor: &Supervisor, invocation: Invocation<'_>) -> Result<ToolOutput, ToolError> {
        let (arguments, context) = (invocation.arguments.as_str(), invocation.context);
        self.shared.plan.check_arguments(self.function, arguments)?;
        let (notes, text) = supervisor.call(self.function, arguments, context).await?;
        self.tell(notes, &text, context);
        // What comes from a process that runs foreign code is read before it is believed.
        self.read_again(text)
    }

    /// Tells whoever listens what a result alone does not say.
    #[inline]
    fn tell(&self, notes: Notes, result: &str, context: &ToolContext) {
        if notes != Notes::default() {
            self.tell_notes(notes);
        }
        if let Some(meaning) = self.shared.plan.meaning(self.function, result) {
            tracing::debug!(tool = self.definition.name(), meaning, "the returned code");
            context.progress(1.0, Some(1.0), Some(meaning.to_owned()));
        }
    }

    #[cold]
    fn tell_notes(&self, notes: Notes) {
        let tool = self.definition.name();
        if notes.contains(Notes::REPLACED) {
            tracing::warn!(
                tool,
                "the library's text is not UTF-8: what is not was replaced; `x-encoding` says what it is"
            );
        }
        if notes.contains(Notes::CUT) {
            tracing::warn!(tool, "the library's text is longer than 1 MiB: the rest was cut off");
        }
    }

    #[cold]
    fn unreadable(&self) -> ToolError {
        ToolError::invalid_result(format!("`{}` has a result that is no JSON", self.definition.name()))
    }

    fn read_again(&self, text: String) -> Result<ToolOutput, ToolError> {
        match RawValue::from_string(text) {
            Ok(json) => Ok(ToolOutput::Json(json)),
            Err(error) => Err(self.unreadable().with_source(error)),
        }
    }
}
