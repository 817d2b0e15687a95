//! One answer of a scripted model: [`Reply`].

use std::time::Duration;

use opentool_core::{Arguments, ToolCall};

use crate::assembly::Assembly;
use crate::delta::{Delta, ToolCallDelta};
use crate::error::ChatError;
use crate::generation::{FinishReason, Generation};
use crate::message::AssistantMessage;
use crate::response::ChatResponse;
use crate::usage::Usage;

/// What a model of the test kit answers in one round.
///
/// Streamed, it comes in small pieces, its calls interleaved.
///
/// ```
/// use opentool_chat::testing::Reply;
///
/// Reply::text("It is noon.");
/// Reply::call("now", "{}").and_call("weather", r#"{"city":"Ulm"}"#).with_text("Let me see.");
/// ```
#[derive(Debug)]
#[must_use = "a reply is given to a model"]
pub struct Reply {
    content: Content,
    after: Option<Duration>,
    fails: Option<ChatError>,
}

#[derive(Debug)]
enum Content {
    Whole(Box<ChatResponse>),
    Pieces(Vec<Delta>),
}

impl Reply {
    /// Says something.
    pub fn text(text: impl Into<String>) -> Self {
        Self::message(AssistantMessage::new(text.into()))
    }

    /// Calls a tool; the model gives the call an id.
    pub fn call(name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self::text("").and_call(name, arguments)
    }

    /// Makes these calls, with these ids.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::message(AssistantMessage::new("").with_tool_calls(calls.into_iter().collect()))
    }

    /// Says and calls what is in a message.
    pub fn message(message: AssistantMessage) -> Self {
        let reason = match message.tool_calls.is_empty() {
            true => FinishReason::Stop,
            false => FinishReason::ToolCalls,
        };
        Self::response(ChatResponse::new(message, reason))
    }

    /// Answers with a response as it is.
    pub fn response(response: ChatResponse) -> Self {
        Self { content: Content::Whole(Box::new(response)), after: None, fails: None }
    }

    /// Answers in these very pieces; asked for the whole answer, in what they make together.
    pub fn deltas(deltas: impl IntoIterator<Item = Delta>) -> Self {
        Self { content: Content::Pieces(deltas.into_iter().collect()), after: None, fails: None }
    }

    /// Fails.
    pub fn error(error: ChatError) -> Self {
        Self::deltas([]).then_fails(error)
    }

    /// Never answers.
    pub fn never() -> Self {
        Self::text("").after(Duration::MAX)
    }

    /// Makes one more call.
    pub fn and_call(self, name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        let call = ToolCall::new(PLACEHOLDER, name.into(), arguments);
        self.map(|answer| {
            answer.message.tool_calls.push(call);
            answer.finish_reason = FinishReason::ToolCalls;
        })
    }

    /// Says something beside the calls.
    pub fn with_text(self, text: impl Into<String>) -> Self {
        self.map(|answer| answer.message.text = text.into().into())
    }

    /// Says what the model thought.
    pub fn with_reasoning(self, reasoning: impl Into<String>) -> Self {
        self.map(|answer| answer.message.reasoning = reasoning.into().into())
    }

    /// Says why the model stopped.
    pub fn with_finish_reason(self, reason: FinishReason) -> Self {
        self.map(|answer| answer.finish_reason = reason)
    }

    /// Says how many tokens were used.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        match &mut self.content {
            Content::Whole(response) => response.usage = usage,
            Content::Pieces(deltas) => deltas.push(Delta::Usage(usage)),
        }
        self
    }

    /// Waits before the answer.
    pub fn after(mut self, time: Duration) -> Self {
        self.after = Some(time);
        self
    }

    /// Fails in the end; streamed, after everything was said.
    pub fn then_fails(mut self, error: ChatError) -> Self {
        self.fails = Some(error);
        self
    }

    fn map(mut self, change: impl FnOnce(&mut Generation)) -> Self {
        let mut response = match self.content {
            Content::Whole(response) => response,
            Content::Pieces(deltas) => Box::new(assemble(deltas)),
        };
        if response.generations.is_empty() {
            response.generations.push(Generation::default());
        }
        change(&mut response.generations[0]);
        self.content = Content::Whole(response);
        self
    }

    pub(super) async fn wait(&self) {
        match self.after {
            Some(Duration::MAX) => std::future::pending().await,
            Some(time) => tokio::time::sleep(time).await,
            None => {}
        }
    }

    /// Gives the calls that have none an id of their round.
    pub(super) fn with_ids(mut self, round: usize) -> Self {
        if let Content::Whole(response) = &mut self.content {
            let calls = response.generations.iter_mut().flat_map(|generation| &mut generation.message.tool_calls);
            for (place, call) in calls.enumerate().filter(|(_, call)| *call.id == *PLACEHOLDER) {
                call.id = format!("call_{round}_{}", place + 1).into();
            }
        }
        self
    }

    pub(super) fn into_response(self) -> Result<ChatResponse, ChatError> {
        match (self.fails, self.content) {
            (Some(error), _) => Err(error),
            (None, Content::Whole(response)) => Ok(*response),
            (None, Content::Pieces(deltas)) => Ok(assemble(deltas)),
        }
    }

    pub(super) fn into_deltas(self) -> Vec<Result<Delta, ChatError>> {
        let deltas = match self.content {
            Content::Whole(response) => pieces(*response),
            Content::Pieces(deltas) => deltas,
        };
        deltas.into_iter().map(Ok).chain(self.fails.map(Err)).collect()
    }
}

/// The id of a call that will get one; no provider would think of it.
const PLACEHOLDER: &str = "\0";

fn assemble(deltas: Vec<Delta>) -> ChatResponse {
    let mut assembly = Assembly::new();
    deltas.into_iter().for_each(|delta| assembly.push(delta));
    assembly.finish()
}

/// Cuts a response into the pieces that a provider might stream.
fn pieces(response: ChatResponse) -> Vec<Delta> {
    let mut deltas = vec![Delta::Begin { id: response.id, model: response.model }];
    let Generation { message, finish_reason } = response.generations.into_iter().next().unwrap_or_default();
    deltas.extend(cut(&message.reasoning).map(Delta::Reasoning));
    deltas.extend(cut(&message.text).map(Delta::Text));
    for (index, call) in message.tool_calls.iter().enumerate() {
        deltas.push(ToolCallDelta::new().with_index(index).with_id(&*call.id).with_name(&*call.name).into());
    }
    // One piece of each call in turn, as a server that generates them side by side would.
    let mut arguments: Vec<_> = message.tool_calls.iter().map(|call| cut(call.arguments.as_str())).collect();
    loop {
        let round: Vec<_> =
            arguments.iter_mut().enumerate().filter_map(|(index, pieces)| Some((index, pieces.next()?))).collect();
        if round.is_empty() {
            break;
        }
        let piece =
            |(index, piece): (usize, String)| Delta::from(ToolCallDelta::new().with_index(index).with_arguments(piece));
        deltas.extend(round.into_iter().map(piece));
    }
    deltas.extend(message.provider_data.into_iter().map(|(provider, data)| Delta::ProviderData { provider, data }));
    deltas.push(Delta::Finish(finish_reason));
    deltas.push(Delta::Usage(response.usage));
    if !response.metadata.is_empty() {
        deltas.push(Delta::Metadata(response.metadata));
    }
    deltas
}

fn cut(text: &str) -> impl Iterator<Item = String> {
    const PIECE: usize = 5;
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}
