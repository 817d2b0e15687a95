//! The wire formats of all providers side by side.

use std::time::Duration;

use futures_util::StreamExt;
use opentool_chat::provider::{Anthropic, AzureOpenAi, Gemini, Ollama, OpenAi, OpenAiResponses};
use opentool_chat::{
    Assembly, AssistantMessage, ChatError, ChatOptions, ChatResponse, Delta, Message, ModelRequest, Provider,
    ToolDefinitions,
};
use serde_json::{Value, json};

use super::server::Reply;

pub(crate) const KEY: &str = "sk-s3cret";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire {
    OpenAi,
    Azure,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
}

pub(crate) const ALL: [Wire; 6] =
    [Wire::OpenAi, Wire::Azure, Wire::Responses, Wire::Anthropic, Wire::Gemini, Wire::Ollama];

/// A call as a model makes it: id, name, arguments.
pub(crate) type Call<'a> = (&'a str, &'a str, Value);

impl Wire {
    pub(crate) fn provider(self, url: &str) -> Box<dyn Provider> {
        self.tuned(url, Duration::from_secs(30), Duration::from_secs(30), 1 << 20)
    }

    /// With these time limits and sizes.
    pub(crate) fn tuned(self, url: &str, response: Duration, idle: Duration, size: usize) -> Box<dyn Provider> {
        macro_rules! tuned {
            ($provider:ident) => {
                Box::new(
                    $provider::new("tiny")
                        .base_url(url)
                        .api_key(KEY)
                        .backoff(Duration::from_millis(1))
                        .response_timeout(response)
                        .idle_timeout(idle)
                        .max_response_size(size),
                )
            };
        }
        match self {
            Self::OpenAi => tuned!(OpenAi),
            Self::Azure => tuned!(AzureOpenAi),
            Self::Responses => tuned!(OpenAiResponses),
            Self::Anthropic => tuned!(Anthropic),
            Self::Gemini => tuned!(Gemini),
            Self::Ollama => tuned!(Ollama),
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// One message of a stream.
    pub(crate) fn event(self, data: &Value) -> String {
        match self {
            Self::OpenAi | Self::Azure | Self::Gemini => format!("data: {data}\n\n"),
            Self::Anthropic | Self::Responses => {
                format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or("message"))
            }
            Self::Ollama => format!("{data}\n"),
        }
    }

    /// A whole answer that says something.
    pub(crate) fn whole(self, text: &str) -> Reply {
        Reply::json(200, &self.whole_text(text))
    }

    pub(crate) fn whole_text(self, text: &str) -> String {
        match self {
            Self::OpenAi | Self::Azure => json!({ "id": "1", "model": "tiny", "choices": [{ "index": 0, "message": { "role": "assistant",
                "content": text }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } }),
            Self::Anthropic => json!({ "id": "1", "type": "message", "role": "assistant", "model": "tiny", "content": [{
                "type": "text", "text": text }], "stop_reason": "end_turn", "usage": { "input_tokens": 3, "output_tokens": 2 } }),
            Self::Responses => json!({ "id": "1", "object": "response", "model": "tiny", "status": "completed", "output": [{
                "type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [{ "type": "output_text",
                "text": text, "annotations": [] }] }], "usage": { "input_tokens": 3, "output_tokens": 2 } }),
            Self::Gemini => json!({ "responseId": "1", "modelVersion": "tiny", "candidates": [{ "index": 0, "content": {
                "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP" }],
                "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 2 } }),
            Self::Ollama => json!({ "model": "tiny", "message": { "role": "assistant", "content": text }, "done": true,
                "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2 }),
        }
        .to_string()
    }

    /// A streamed answer: thought, text and calls, each in pieces where the wire has pieces.
    pub(crate) fn streamed(self, thought: &str, text: &str, calls: &[Call<'_>]) -> String {
        match self {
            Self::OpenAi | Self::Azure => self.streamed_by_openai(thought, text, calls),
            Self::Responses => self.streamed_by_responses(thought, text, calls),
            Self::Gemini => self.streamed_by_gemini(thought, text, calls),
            Self::Anthropic => self.streamed_by_anthropic(thought, text, calls),
            Self::Ollama => self.streamed_by_ollama(thought, text, calls),
        }
    }

    fn streamed_by_openai(self, thought: &str, text: &str, calls: &[Call<'_>]) -> String {
        let chunk = |delta: Value, finish: Value| {
            self.event(&json!({ "id": "1", "model": "tiny", "object": "chat.completion.chunk",
                "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
        };
        let mut body = chunk(json!({ "role": "assistant", "content": null }), Value::Null);
        for piece in pieces(thought) {
            body += &chunk(json!({ "reasoning_content": piece }), Value::Null);
        }
        for piece in pieces(text) {
            body += &chunk(json!({ "content": piece }), Value::Null);
        }
        for (index, (id, name, arguments)) in calls.iter().enumerate() {
            let first =
                json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
            body += &chunk(json!({ "tool_calls": [first] }), Value::Null);
            for piece in pieces(&arguments.to_string()) {
                let next = json!({ "index": index, "function": { "arguments": piece } });
                body += &chunk(json!({ "tool_calls": [next] }), Value::Null);
            }
        }
        let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
        body += &chunk(json!({}), reason.into());
        body +=
            &self.event(&json!({ "id": "1", "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } }));
        body + "data: [DONE]\n\n"
    }

    fn streamed_by_anthropic(self, thought: &str, text: &str, calls: &[Call<'_>]) -> String {
        let mut body = self
            .event(&json!({ "type": "message_start", "message": { "id": "1", "model": "tiny", "content": [],
            "usage": { "input_tokens": 3, "output_tokens": 0 } } }));
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            let mut events =
                self.event(&json!({ "type": "content_block_start", "index": index, "content_block": start }));
            for delta in deltas {
                events += &self.event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            }
            events += &self.event(&json!({ "type": "content_block_stop", "index": index }));
            index += 1;
            events
        };
        if !thought.is_empty() {
            let mut deltas: Vec<_> =
                pieces(thought).map(|piece| json!({ "type": "thinking_delta", "thinking": piece })).collect();
            deltas.push(json!({ "type": "signature_delta", "signature": "c2lnbmVk" }));
            body += &block(json!({ "type": "thinking", "thinking": "" }), deltas);
        }
        if !text.is_empty() {
            let deltas = pieces(text).map(|piece| json!({ "type": "text_delta", "text": piece })).collect();
            body += &block(json!({ "type": "text", "text": "" }), deltas);
        }
        for (id, name, arguments) in calls {
            let arguments = arguments.to_string();
            let deltas = pieces(&arguments).map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }));
            body += &block(json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), deltas.collect());
        }
        let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
        body += &self
            .event(&json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": 2 } }));
        body + &self.event(&json!({ "type": "message_stop" }))
    }

    fn streamed_by_responses(self, thought: &str, text: &str, calls: &[Call<'_>]) -> String {
        let head = json!({ "id": "1", "object": "response", "model": "tiny", "status": "in_progress", "output": [] });
        let mut body = self.event(&json!({ "type": "response.created", "response": head }));
        body += &self.event(&json!({ "type": "response.in_progress", "response": head }));
        let mut index = 0;
        let mut item = |begun: Value, kind: &str, pieces: Vec<String>, done: Value| {
            let mut events =
                self.event(&json!({ "type": "response.output_item.added", "output_index": index, "item": begun }));
            for piece in pieces {
                events += &self.event(&json!({ "type": kind, "output_index": index, "delta": piece }));
            }
            events += &self.event(&json!({ "type": "response.output_item.done", "output_index": index, "item": done }));
            index += 1;
            events
        };
        if !thought.is_empty() {
            let done = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbGVk", "status": "completed",
                "summary": [{ "type": "summary_text", "text": thought }] });
            body += &item(
                json!({ "type": "reasoning", "id": "rs_1", "summary": [] }),
                "response.reasoning_summary_text.delta",
                pieces(thought).collect(),
                done,
            );
        }
        if !text.is_empty() {
            let done = json!({ "type": "message", "id": "m", "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": text, "annotations": [] }] });
            body += &item(
                json!({ "type": "message", "id": "m", "role": "assistant", "content": [] }),
                "response.output_text.delta",
                pieces(text).collect(),
                done,
            );
        }
        for (id, name, arguments) in calls {
            let call = |arguments: &str| json!({ "type": "function_call", "id": "fc", "call_id": id, "name": name, "arguments": arguments });
            let arguments = arguments.to_string();
            let kind = "response.function_call_arguments.delta";
            body += &item(call(""), kind, pieces(&arguments).collect(), call(&arguments));
        }
        let whole = json!({ "id": "1", "object": "response", "model": "tiny", "status": "completed", "output": [],
            "usage": { "input_tokens": 3, "output_tokens": 2 } });
        body + &self.event(&json!({ "type": "response.completed", "response": whole }))
    }

    fn streamed_by_gemini(self, thought: &str, text: &str, calls: &[Call<'_>]) -> String {
        let chunk = |parts: Value, finish: Value| {
            let candidate =
                json!({ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": finish });
            self.event(&json!({ "responseId": "1", "modelVersion": "tiny", "candidates": [candidate],
                "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 2 } }))
        };
        let mut body = String::new();
        for piece in pieces(thought) {
            body += &chunk(json!([{ "text": piece, "thought": true }]), Value::Null);
        }
        for piece in pieces(text) {
            body += &chunk(json!([{ "text": piece }]), Value::Null);
        }
        for (place, (id, name, arguments)) in calls.iter().enumerate() {
            let mut part = json!({ "functionCall": { "id": id, "name": name, "args": arguments } });
            if place == 0 {
                part["thoughtSignature"] = json!("c2lnbmVk");
            }
            body += &chunk(json!([part]), Value::Null);
        }
        body + &chunk(json!([{ "text": "" }]), json!("STOP"))
    }

    fn streamed_by_ollama(self, thought: &str, text: &str, calls: &[Call<'_>]) -> String {
        let line = |message: Value| self.event(&json!({ "model": "tiny", "message": message, "done": false }));
        let mut body = String::new();
        for piece in pieces(thought) {
            body += &line(json!({ "role": "assistant", "content": "", "thinking": piece }));
        }
        for piece in pieces(text) {
            body += &line(json!({ "role": "assistant", "content": piece }));
        }
        for (id, name, arguments) in calls {
            let call = json!({ "id": id, "function": { "name": name, "arguments": arguments } });
            body += &line(json!({ "role": "assistant", "content": "", "tool_calls": [call] }));
        }
        body + &self.event(&json!({ "model": "tiny", "message": { "role": "assistant", "content": "" }, "done": true,
            "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2 }))
    }

    /// The member of a request that holds the conversation.
    pub(crate) fn conversation(self) -> &'static str {
        match self {
            Self::Responses => "input",
            Self::Gemini => "contents",
            _ => "messages",
        }
    }

    /// An answer with this body, in one chunk.
    pub(crate) fn stream(self, body: &str) -> Reply {
        Reply::chunks(self.media_type(), [body.as_bytes()])
    }
}

/// A text in pieces of three characters.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(3).map(|piece| piece.iter().collect()).collect::<Vec<String>>().into_iter()
}

/// Asks without tools.
pub(crate) async fn ask(provider: &dyn Provider) -> Result<ChatResponse, ChatError> {
    let (options, tools) = (ChatOptions::new(), ToolDefinitions::default());
    provider.call(ModelRequest::new(&[Message::user("Hello?")], &options, &tools)).await
}

/// Asks without tools and puts the pieces together.
pub(crate) async fn ask_streaming(provider: &dyn Provider) -> Result<ChatResponse, ChatError> {
    let mut assembly = Assembly::new();
    for delta in deltas(provider).await {
        assembly.push(delta?);
    }
    Ok(assembly.finish())
}

/// Asks without tools and keeps the pieces.
pub(crate) async fn deltas(provider: &dyn Provider) -> Vec<Result<Delta, ChatError>> {
    let (options, tools) = (ChatOptions::new(), ToolDefinitions::default());
    provider.stream(ModelRequest::new(&[Message::user("Hello?")], &options, &tools)).collect().await
}

/// Asks in both ways.
pub(crate) async fn ask_both(provider: &dyn Provider) -> [Result<ChatResponse, ChatError>; 2] {
    [ask(provider).await, ask_streaming(provider).await]
}

/// The calls of an answer, as id, name and arguments.
pub(crate) fn calls(response: &ChatResponse) -> Vec<(&str, &str, &str)> {
    let calls = response.tool_calls().iter();
    calls.map(|call| (&*call.id, &*call.name, call.arguments.as_str())).collect()
}

pub(crate) fn message(response: &ChatResponse) -> &AssistantMessage {
    response.message().unwrap()
}
