//! The span of a turn, with the names of OpenTelemetry's conventions for generative AI.

use tracing::field::Empty;
use tracing::{Span, span_enabled};

use super::Inner;
use crate::{ChatError, ChatResponse, Message, Prompt};

const TARGET: &str = "opentool::chat";

/// Opens the span that the spans of all calls are children of.
pub(super) fn open(model: &Inner, prompt: &Prompt, conversation: Option<&str>) -> Span {
    if !span_enabled!(target: TARGET, tracing::Level::INFO) {
        return Span::none();
    }
    let options = &prompt.options;
    let name = options.model.as_deref().or_else(|| model.provider.model());
    let span = tracing::info_span!(
        target: TARGET,
        "chat",
        // The name that an exporter shows; a span's own name must be known when the crate is compiled.
        otel.name = name.map_or_else(|| "chat".to_owned(), |name| format!("chat {name}")),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.provider.name(),
        gen_ai.request.model = name,
        gen_ai.request.temperature = options.temperature,
        gen_ai.request.max_tokens = options.max_tokens,
        gen_ai.conversation.id = conversation,
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        error.type = Empty,
    );
    if model.record_content {
        span.record("gen_ai.input.messages", json(&prompt.messages));
    }
    span
}

/// Writes how the turn ended.
pub(super) fn record(span: &Span, model: &Inner, result: &Result<ChatResponse, ChatError>) {
    if span.is_none() {
        return;
    }
    let usage = match result {
        Ok(response) => response.usage,
        Err(error) => error.exchange().usage,
    };
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    match result {
        Ok(response) => {
            response.id.as_deref().map(|id| span.record("gen_ai.response.id", id));
            response.model.as_deref().map(|model| span.record("gen_ai.response.model", model));
            response.finish_reason().map(|reason| span.record("gen_ai.response.finish_reasons", reason.as_str()));
            if model.record_content {
                let said: Vec<Message> =
                    response.generations.iter().map(|generation| generation.message.clone().into()).collect();
                span.record("gen_ai.output.messages", json(&said));
            }
        }
        Err(error) => {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", error.cause().as_str());
        }
    }
}

fn json(messages: &[Message]) -> String {
    serde_json::to_string(messages).unwrap_or_default()
}
