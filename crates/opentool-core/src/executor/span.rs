//! The span of a call, with the names of OpenTelemetry's conventions for generative AI.

use tracing::field::Empty;
use tracing::{Level, Span, span_enabled};

use super::job::Job;
use crate::panics::guarded;

const TARGET: &str = "opentool::execute_tool";

/// Says whether a subscriber wants the span.
pub(super) fn wanted() -> bool {
    span_enabled!(target: TARGET, Level::INFO)
}

pub(super) fn open(job: &Job<'_>) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        "execute_tool",
        // The name that an exporter shows; a span's own name must be known when the crate is compiled.
        otel.name = format_args!("execute_tool {}", job.name),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = job.name,
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = Empty,
        gen_ai.tool.description = Empty,
        gen_ai.tool.call.arguments = Empty,
        gen_ai.tool.call.result = Empty,
        error.type = Empty,
    );
    if let Some(id) = job.call_id {
        span.record("gen_ai.tool.call.id", &**id);
    }
    let _ = guarded(|| {
        if let Some(tool) = job.tools.get(job.name) {
            span.record("gen_ai.tool.description", tool.definition().description());
        }
        Ok(())
    });
    if job.policies.record_content {
        span.record("gen_ai.tool.call.arguments", job.arguments.as_str());
    }
    span
}

/// Writes the outcome of a call to its span, which is the current one.
pub(super) fn record(job: &Job<'_>) {
    let span = Span::current();
    match &job.answer {
        Some(Ok(output)) if job.policies.record_content => {
            span.record("gen_ai.tool.call.result", output.to_text());
        }
        Some(Err(error)) => {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", error.kind().as_str());
        }
        Some(Ok(_)) | None => {}
    }
}
