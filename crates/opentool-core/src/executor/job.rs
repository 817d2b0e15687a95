//! One call on its way to its outcome: [`Job`].

use std::sync::Arc;

use super::permits::BatchGate;
use super::policies::Policies;
use crate::sink::EventSink;
use crate::{Arguments, Decision, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, Toolbox};

/// One call, and what is known about it so far.
pub(super) struct Job<'a> {
    pub(super) policies: &'a Arc<Policies>,
    pub(super) tools: &'a Toolbox,
    pub(super) call_id: Option<&'a Arc<str>>,
    pub(super) name: &'a str,
    pub(super) arguments: &'a mut Arguments,
    pub(super) context: &'a ToolContext,
    /// What a batch adds; a host's call has none of it.
    pub(super) batch: Option<Box<BatchPart>>,
    /// The definition of the tool, once it is found.
    pub(super) definition: Option<ToolDefinition>,
    /// Whether the arguments were edited on approval.
    pub(super) edited: bool,
    /// The one answer. A call that is settled without one is suspended.
    pub(super) answer: Option<Result<ToolOutput, ToolError>>,
    pub(super) return_direct: bool,
    /// Whether the caller keeps the turn and can resume a suspended call.
    pub(super) resumable: bool,
}

impl<'a> Job<'a> {
    pub(super) fn new(
        policies: &'a Arc<Policies>,
        tools: &'a Toolbox,
        name: &'a str,
        arguments: &'a mut Arguments,
        context: &'a ToolContext,
    ) -> Self {
        Self {
            policies,
            tools,
            call_id: None,
            name,
            arguments,
            context,
            batch: None,
            definition: None,
            edited: false,
            answer: None,
            return_direct: false,
            resumable: false,
        }
    }
}

/// What belongs to a call because it is part of a batch.
pub(super) struct BatchPart {
    /// Why the limits of the turn do not admit the call.
    pub(super) refusal: Option<ToolError>,
    /// The round of the turn that the call belongs to, and its number there.
    pub(super) place: (u32, usize),
    /// What was decided about the call while it was suspended.
    pub(super) decision: Option<Decision>,
    /// None for a call that is alone in its batch.
    pub(super) gate: Option<Arc<BatchGate>>,
    /// The tool, where a resolver found it and the toolbox does not list it.
    pub(super) unlisted: Option<Arc<dyn Tool>>,
    /// Where events go, if the batch is watched.
    pub(super) sink: Option<Arc<EventSink>>,
}

/// Why a call did not run.
pub(super) enum NotRun {
    Error(ToolError),
    /// The policy for unknown tools answered in the tool's place.
    Answered(ToolOutput),
    Suspended,
    /// It ran before, and the journal has its outcome, which is in the job.
    Recorded,
}

impl From<ToolError> for NotRun {
    fn from(error: ToolError) -> Self {
        Self::Error(error)
    }
}
