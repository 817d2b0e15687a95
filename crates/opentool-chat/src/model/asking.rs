//! One request to the model.

use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use tracing::debug;

use super::span::WorkSpan;
use super::turn_state::TurnState;
use super::typed_turn::TypedTurn;
use crate::assembly::Assembly;
use crate::definitions::ToolDefinitions;
use crate::delta::Delta;
use crate::emitter::Emitter;
use crate::error::ChatError;
use crate::event::ChatEvent;
use crate::exchange::Exchange;
use crate::message::Message;
use crate::options::ToolChoice;
use crate::provider::ModelRequest;
use crate::response::ChatResponse;

impl TurnState {
    /// Asks once.
    pub(super) async fn ask(
        &mut self,
        definitions: &ToolDefinitions,
        events: &Emitter,
    ) -> Result<ChatResponse, ChatError> {
        self.relax_tool_choice();
        self.check_tool_choice(definitions)?;
        let model = &*self.model;
        let (messages, options) = (
            TypedTurn::messages(self.typed.as_ref(), &self.prompt.messages),
            TypedTurn::options(self.typed.as_ref(), &self.prompt.options),
        );
        let request = ModelRequest::new(&messages, &options, definitions);
        let span = WorkSpan::for_request(model, request, self.conversation.as_deref());
        let round = self.turn.rounds() + 1;
        let coming = &mut self.coming;
        let asked = async move {
            debug!(target: "opentool::chat", round, messages = request.messages.len(), "asking the model");
            if events.is_watched() {
                let asked = assemble(model.provider.stream(request), events, coming).await;
                // What was used before the stream broke off is known only here.
                asked.map_err(|error| error.with_exchange(Exchange { usage: coming.usage(), ..Exchange::default() }))
            } else {
                model.provider.call(request).await
            }
        };
        let response = span.around(asked).await?;
        debug!(
            target: "opentool::chat",
            calls = response.tool_calls().len(),
            input_tokens = response.usage.input_tokens,
            output_tokens = response.usage.output_tokens,
            "the model answered"
        );
        Ok(response)
    }

    /// A model that must call a tool must do so once; otherwise it would never answer.
    fn relax_tool_choice(&mut self) {
        let choice = &mut self.prompt.options.tool_choice;
        if matches!(choice, Some(ToolChoice::Required | ToolChoice::Named(_))) {
            let since = self.prompt.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
            if since.into_iter().any(|message| matches!(message, Message::Tool(_))) {
                *choice = Some(ToolChoice::Auto);
            }
        }
    }

    /// A choice that no tool of the request meets is refused by one provider and ignored by another.
    fn check_tool_choice(&self, definitions: &ToolDefinitions) -> Result<(), ChatError> {
        let problem = match &self.prompt.options.tool_choice {
            Some(ToolChoice::Required) if definitions.is_empty() => {
                "the tool choice is `required` and the request has no tools: give it some, or choose `auto`".to_owned()
            }
            Some(ToolChoice::Named(name)) if !definitions.iter().any(|definition| definition.name() == name) => {
                format!(
                    "the tool choice names `{name}`, which is not among the tools of the request: add it, or choose `auto`"
                )
            }
            _ => return Ok(()),
        };
        Err(ChatError::setup(problem))
    }
}

/// Puts an answer together while it comes.
async fn assemble(
    mut stream: BoxStream<'_, Result<Delta, ChatError>>,
    events: &Emitter,
    coming: &mut Assembly,
) -> Result<ChatResponse, ChatError> {
    *coming = Assembly::new();
    while let Some(delta) = stream.next().await {
        match delta? {
            Delta::ToolCall(piece) => events.emit(ChatEvent::ToolCall(coming.push_call(piece))).await,
            delta => {
                let event = match &delta {
                    Delta::Text(text) if !text.is_empty() => Some(ChatEvent::Text(text.clone())),
                    Delta::Reasoning(text) if !text.is_empty() => Some(ChatEvent::Reasoning(text.clone())),
                    _ => None,
                };
                // Kept before it is shown, so that what was shown is never lost.
                coming.push(delta);
                if let Some(event) = event {
                    events.emit(event).await;
                }
            }
        }
    }
    Ok(std::mem::take(coming).finish())
}
