//! Writing requests.

use bytes::Bytes;
use opentool_core::ToolCall;
use opentool_core::spec::schema::{Dialect, Target};
use serde::Serialize;
use serde_json::{Value, json};

use super::content::{OpenAiContent, user_content};
use super::data::{EXTRA_CONTENT, NAME, REASONING_FIELD};

use crate::provider::wire::{JsonBody, WireRequest, object_or_none};
use crate::{AssistantMessage, ChatError, ChatOptions, Message, ResponseFormat, ToolAnswer, ToolChoice};

/// Writes the body of a request.
pub(crate) struct OpenAiBody {
    /// The name of the provider, for errors.
    pub(crate) provider: &'static str,
    pub(crate) strict: bool,
    /// Whether OpenAI itself is asked, and not a server with the same interface.
    pub(crate) is_openai: bool,
    /// Whether OpenRouter is asked, which has words of its own for reasoning.
    pub(crate) is_openrouter: bool,
}

#[derive(Default, Serialize)]
struct OpenAiRequestMessage<'a> {
    role: &'static str,
    /// Null if an assistant only calls tools.
    content: Option<OpenAiContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OpenAiRequestCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
}

#[derive(Serialize)]
struct OpenAiRequestCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: OpenAiRequestFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct OpenAiRequestFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl OpenAiBody {
    pub(crate) fn write(&self, wire: WireRequest<'_>) -> Result<Bytes, ChatError> {
        let WireRequest { model, request, stream, .. } = wire;
        let options = request.options;
        let mut body = JsonBody::new(&options.extra);
        body.put("model", model)?;
        body.put("messages", &self.messages(request.messages)?)?;
        if !request.tools.is_empty() {
            let target = if self.strict { Target::OpenAiStrict } else { Target::OpenAi };
            body.put("tools", request.tools.wire(target))?;
            // Neither is allowed without tools.
            body.put_some("tool_choice", options.tool_choice.as_ref().map(tool_choice))?;
            body.put_some("parallel_tool_calls", options.parallel_tool_calls)?;
        }
        body.put_some("temperature", options.temperature)?;
        // OpenAI's newer models refuse the old name, which is the only one that many other servers know.
        body.put_some(if self.is_openai { "max_completion_tokens" } else { "max_tokens" }, options.max_tokens)?;
        body.put_some("response_format", options.response_format.as_ref().map(response_format))?;
        self.put_reasoning(&mut body, options)?;
        body.put_some("stop", options.stop.as_ref().filter(|stop| !stop.is_empty()))?;
        if stream {
            body.put("stream", &true)?;
            body.put("stream_options", &json!({ "include_usage": true }))?;
        }
        body.finish()
    }

    fn put_reasoning(&self, body: &mut JsonBody<'_>, options: &ChatOptions) -> Result<(), ChatError> {
        let (effort, budget) = (options.reasoning_effort.map(|effort| effort.as_str()), options.reasoning_budget);
        match (self.is_openrouter, effort, budget) {
            (true, _, Some(0)) => body.put("reasoning", &json!({ "enabled": false })),
            (true, _, Some(budget)) => body.put("reasoning", &json!({ "max_tokens": budget })),
            (true, Some(effort), None) => body.put("reasoning", &json!({ "effort": effort })),
            (false, None, Some(0)) => body.put("reasoning_effort", "none"),
            (false, effort, budget) => {
                if budget.is_some() {
                    tracing::debug!(target: "opentool::chat", provider = self.provider, "the wire has no reasoning budget");
                }
                body.put_some("reasoning_effort", effort)
            }
            (true, None, None) => Ok(()),
        }
    }
}

fn response_format(format: &ResponseFormat) -> Value {
    let adapted = format.adapted(if format.strict { Dialect::OpenAiStrict } else { Dialect::OpenAi });
    let mut schema = json!({ "name": format.name, "schema": adapted.schema, "strict": adapted.strict });
    if let Some(description) = &format.description {
        schema["description"] = json!(description);
    }
    json!({ "type": "json_schema", "json_schema": schema })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

/// Stands for the answer of a turn that was cancelled or failed after a tool had run.
const NO_ANSWER: &str = "(there was no answer)";

impl OpenAiBody {
    fn messages<'a>(&self, messages: &'a [Message]) -> Result<Vec<OpenAiRequestMessage<'a>>, ChatError> {
        let mut wire = Vec::with_capacity(messages.len());
        let mut after_tools = false;
        for message in messages {
            match message {
                Message::System(system) => wire.push(text_message("system", &system.text)),
                Message::User(user) => {
                    // Strict servers refuse a user message that follows the answer of a tool.
                    if std::mem::take(&mut after_tools) {
                        wire.push(text_message("assistant", NO_ANSWER));
                    }
                    let content = user_content(user, self.provider, self.is_openai)?;
                    wire.push(OpenAiRequestMessage {
                        role: "user",
                        content: Some(content),
                        ..OpenAiRequestMessage::default()
                    });
                }
                Message::Assistant(assistant) => {
                    after_tools = false;
                    wire.push(assistant_message(assistant));
                }
                Message::Tool(tool) => {
                    after_tools = true;
                    wire.extend(tool.answers.iter().map(answer));
                }
            }
        }
        Ok(wire)
    }
}

/// The text names the media of a result, which the wire has no place for.
fn answer(answer: &ToolAnswer) -> OpenAiRequestMessage<'_> {
    OpenAiRequestMessage { tool_call_id: Some(&answer.call_id), ..text_message("tool", &answer.text) }
}

fn text_message<'a>(role: &'static str, text: &'a str) -> OpenAiRequestMessage<'a> {
    OpenAiRequestMessage { role, content: Some(OpenAiContent::Text(text)), ..OpenAiRequestMessage::default() }
}

fn assistant_message(message: &AssistantMessage) -> OpenAiRequestMessage<'_> {
    let kept = |name| message.provider_data.get(NAME).and_then(|data| data.get(name));
    let extra = |place: usize| kept(EXTRA_CONTENT)?.get(place.to_string());
    let calls = message.tool_calls.iter().enumerate();
    let tool_calls: Vec<_> = calls.map(|(place, call)| wire_call(call, extra(place))).collect();
    let has_text = !message.text.is_empty() || tool_calls.is_empty();
    let content = has_text.then_some(OpenAiContent::Text(&message.text));
    // Models that reason between calls need their reasoning again, in the field in which it came; otherwise it only costs
    // tokens, and some servers refuse it.
    let field = kept(REASONING_FIELD).and_then(Value::as_str);
    let reasoning = |name| (!tool_calls.is_empty() && field == Some(name)).then_some(&*message.reasoning);
    let (reasoning_content, reasoning) = (reasoning("reasoning_content"), reasoning("reasoning"));
    OpenAiRequestMessage {
        role: "assistant",
        content,
        tool_calls,
        reasoning_content,
        reasoning,
        ..OpenAiRequestMessage::default()
    }
}

fn wire_call<'a>(call: &'a ToolCall, extra_content: Option<&'a Value>) -> OpenAiRequestCall<'a> {
    // Many servers parse the arguments again and refuse a conversation in which they are no object.
    let arguments = object_or_none(call.arguments.as_str()).map_or("{}", |object| object.get());
    let function = OpenAiRequestFunction { name: &call.name, arguments };
    OpenAiRequestCall { id: &call.id, r#type: "function", function, extra_content }
}
