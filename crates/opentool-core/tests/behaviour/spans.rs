//! One span per outcome, with OpenTelemetry's names.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, ToolCall, ToolContext, ToolError, ToolOutput, Turn};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use super::toolbox;

#[derive(Clone, Debug, Default)]
struct Seen {
    name: String,
    parent: Option<String>,
    fields: BTreeMap<String, String>,
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
        let parent = span.parent().map(|parent| parent.extensions().get::<Seen>().unwrap().name.clone());
        let mut seen = Seen { name: span.name().to_owned(), parent, ..Seen::default() };
        attributes.record(&mut seen);
        span.extensions_mut().insert(seen);
    }
    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        values.record(context.span(id).unwrap().extensions_mut().get_mut::<Seen>().unwrap());
    }
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut seen = Seen::default();
        event.record(&mut seen);
        if *event.metadata().level() == Level::DEBUG && event.metadata().target().starts_with("opentool") {
            self.events.lock().unwrap().push(seen.fields["message"].clone());
        }
    }
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let seen = context.span(&id).unwrap().extensions().get::<Seen>().unwrap().clone();
        self.spans.lock().unwrap().push(seen);
    }
}

impl Recorder {
    fn spans(&self) -> Vec<Seen> {
        self.spans.lock().unwrap().clone()
    }
    async fn install(&self) -> tracing::subscriber::DefaultGuard {
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(self.clone()));
        // A test on another thread may be the first to pass a place that traces, at the very moment at which this
        // subscriber comes, and nobody would tell that place of it: so pass them all, then ask them all again.
        run(&Executor::new(), &["good", "fails", "nowhere"]).await;
        tracing::callsite::rebuild_interest_cache();
        self.spans.lock().unwrap().clear();
        self.events.lock().unwrap().clear();
        guard
    }
}

async fn run(executor: &Executor, names: &[&str]) {
    let inner = || tracing::info_span!("inside");
    let tools = toolbox([
        FakeTool::new("good").acts(move |_, _| {
            let span = inner();
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                drop(span);
                let _inside = tracing::info_span!("later");
                Ok(ToolOutput::text("the result"))
            }
        }),
        FakeTool::new("fails").fails(ToolError::failed("no")),
    ]);
    let calls = names.iter().map(|name| ToolCall::new(format!("id_{name}"), *name, r#"{"secret":1}"#)).collect();
    executor.run(&tools, calls, &mut Turn::new(), &ToolContext::new()).finish().await;
}

#[tokio::test(start_paused = true)]
async fn every_outcome_has_a_span_with_the_names_of_opentelemetry() {
    let recorder = Recorder::default();
    let guard = recorder.install().await;
    run(&Executor::new(), &["good"]).await;
    drop(guard);
    let spans = recorder.spans();
    let span = spans.iter().find(|span| span.name == "execute_tool").unwrap();
    let field = |name: &str| span.fields.get(name).map(String::as_str);
    assert_eq!(field("otel.name"), Some("execute_tool good"));
    assert_eq!(field("gen_ai.operation.name"), Some("execute_tool"));
    assert_eq!(field("gen_ai.tool.name"), Some("good"));
    assert_eq!(field("gen_ai.tool.type"), Some("function"));
    assert_eq!(field("gen_ai.tool.call.id"), Some("id_good"));
    assert_eq!(field("gen_ai.tool.description"), Some("good"));
    assert_eq!((field("error.type"), field("otel.status_code")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_and_an_error_told_to_the_model_have_spans_that_say_so() {
    let recorder = Recorder::default();
    let guard = recorder.install().await;
    run(&Executor::new(), &["fails", "nowhere"]).await;
    drop(guard);
    let errors: Vec<_> = recorder
        .spans()
        .into_iter()
        .filter(|span| span.name == "execute_tool")
        .map(|span| (span.fields["gen_ai.tool.name"].clone(), span.fields["error.type"].clone()))
        .collect();
    assert_eq!(errors, [("fails".into(), "failed".into()), ("nowhere".into(), "unknown_tool".into())]);
}

#[tokio::test(start_paused = true)]
async fn arguments_and_results_are_in_spans_only_by_opt_in() {
    for (record, arguments, result) in [(false, None, None), (true, Some(r#"{"secret":1}"#), Some("the result"))] {
        let recorder = Recorder::default();
        let guard = recorder.install().await;
        run(&Executor::builder().record_content(record).build(), &["good"]).await;
        drop(guard);
        let spans = recorder.spans();
        let span = spans.iter().find(|span| span.name == "execute_tool").unwrap();
        assert_eq!(span.fields.get("gen_ai.tool.call.arguments").map(String::as_str), arguments);
        assert_eq!(span.fields.get("gen_ai.tool.call.result").map(String::as_str), result);
        if !record {
            assert!(!format!("{spans:?}").contains("secret"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_does_is_inside_the_span_of_its_own_call_in_concurrent_runs() {
    let recorder = Recorder::default();
    let guard = recorder.install().await;
    run(&Executor::new(), &["good", "fails", "good"]).await;
    drop(guard);
    let spans = recorder.spans();
    for name in ["inside", "later"] {
        let inside: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
        assert_eq!(inside.len(), 2);
        assert!(inside.iter().all(|span| span.parent.as_deref() == Some("execute_tool")));
    }
}

#[tokio::test(start_paused = true)]
async fn every_main_step_is_a_debug_event() {
    let recorder = Recorder::default();
    let guard = recorder.install().await;
    run(&Executor::new(), &["good"]).await;
    run(&Executor::new(), &["nowhere"]).await;
    drop(guard);
    let events = recorder.events.lock().unwrap().clone();
    assert_eq!(events, ["arguments checked", "call started", "call finished", "tool unknown", "call failed"]);
}
