//! One call of a composite tool.

use std::sync::Arc;

use super::job::{BatchPart, Job};
use super::policies::Executor;
use super::settle::{not_resumable, settle};
use crate::panics::guarded;
use crate::{Outcome, Tool, ToolCall, ToolContext, Toolbox, Turn};

impl Executor {
    /// Runs one call of a composite tool within the limits, of which `turn` says what is used up.
    ///
    /// Only the given tool may run. The call cannot wait in a turn: where its approval is put off, it is denied.
    pub(crate) async fn step(
        &self,
        tool: Arc<dyn Tool>,
        call: ToolCall,
        turn: &Turn,
        context: &ToolContext,
    ) -> Outcome {
        let refusal = guarded(|| self.0.limits.admit(turn, &call, Some(&*tool))).err();
        let ToolCall { id, name, mut arguments } = call;
        let mut job = Job::new(&self.0, Toolbox::none(), &name, &mut arguments, context);
        job.call_id = Some(&id);
        job.batch = Some(Box::new(BatchPart {
            refusal,
            decision: None,
            gate: None,
            unlisted: Some(tool),
            sink: None,
            // Its place in a recorded run is that of its context.
            place: (0, 0),
        }));
        settle(&mut job).await;
        let Job { answer, return_direct, edited, definition, .. } = job;
        let result = answer.unwrap_or_else(|| Err(not_resumable()));
        Outcome { call_id: id, tool: name, arguments, result, return_direct, edited, definition }
    }
}
