//! Spans as an exporter sees them: [`RecordedSpan`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// A span or an event, as an exporter would see it.
#[derive(Clone, Debug)]
pub struct RecordedSpan {
    name: String,
    level: Level,
    parent: Option<Box<RecordedSpan>>,
    fields: BTreeMap<String, String>,
}

impl RecordedSpan {
    /// Returns the name: `otel.name` where it is set, else that in the code.
    #[must_use]
    pub fn name(&self) -> &str {
        self.field("otel.name").unwrap_or(&self.name)
    }

    /// Returns the level at which it is recorded.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the parent as it was when this one began.
    #[must_use]
    pub fn parent(&self) -> Option<&Self> {
        self.parent.as_deref()
    }

    /// Returns a field as text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// Asserts that fields have these values.
    ///
    /// # Panics
    ///
    /// Where one has another value, or none.
    #[track_caller]
    pub fn assert_fields(&self, fields: &[(&str, &str)]) {
        for (field, value) in fields {
            assert_eq!(self.field(field), Some(*value), "{field} of {}", self.name());
        }
    }
}

impl RecordedSpan {
    fn new(metadata: &Metadata<'_>, parent: Option<Box<Self>>) -> Self {
        Self { name: metadata.name().to_owned(), level: *metadata.level(), parent, fields: BTreeMap::new() }
    }
}

impl Visit for RecordedSpan {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }
}

/// Records the spans that are closed on this thread, and the events of this project, from DEBUG on.
///
/// For tests on a runtime with one thread.
///
/// ```
/// use opentool_core::testing::SpanRecorder;
/// use opentool_core::{Executor, FnTool};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let host = Executor::new().host(FnTool::new("now", || "noon"));
/// let call = || async { drop(host.call("now", "{}").await) };
/// let recorder = SpanRecorder::start(call()).await;
/// call().await;
/// let (spans, events) = recorder.finish();
/// assert_eq!(spans[0].name(), "execute_tool now");
/// assert_eq!(events.last().unwrap().field("message"), Some("call finished"));
/// # }
/// ```
#[must_use = "spans are recorded until `finish`"]
pub struct SpanRecorder {
    log: Arc<Mutex<SpanLog>>,
    _guard: DefaultGuard,
}

/// The spans in the order in which they were closed, and the events.
type SpanLog = (Vec<RecordedSpan>, Vec<RecordedSpan>);

impl SpanRecorder {
    /// Starts to record, after a run of code that passes the same spans and events.
    ///
    /// Another thread may be the first to reach a span while this recorder is being set, and `tracing` would keep its answer
    /// that no subscriber wants it; after the warm-up all of them are asked again.
    pub async fn start(warm_up: impl Future<Output = ()>) -> Self {
        let log = Arc::<Mutex<SpanLog>>::default();
        let subscriber = tracing_subscriber::registry().with(RecordingLayer(log.clone()));
        let guard = tracing::subscriber::set_default(subscriber);
        warm_up.await;
        tracing::callsite::rebuild_interest_cache();
        *lock(&log) = SpanLog::default();
        Self { log, _guard: guard }
    }

    /// Ends the recording and returns the spans, in the order in which they were closed, and the events.
    #[must_use]
    pub fn finish(self) -> (Vec<RecordedSpan>, Vec<RecordedSpan>) {
        std::mem::take(&mut *lock(&self.log))
    }
}

impl fmt::Debug for SpanRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanRecorder").finish_non_exhaustive()
    }
}

struct RecordingLayer(Arc<Mutex<SpanLog>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for RecordingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut recorded = RecordedSpan::new(attributes.metadata(), recorded(span.parent()));
        attributes.record(&mut recorded);
        span.extensions_mut().insert(recorded);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(recorded) = span.extensions_mut().get_mut::<RecordedSpan>() {
            values.record(recorded);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() <= Level::DEBUG && metadata.target().starts_with("opentool") {
            let mut recorded = RecordedSpan::new(metadata, recorded(context.event_span(event)));
            event.record(&mut recorded);
            lock(&self.0).1.push(recorded);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if let Some(span) = recorded(context.span(&id)) {
            lock(&self.0).0.push(*span);
        }
    }
}

fn recorded<'a, S: LookupSpan<'a>>(span: Option<SpanRef<'a, S>>) -> Option<Box<RecordedSpan>> {
    span?.extensions().get::<RecordedSpan>().cloned().map(Box::new)
}

fn lock(log: &Mutex<SpanLog>) -> MutexGuard<'_, SpanLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}
