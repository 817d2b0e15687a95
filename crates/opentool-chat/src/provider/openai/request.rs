//! What is sent.

use bytes::Bytes;
use opentool_core::ToolCall;
use opentool_core::spec::schema::Target;
use serde::Serialize;
use serde_json::{Value, json};

use super::NAME;
use super::response::{EXTRA_CONTENT, REASONING_FIELD};
use crate::provider::ModelRequest;
use crate::provider::connection::{Outgoing, object_or_none};
use crate::{AssistantMessage, ChatError, Message, ToolAnswer, ToolChoice};

/// Writes requests.
pub(super) struct Writer<'a> {
    pub(super) model: &'a str,
    pub(super) strict: bool,
    /// Whether OpenAI itself is asked, and not one of the servers that speak like it.
    pub(super) is_openai: bool,
    pub(super) stream: bool,
}

#[derive(Default, Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    /// Null where an assistant only calls tools.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl Writer<'_> {
    pub(super) fn body(&self, request: ModelRequest<'_>) -> Result<Bytes, ChatError> {
        let options = request.options;
        let mut body = Outgoing::new(&options.extra);
        body.put("model", self.model)?;
        body.put("messages", &messages(request.messages))?;
        if !request.tools.is_empty() {
            let target = if self.strict { Target::OpenAiStrict } else { Target::OpenAi };
            body.put("tools", request.tools.wire(target))?;
            // Neither may be there without tools.
            body.put_some("tool_choice", options.tool_choice.as_ref().map(tool_choice))?;
            body.put_some("parallel_tool_calls", options.parallel_tool_calls)?;
        }
        body.put_some("temperature", options.temperature)?;
        // OpenAI's newer models refuse the old name, which is the only one that many other servers know.
        body.put_some(if self.is_openai { "max_completion_tokens" } else { "max_tokens" }, options.max_tokens)?;
        body.put_some("stop", options.stop.as_ref().filter(|stop| !stop.is_empty()))?;
        if self.stream {
            body.put("stream", &true)?;
            body.put("stream_options", &json!({ "include_usage": true }))?;
        }
        body.finish()
    }
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

/// What stands for the answer of a turn that has none, since it was cancelled or failed after a tool had run.
const NO_ANSWER: &str = "(there was no answer)";

fn messages(messages: &[Message]) -> Vec<WireMessage<'_>> {
    let mut wire = Vec::with_capacity(messages.len());
    let mut tools_spoke_last = false;
    for message in messages {
        match message {
            Message::System(system) => wire.push(said("system", &system.text)),
            Message::User(user) => {
                // Strict servers refuse a question that follows the answer of a tool.
                if std::mem::take(&mut tools_spoke_last) {
                    wire.push(said("assistant", NO_ANSWER));
                }
                wire.push(said("user", &user.text));
            }
            Message::Assistant(assistant) => {
                tools_spoke_last = false;
                wire.push(assistant_message(assistant));
            }
            Message::Tool(tool) => {
                tools_spoke_last = true;
                wire.extend(tool.answers.iter().map(answer));
            }
        }
    }
    wire
}

fn answer(answer: &ToolAnswer) -> WireMessage<'_> {
    WireMessage { tool_call_id: Some(&answer.call_id), ..said("tool", &answer.text) }
}

fn said<'a>(role: &'static str, text: &'a str) -> WireMessage<'a> {
    WireMessage { role, content: Some(text), ..WireMessage::default() }
}

fn assistant_message(message: &AssistantMessage) -> WireMessage<'_> {
    let kept = |name| message.provider_data.get(NAME).and_then(|data| data.get(name));
    let extra = |place: usize| kept(EXTRA_CONTENT)?.get(place.to_string());
    let calls = message.tool_calls.iter().enumerate();
    let tool_calls: Vec<_> = calls.map(|(place, call)| wire_call(call, extra(place))).collect();
    let content = Some(&*message.text).filter(|text| !text.is_empty() || tool_calls.is_empty());
    // Models that think between calls want to see their thoughts again, in the field in which they sent them; elsewhere they
    // only cost, and some servers refuse them.
    let field = kept(REASONING_FIELD).and_then(Value::as_str);
    let thought = |name| (!tool_calls.is_empty() && field == Some(name)).then_some(&*message.reasoning);
    let (reasoning_content, reasoning) = (thought("reasoning_content"), thought("reasoning"));
    WireMessage { role: "assistant", content, tool_calls, reasoning_content, reasoning, ..WireMessage::default() }
}

fn wire_call<'a>(call: &'a ToolCall, extra_content: Option<&'a Value>) -> WireCall<'a> {
    // Many servers read the arguments again, and refuse the conversation where a model once wrote no object.
    let arguments = object_or_none(call.arguments.as_str()).map_or("{}", |object| object.get());
    let function = WireFunction { name: &call.name, arguments };
    WireCall { id: &call.id, r#type: "function", function, extra_content }
}
