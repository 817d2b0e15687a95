//! A client as a tool of another model.

use std::time::Duration;

use opentool_core::{Arguments, Failure, FnTool, ToolContext, ToolError, ToolMetadata};
use serde_json::json;

use super::chat_client::ChatClient;
use crate::error::{Cause, ChatError};

/// A model takes longer to answer than most tools to run.
const TIMEOUT: Duration = Duration::from_secs(300);

impl ChatClient {
    /// Makes a tool of the client, so that another model can ask this one.
    ///
    /// The tool takes a `prompt` and returns the text of the answer. The context of the call reaches this client's tools, its
    /// cancellation ends the turn. A call may take five minutes; [`FnTool::timeout`] sets another time. A turn that would wait
    /// for a decision fails, since it could not be resumed.
    ///
    /// Called by a chat that is [recorded](crate::ChatClientBuilder::journal), its turn is a part of that run: after a crash the
    /// tool is called again and goes on with what is recorded, and where its turn waits, the run waits.
    ///
    /// ```
    /// use opentool_chat::ChatClient;
    /// use opentool_chat::testing::{Reply, ScriptedModel};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let poet = ChatClient::builder(ScriptedModel::new([Reply::text("Roses are red.")])).system("You are a poet.").build();
    /// let editor = ScriptedModel::new([Reply::call("poet", r#"{"prompt":"Write about roses."}"#), Reply::text("Printed.")]);
    /// let answer = ChatClient::new(editor.clone())
    ///     .prompt("Print a poem.")
    ///     .tools(poet.as_tool("poet", "Ask a poet for a poem."))
    ///     .call().await?;
    /// assert_eq!(answer.text(), "Printed.");
    /// assert_eq!(&*editor.requests()[1].messages[2].answers()[0].text, "Roses are red.");
    /// # Ok::<(), opentool_chat::ChatError>(())
    /// # }).unwrap();
    /// ```
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> FnTool {
        let client = self.clone();
        FnTool::fallible(name, move |arguments: Arguments, context: ToolContext| {
            let client = client.clone();
            async move {
                let prompt = arguments.get::<String>("prompt")?.unwrap_or_default();
                let answer = client.prompt(prompt).tool_context(&context).call().await.map_err(tool_error)?;
                match answer.run_state() {
                    None => Ok(answer.text()),
                    // In a run the call waits, and is made again when it was decided.
                    Some(_) if context.run_place().is_some() => {
                        Err(ToolError::uncertain("a call of the assistant waits for a decision").into())
                    }
                    Some(_) => Err(Failure::new("the assistant needs an approval for which it cannot wait here")),
                }
            }
        })
        .description(description)
        .metadata(ToolMetadata::new().with_recorded_steps(true))
        .timeout(TIMEOUT)
        .input_schema(json!({
            "type": "object",
            "properties": { "prompt": { "type": "string", "description": "What to ask, with everything that must be known." } },
            "required": ["prompt"],
            "additionalProperties": false,
        }))
    }
}

/// An error that had to reach the caller of the inner model has to reach the caller of the outer one.
fn tool_error(error: ChatError) -> ToolError {
    match error.into_parts().0 {
        Cause::Tool { error, .. } => error,
        cause @ (Cause::Setup { .. } | Cause::Tools(_) | Cause::Forbidden { .. }) => ToolError::fatal(cause),
        cause => ToolError::from_error(cause),
    }
}
