//! Our spans between those of the caller and those of the servers that we call.

use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
};
use opentool::TraceContext;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Makes the current span a child of the one that a request brought, and returns what to pass on.
pub(crate) fn join_trace(incoming: Option<&TraceContext>) -> Option<TraceContext> {
    if let Some(parent) = incoming.and_then(remote) {
        // It fails only where the span is not recorded, which then need not have a parent.
        let _ = Span::current().set_parent(parent);
    }
    current_trace()
}

/// The current span, as the trace context for a server that is called from it.
pub(crate) fn current_trace() -> Option<TraceContext> {
    let context = Span::current().context();
    let span = context.span();
    let span = span.span_context();
    if !span.is_valid() {
        return None;
    }
    let flags = span.trace_flags() & TraceFlags::SAMPLED;
    let trace = TraceContext::parse(&format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), flags.to_u8()))?;
    Some(trace.with_tracestate(span.trace_state().header()))
}

fn remote(trace: &TraceContext) -> Option<Context> {
    let flags = if trace.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let state = trace.tracestate().and_then(|state| state.parse::<TraceState>().ok()).unwrap_or_default();
    let trace_id = TraceId::from_hex(trace.trace_id()).ok()?;
    let parent_id = SpanId::from_hex(trace.parent_id()).ok()?;
    Some(Context::new().with_remote_span_context(SpanContext::new(trace_id, parent_id, flags, true, state)))
}
