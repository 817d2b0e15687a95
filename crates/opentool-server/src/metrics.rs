//! What the server counts, and the page that Prometheus reads.
//!
//! A call costs a lookup and a few relaxed additions; no lock is taken for a tool that is known at the start.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::StatusCode;
use opentool_core::ErrorKind;

/// The label of calls whose tool does not exist, so that callers cannot make up label values.
pub(crate) const UNKNOWN: &str = "_unknown";

/// How many tools that were not known at the start get a label of their own.
const MAX_LATE_TOOLS: usize = 1024;

const OUTCOMES: [&str; 12] = [
    "ok",
    "unknown_tool",
    "invalid_arguments",
    "denied",
    "limit",
    "timeout",
    "cancelled",
    "panic",
    "invalid_result",
    "unavailable",
    "failed",
    "uncertain",
];

/// The index of an outcome in [`OUTCOMES`]; `None` is success.
fn outcome_index(outcome: Option<ErrorKind>) -> usize {
    match outcome {
        None => 0,
        Some(ErrorKind::UnknownTool) => 1,
        Some(ErrorKind::InvalidArguments) => 2,
        Some(ErrorKind::Denied) => 3,
        Some(ErrorKind::Limit) => 4,
        Some(ErrorKind::Timeout) => 5,
        Some(ErrorKind::Cancelled) => 6,
        Some(ErrorKind::Panic) => 7,
        Some(ErrorKind::InvalidResult) => 8,
        Some(ErrorKind::Unavailable) => 9,
        Some(ErrorKind::Uncertain) => 11,
        Some(_) => 10,
    }
}

/// The upper bounds of the histogram: microseconds, and as Prometheus writes them.
const BUCKETS: [(u64, &str); 15] = [
    (100, "0.0001"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
];

/// The statuses that the server answers with.
const STATUSES: [u16; 16] = [200, 202, 204, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 499, 500, 503];

/// What is counted of one tool.
#[derive(Default)]
struct ToolCounts {
    outcomes: [AtomicU64; OUTCOMES.len()],
    /// The last one is everything above the bounds.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanoseconds: AtomicU64,
}

impl ToolCounts {
    fn record(&self, outcome: Option<ErrorKind>, took: Duration) {
        self.outcomes[outcome_index(outcome)].fetch_add(1, Relaxed);
        let micros = took.as_micros() as u64;
        let bucket = BUCKETS.iter().position(|(bound, _)| micros <= *bound).unwrap_or(BUCKETS.len());
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(took.as_nanos() as u64, Relaxed);
    }
}

/// Names are few and bounded, so a quick hash will do.
type ByName<T> = HashMap<Arc<str>, T, foldhash::fast::RandomState>;

/// Everything that is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    /// The tools that were known at the start.
    known: ByName<ToolCounts>,
    /// Those of sources that are asked per request.
    late: RwLock<ByName<Arc<ToolCounts>>>,
    unknown: ToolCounts,
    in_flight: AtomicUsize,
    statuses: [AtomicU64; STATUSES.len() + 1],
    connections: AtomicUsize,
    evicted: AtomicU64,
    refused: AtomicU64,
}

/// A call in flight, counted until this is dropped.
pub(crate) struct InFlight(Arc<Metrics>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

impl Metrics {
    pub(crate) fn new<'a>(tools: impl Iterator<Item = &'a str>) -> Self {
        Self { known: tools.map(|name| (name.into(), ToolCounts::default())).collect(), ..Self::default() }
    }

    /// Counts one more call in flight, unless there are as many as there may be.
    pub(crate) fn enter(self: &Arc<Self>, limit: usize) -> Option<InFlight> {
        let guard = InFlight(self.clone());
        (self.in_flight.fetch_add(1, Relaxed) < limit).then_some(guard)
    }

    /// Counts a call; `outcome` is why it failed.
    pub(crate) fn record(&self, tool: &str, outcome: Option<ErrorKind>, took: Duration) {
        if let Some(counts) = self.known.get(tool) {
            return counts.record(outcome, took);
        }
        if outcome == Some(ErrorKind::UnknownTool) {
            return self.unknown.record(outcome, took);
        }
        let late = self.late.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(counts) = late.get(tool) {
            return counts.record(outcome, took);
        }
        // Only a call that reached a tool proves that there is one of that name.
        let shown = !matches!(outcome, Some(ErrorKind::Cancelled | ErrorKind::Unavailable));
        if !shown || late.len() >= MAX_LATE_TOOLS || !opentool_core::is_tool_name(tool) {
            return self.unknown.record(outcome, took);
        }
        drop(late);
        let mut late = self.late.write().unwrap_or_else(PoisonError::into_inner);
        late.entry(tool.into()).or_default().record(outcome, took);
    }

    /// Returns the name of a tool as a log may show it: its own only if there is such a tool.
    pub(crate) fn label<'a>(&self, tool: &'a str) -> &'a str {
        let known = self.known.contains_key(tool)
            || self.late.read().unwrap_or_else(PoisonError::into_inner).contains_key(tool);
        if known { tool } else { UNKNOWN }
    }

    /// Counts a response.
    pub(crate) fn count_response(&self, status: StatusCode) {
        let index = STATUSES.iter().position(|known| *known == status.as_u16()).unwrap_or(STATUSES.len());
        self.statuses[index].fetch_add(1, Relaxed);
    }

    pub(crate) fn connection_opened(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.fetch_sub(1, Relaxed);
    }

    /// Counts idle connections that were closed for new ones.
    pub(crate) fn connections_evicted(&self, count: usize) {
        self.evicted.fetch_add(count as u64, Relaxed);
    }

    pub(crate) fn connection_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Writes everything in the text format of Prometheus.
    pub(crate) fn write(&self, gauges: &Gauges) -> String {
        let mut out = String::with_capacity(4096);
        let late = self.late.read().unwrap_or_else(PoisonError::into_inner);
        let mut tools: Vec<(&str, &ToolCounts)> = self
            .known
            .iter()
            .map(|(name, counts)| (&**name, counts))
            .chain(late.iter().map(|(name, counts)| (&**name, &**counts)))
            .collect();
        tools.sort_unstable_by_key(|(name, _)| *name);
        tools.push((UNKNOWN, &self.unknown));
        // A tool that was never called would only fill the page.
        tools.retain(|(_, counts)| counts.buckets.iter().any(|bucket| bucket.load(Relaxed) > 0));

        header(&mut out, "opentool_calls_total", "counter", "Calls by tool and outcome: ok, or why the call failed.");
        for (tool, counts) in &tools {
            for (outcome, count) in OUTCOMES.iter().zip(&counts.outcomes) {
                let count = count.load(Relaxed);
                if count > 0 || *outcome == "ok" {
                    line(
                        &mut out,
                        format_args!("opentool_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}"),
                    );
                }
            }
        }
        header(&mut out, "opentool_call_duration_seconds", "histogram", "How long calls took.");
        for (tool, counts) in &tools {
            let mut sum = 0;
            for (index, bucket) in counts.buckets.iter().enumerate() {
                sum += bucket.load(Relaxed);
                let bound = BUCKETS.get(index).map_or("+Inf", |(_, text)| text);
                line(
                    &mut out,
                    format_args!("opentool_call_duration_seconds_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {sum}"),
                );
            }
            let seconds = counts.nanoseconds.load(Relaxed) as f64 / 1e9;
            line(&mut out, format_args!("opentool_call_duration_seconds_sum{{tool=\"{tool}\"}} {seconds}"));
            line(&mut out, format_args!("opentool_call_duration_seconds_count{{tool=\"{tool}\"}} {sum}"));
        }
        header(
            &mut out,
            "opentool_http_responses_total",
            "counter",
            "HTTP responses by status; every answer to a readable call is 200.",
        );
        for (index, count) in self.statuses.iter().enumerate() {
            let count = count.load(Relaxed);
            if count > 0 {
                match STATUSES.get(index) {
                    Some(status) => {
                        line(&mut out, format_args!("opentool_http_responses_total{{status=\"{status}\"}} {count}"))
                    }
                    None => line(&mut out, format_args!("opentool_http_responses_total{{status=\"other\"}} {count}")),
                }
            }
        }
        let rows = [
            ("opentool_calls_in_flight", "Calls that run now.", self.in_flight.load(Relaxed)),
            (
                "opentool_blocking_threads_busy",
                "Threads that run tools off the async threads now, those of calls already given up included.",
                gauges.blocking_threads,
            ),
            ("opentool_buffered_bytes", "Bytes of request bodies held now.", gauges.buffered_bytes),
            ("opentool_connections", "Connections open now.", self.connections.load(Relaxed)),
            ("opentool_draining", "Whether the server is about to stop.", usize::from(gauges.draining)),
        ];
        for (name, help, value) in rows {
            header(&mut out, name, "gauge", help);
            line(&mut out, format_args!("{name} {value}"));
        }
        if let Some(bytes) = gauges.resident_bytes {
            header(&mut out, "process_resident_memory_bytes", "gauge", "Resident memory of the process.");
            line(&mut out, format_args!("process_resident_memory_bytes {bytes}"));
        }
        if !gauges.sources.is_empty() {
            let help = "Whether a source of tools was there when it was last asked.";
            header(&mut out, "opentool_source_up", "gauge", help);
        }
        for (source, is_up) in &gauges.sources {
            let source = source.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            line(&mut out, format_args!("opentool_source_up{{source=\"{source}\"}} {}", u8::from(*is_up)));
        }
        let counters = [
            ("opentool_connections_evicted_total", "Idle connections closed for new ones.", &self.evicted),
            ("opentool_connections_refused_total", "Connections refused because all others were busy.", &self.refused),
        ];
        for (name, help, value) in counters {
            header(&mut out, name, "counter", help);
            line(&mut out, format_args!("{name} {}", value.load(Relaxed)));
        }
        out
    }
}

/// Values of other parts of the server that stand on the same page.
pub(crate) struct Gauges {
    pub(crate) blocking_threads: usize,
    pub(crate) buffered_bytes: usize,
    pub(crate) draining: bool,
    /// The memory of the process, where it is known.
    pub(crate) resident_bytes: Option<usize>,
    /// The sources of the tools, and whether each is up.
    pub(crate) sources: Vec<(Arc<str>, bool)>,
}

fn header(out: &mut String, name: &str, kind: &str, help: &str) {
    line(out, format_args!("# HELP {name} {help}"));
    line(out, format_args!("# TYPE {name} {kind}"));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_the_word_of_its_kind() {
        for kind in [
            ErrorKind::UnknownTool,
            ErrorKind::InvalidArguments,
            ErrorKind::Denied,
            ErrorKind::Limit,
            ErrorKind::Timeout,
            ErrorKind::Cancelled,
            ErrorKind::Panic,
            ErrorKind::InvalidResult,
            ErrorKind::Unavailable,
            ErrorKind::Failed,
            ErrorKind::Uncertain,
        ] {
            assert_eq!(OUTCOMES[outcome_index(Some(kind))], kind.as_str());
        }
    }

    #[test]
    fn made_up_names_share_one_label() {
        let metrics = Metrics::new(["add"].into_iter());
        for index in 0..5000 {
            let name = format!("made_up_{index}");
            metrics.record(&name, Some(ErrorKind::UnknownTool), Duration::ZERO);
            metrics.record(&name, None, Duration::ZERO);
        }
        let gauges =
            Gauges { blocking_threads: 0, buffered_bytes: 0, draining: false, resident_bytes: None, sources: vec![] };
        let page = metrics.write(&gauges);
        assert!(page.contains(r#"opentool_calls_total{tool="_unknown",outcome="unknown_tool"} 5000"#));
        assert_eq!(page.matches("outcome=\"ok\"").count(), MAX_LATE_TOOLS + 1);
    }
}
