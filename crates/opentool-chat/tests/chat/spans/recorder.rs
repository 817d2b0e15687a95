//! Keeps every span that was closed, and the DEBUG events.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// A span or an event, as an exporter would see it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) parent: Option<String>,
    fields: BTreeMap<String, String>,
}

impl Seen {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    pub(super) fn name(&self) -> &str {
        self.field("otel.name").unwrap_or_default()
    }

    pub(super) fn expect(&self, fields: &[(&str, &str)]) {
        for (field, value) in fields {
            assert_eq!(self.field(field), Some(*value), "{field} of {}", self.name());
        }
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }
}

#[derive(Clone, Default)]
struct Recorder {
    spans: Arc<Mutex<Vec<Seen>>>,
    events: Arc<Mutex<Vec<Seen>>>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let parent = span.parent().map(|parent| parent.extensions().get::<Seen>().unwrap().name().to_owned());
        let mut seen = Seen { parent, ..Seen::default() };
        attributes.record(&mut seen);
        span.extensions_mut().insert(seen);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        values.record(context.span(id).unwrap().extensions_mut().get_mut::<Seen>().unwrap());
    }
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let parent =
            context.event_span(event).map(|parent| parent.extensions().get::<Seen>().unwrap().name().to_owned());
        let mut seen = Seen { parent, ..Seen::default() };
        event.record(&mut seen);
        if *event.metadata().level() == Level::DEBUG && event.metadata().target().starts_with("opentool::chat") {
            self.events.lock().unwrap().push(seen);
        }
    }
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let seen = context.span(&id).unwrap().extensions().get::<Seen>().unwrap().clone();
        self.spans.lock().unwrap().push(seen);
    }
}

/// What a scene left behind.
#[derive(Debug)]
pub(super) struct Recording {
    /// In the order in which they were closed.
    pub(super) spans: Vec<Seen>,
    pub(super) events: Vec<Seen>,
}

impl Recording {
    /// Records a scene, which is played twice.
    pub(super) async fn of<F: Future<Output = ()>>(scene: impl Fn() -> F) -> Self {
        let recorder = Recorder::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(recorder.clone()));
        // A test on another thread may be the first to pass a place that traces, at the very moment at which this
        // subscriber is set, and that callsite would keep its answer: so register them all, then rebuild the cache.
        scene().await;
        tracing::callsite::rebuild_interest_cache();
        recorder.spans.lock().unwrap().clear();
        recorder.events.lock().unwrap().clear();
        scene().await;
        drop(guard);
        let spans = recorder.spans.lock().unwrap().clone();
        let events = recorder.events.lock().unwrap().clone();
        Self { spans, events }
    }

    /// The names of all spans, each behind the name of its parent, in alphabetical order.
    pub(super) fn tree(&self) -> Vec<String> {
        let path = |span: &Seen| match &span.parent {
            Some(parent) => format!("{parent} > {}", span.name()),
            None => span.name().to_owned(),
        };
        let mut tree: Vec<_> = self.spans.iter().map(path).collect();
        tree.sort();
        tree
    }

    /// All spans of a name, in the order in which they were closed.
    pub(super) fn named(&self, name: &str) -> Vec<&Seen> {
        self.spans.iter().filter(|span| span.name() == name).collect()
    }

    /// The only span of a name.
    pub(super) fn only(&self, name: &str) -> &Seen {
        let named = self.named(name);
        assert_eq!(named.len(), 1, "{name} in {:?}", self.tree());
        named[0]
    }
}
