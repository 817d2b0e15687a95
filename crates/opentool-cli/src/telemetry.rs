//! What an operator sees: logs on standard error, and spans at a collector.

mod export;
mod trace;

pub(crate) use self::{
    export::Export,
    trace::{current_trace, join_trace},
};

use std::io::IsTerminal as _;

use clap::ValueEnum;
use tracing_subscriber::{
    EnvFilter, Layer as _, Registry, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::failure::Failure;

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people: fields as `name=value`
    #[default]
    Text,
    /// For machines: one JSON object a line
    Json,
}

/// Starts to log and, where the environment asks for it, to export; what is exported is flushed by [`Export::finish`].
pub(crate) fn start(verbosity: u8, format: LogFormat, export: bool) -> Result<(), Failure> {
    let logs = fmt::layer::<Registry>().with_writer(std::io::stderr).log_internal_errors(false);
    let logs = match format {
        LogFormat::Text => logs.with_ansi(colours()).boxed(),
        LogFormat::Json => logs.json().flatten_event(true).with_ansi(false).boxed(),
    };
    let logs = logs.with_filter(filter(verbosity)?);
    let spans = if export { Export::start()? } else { None };
    let spans = spans.map(|export| {
        // The exporter's own words must not become spans, or there would be no end of them.
        let ours = Targets::new().with_target("opentool", tracing::Level::INFO);
        tracing_opentelemetry::layer()
            .with_tracer(export.tracer())
            // A span that was activated can no longer be given the parent that its request brought.
            .with_context_activation(false)
            .with_tracked_inactivity(false)
            .with_location(false)
            .with_threads(false)
            .with_filter(ours)
    });
    let started = tracing_subscriber::registry().with(logs).with(spans).try_init();
    started.map_err(|error| Failure::usage(format!("logs cannot be written: {error}")))
}

/// What is logged: what `RUST_LOG` says, otherwise as much as there are `-v`.
fn filter(verbosity: u8) -> Result<EnvFilter, Failure> {
    let given = std::env::var("RUST_LOG").ok().filter(|directives| !directives.trim().is_empty());
    let directives = match (&given, verbosity) {
        (Some(directives), _) => directives.as_str(),
        // What the MCP library says is worded again, in the error that follows.
        (None, 0) => "warn,rmcp=off",
        (None, 1) => "warn,opentool=debug",
        (None, _) => "debug,opentool=trace",
    };
    EnvFilter::try_new(directives)
        .map_err(|error| Failure::usage(format!("RUST_LOG is `{directives}`, which is no filter: {error}")))
}

fn colours() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !set("NO_COLOR")
}
