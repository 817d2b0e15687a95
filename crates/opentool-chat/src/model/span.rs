//! The spans of a turn and of its requests, with the names of OpenTelemetry's conventions for generative AI.

use tracing::field::Empty;
use tracing::{Instrument, Span, span_enabled};

use super::content;
use super::parts::ModelParts;
use crate::error::ChatError;
use crate::options::ChatOptions;
use crate::provider::ModelRequest;
use crate::response::ChatResponse;

const TARGET: &str = "opentool::chat";

/// A span that records how its work ended, also where the future is dropped before.
pub(super) struct WorkSpan {
    span: Span,
    record_content: bool,
    ended: bool,
}

impl WorkSpan {
    /// Opens the span of a turn, whose children are the spans of its requests and of its calls.
    pub(super) fn for_turn(model: &ModelParts, options: &ChatOptions, conversation: Option<&str>) -> Self {
        if !span_enabled!(target: TARGET, tracing::Level::INFO) {
            return Self::new(Span::none(), false);
        }
        let span = tracing::info_span!(
            target: TARGET,
            "invoke_agent",
            otel.name = "invoke_agent",
            otel.kind = "internal",
            otel.status_code = Empty,
            gen_ai.operation.name = "invoke_agent",
            gen_ai.provider.name = model.provider.name(),
            gen_ai.request.model = model.model_name(options),
            gen_ai.conversation.id = conversation,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            error.type = Empty,
        );
        // What was said is in the spans of the requests.
        Self::new(span, false)
    }

    /// Opens the span of one request to a model.
    pub(super) fn for_request(model: &ModelParts, request: ModelRequest<'_>, conversation: Option<&str>) -> Self {
        if !span_enabled!(target: TARGET, tracing::Level::INFO) {
            return Self::new(Span::none(), false);
        }
        let options = request.options;
        let name = model.model_name(options);
        let server = model.provider.server();
        let span = tracing::info_span!(
            target: TARGET,
            "chat",
            // The name that an exporter shows; a span's own name must be known when the crate is compiled.
            otel.name = name.map_or_else(|| "chat".to_owned(), |name| format!("chat {name}")),
            otel.kind = "client",
            otel.status_code = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = model.provider.name(),
            gen_ai.conversation.id = conversation,
            gen_ai.request.model = name,
            gen_ai.request.temperature = options.temperature,
            gen_ai.request.max_tokens = options.max_tokens,
            gen_ai.request.stop_sequences = options.stop.as_ref().map(tracing::field::debug),
            gen_ai.response.id = Empty,
            gen_ai.response.model = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.input.messages = Empty,
            gen_ai.output.messages = Empty,
            server.address = server.map(|(host, _)| host),
            server.port = server.map(|(_, port)| port),
            http.response.status_code = Empty,
            error.type = Empty,
        );
        if model.record_content {
            span.record("gen_ai.input.messages", content::messages(request.messages));
        }
        Self::new(span, model.record_content)
    }

    fn new(span: Span, record_content: bool) -> Self {
        Self { span, record_content, ended: false }
    }

    /// Does the work inside the span and writes how it ended.
    pub(super) async fn around(
        mut self,
        work: impl Future<Output = Result<ChatResponse, ChatError>>,
    ) -> Result<ChatResponse, ChatError> {
        let result = work.instrument(self.span.clone()).await;
        self.end(&result);
        result
    }

    fn end(&mut self, result: &Result<ChatResponse, ChatError>) {
        self.ended = true;
        if self.span.is_none() {
            return;
        }
        let usage = match result {
            Ok(response) => response.usage,
            Err(error) => error.exchange().usage,
        };
        let span = &self.span;
        if result.is_ok() || usage.total_tokens() > 0 {
            span.record("gen_ai.usage.input_tokens", usage.input_tokens);
            span.record("gen_ai.usage.output_tokens", usage.output_tokens);
        }
        if usage.cached_input_tokens > 0 {
            span.record("gen_ai.usage.cache_read.input_tokens", usage.cached_input_tokens);
        }
        match result {
            Ok(response) => {
                response.id.as_deref().map(|id| span.record("gen_ai.response.id", id));
                response.model.as_deref().map(|model| span.record("gen_ai.response.model", model));
                response.finish_reason().map(|reason| span.record("gen_ai.response.finish_reasons", reason.as_str()));
                if self.record_content {
                    span.record("gen_ai.output.messages", content::answers(&response.generations));
                }
            }
            Err(error) => {
                error.status().map(|status| span.record("http.response.status_code", status));
                self.fail(error.cause().as_str());
            }
        }
    }

    fn fail(&self, kind: &str) {
        self.span.record("otel.status_code", "ERROR");
        self.span.record("error.type", kind);
    }
}

impl Drop for WorkSpan {
    fn drop(&mut self) {
        if !self.ended {
            self.fail(if std::thread::panicking() { "panic" } else { "cancelled" });
        }
    }
}
