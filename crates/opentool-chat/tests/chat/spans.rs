//! Row "spans": one for the turn, one for each call as its child, and content only where it is asked for.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatError, ChatModel, ChatOptions, InProcessMemory, Usage};
use opentool_core::testing::FakeTool;
use opentool_core::{ToolError, Toolbox};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::support::Mode;

#[derive(Clone, Debug, Default)]
struct Seen {
    parent: Option<String>,
    fields: BTreeMap<String, String>,
}

impl Seen {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
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

/// Keeps every span that was closed, and the DEBUG events.
#[derive(Clone, Default)]
struct Recorder {
    spans: Arc<Mutex<Vec<Seen>>>,
    events: Arc<Mutex<Vec<String>>>,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let name = |seen: &Seen| seen.field("otel.name").unwrap_or_default().to_owned();
        let parent = span.parent().map(|parent| name(parent.extensions().get::<Seen>().unwrap()));
        let mut seen = Seen { parent, ..Seen::default() };
        attributes.record(&mut seen);
        span.extensions_mut().insert(seen);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        values.record(context.span(id).unwrap().extensions_mut().get_mut::<Seen>().unwrap());
    }
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut seen = Seen::default();
        event.record(&mut seen);
        if *event.metadata().level() == Level::DEBUG && event.metadata().target().starts_with("opentool::chat") {
            self.events.lock().unwrap().push(seen.fields["message"].clone());
        }
    }
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let seen = context.span(&id).unwrap().extensions().get::<Seen>().unwrap().clone();
        self.spans.lock().unwrap().push(seen);
    }
}

impl Recorder {
    /// Records what a turn leaves behind.
    async fn record(record_content: bool, mode: Mode) -> (Vec<Seen>, Vec<String>) {
        let recorder = Self::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(recorder.clone()));
        // A test on another thread may be the first to pass a place that traces, at the very moment at which this
        // subscriber comes, and nobody would tell that place of it: so pass them all, then ask them all again.
        turns(record_content, mode).await;
        tracing::callsite::rebuild_interest_cache();
        recorder.spans.lock().unwrap().clear();
        recorder.events.lock().unwrap().clear();
        turns(record_content, mode).await;
        drop(guard);
        let spans = recorder.spans.lock().unwrap().clone();
        let events = recorder.events.lock().unwrap().clone();
        (spans, events)
    }
}

/// One turn that succeeds, one that fails.
async fn turns(record_content: bool, mode: Mode) {
    let script = ScriptedModel::new([
        Reply::call("good", r#"{"secret":1}"#)
            .and_call("bad", "{}")
            .and_call("nowhere", "{}")
            .with_usage(Usage::new(10, 1)),
        Reply::text("the answer").with_usage(Usage::new(20, 2)),
        Reply::error(ChatError::refused("scripted", 500, "oops")),
    ]);
    let tools = Toolbox::of([
        FakeTool::new("good").answers("the result"),
        FakeTool::new("bad").fails(ToolError::failed("no luck")),
    ]);
    let model = ChatModel::builder(script)
        .default_options(ChatOptions::new().with_model("large").with_temperature(0.5).with_max_tokens(9))
        .record_content(record_content)
        .build();
    let client = ChatClient::builder(model).memory(InProcessMemory::new()).default_tools(tools.unwrap()).build();
    mode.answer(client.prompt("the question").conversation("ann")).await;
    mode.error(client.prompt("the question").conversation("ann")).await;
}

async fn a_turn_has_a_span_whose_children_are_its_calls(mode: Mode) {
    let (spans, events) = Recorder::record(false, mode).await;
    let names: Vec<_> = spans.iter().map(|span| span.field("otel.name").unwrap()).collect();
    assert_eq!(spans.len(), 5, "{names:?}");
    for name in ["execute_tool good", "execute_tool bad", "execute_tool nowhere"] {
        let span = spans.iter().find(|span| span.field("otel.name") == Some(name)).unwrap();
        assert_eq!(span.parent.as_deref(), Some("chat large"), "{name}");
        let error = ["bad", "nowhere"].iter().any(|bad| name.ends_with(bad));
        assert_eq!(span.field("error.type").is_some(), error, "an error told to the model is an error of the span");
    }
    let chats: Vec<_> = spans.iter().filter(|span| span.field("otel.name") == Some("chat large")).collect();
    let expected = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "scripted"),
        ("gen_ai.request.model", "large"),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.request.max_tokens", "9"),
        ("gen_ai.conversation.id", "ann"),
        ("gen_ai.usage.input_tokens", "30"),
        ("gen_ai.usage.output_tokens", "3"),
        ("gen_ai.response.finish_reasons", "stop"),
    ];
    for (field, value) in expected {
        assert_eq!(chats[0].field(field), Some(value), "{field}");
    }
    assert_eq!((chats[0].field("error.type"), chats[1].field("error.type")), (None, Some("refused")));
    assert_eq!(chats[1].field("otel.status_code"), Some("ERROR"));
    for step in ["resolved the tools of the request", "asking the model", "the model answered"] {
        assert!(events.iter().any(|event| event == step), "{step} in {events:?}");
    }
}

async fn content_is_in_spans_only_where_it_is_asked_for(mode: Mode) {
    for record_content in [false, true] {
        let (spans, events) = Recorder::record(record_content, mode).await;
        let everything = format!("{spans:?} {events:?}");
        // The second turn is sent what the first one said, its calls and their answers included.
        for content in ["the question", "the answer", "secret", "the result", "no luck"] {
            assert_eq!(everything.contains(content), record_content, "{content}");
        }
    }
}

in_both_modes!(a_turn_has_a_span_whose_children_are_its_calls, content_is_in_spans_only_where_it_is_asked_for);
