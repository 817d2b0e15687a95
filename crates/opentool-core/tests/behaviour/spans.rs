//! One span per outcome, with OpenTelemetry's names.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{
    Ask, BoxFuture, Decision, Executor, ToolCall, ToolContext, ToolError, ToolMetadata, ToolOutput, ToolSource,
    Toolbox, Turn,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Instrument, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use super::{pair, toolbox};

#[derive(Clone, Debug, Default)]
struct Seen {
    name: String,
    /// The parent as it was when this one began.
    parent: Option<Box<Seen>>,
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
        let parent = span.parent().map(|parent| Box::new(parent.extensions().get::<Seen>().unwrap().clone()));
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
    /// The spans of calls.
    fn calls(&self) -> Vec<Seen> {
        self.spans().into_iter().filter(|span| span.name == "execute_tool").collect()
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
    let tools = toolbox([
        FakeTool::new("good").acts(|_, context| {
            let span = tracing::info_span!("inside", call = context.call_id());
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                drop(span);
                let _inside = tracing::info_span!("later", call = context.call_id());
                Ok(ToolOutput::text("the result"))
            }
        }),
        FakeTool::new("fails").fails(ToolError::failed("no")),
    ]);
    let id = |n: usize, name: &str| if n == 0 { format!("id_{name}") } else { format!("id_{name}_{n}") };
    let calls =
        names.iter().enumerate().map(|(n, name)| ToolCall::new(id(n, name), *name, r#"{"secret":1}"#)).collect();
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
        let mut calls = Vec::new();
        for span in inside {
            let parent = span.parent.as_ref().unwrap();
            assert_eq!(
                (parent.name.as_str(), &parent.fields["gen_ai.tool.call.id"]),
                ("execute_tool", &span.fields["call"])
            );
            calls.push(span.fields["call"].as_str());
        }
        calls.sort_unstable();
        assert_eq!(calls, ["id_good", "id_good_2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_call_is_inside_that_of_its_caller() {
    let recorder = Recorder::default();
    let guard = recorder.install().await;
    run(&Executor::new(), &["good", "fails"]).instrument(tracing::info_span!("caller")).await;
    run(&Executor::new(), &["good"]).await;
    drop(guard);
    let parents: Vec<_> = recorder.calls().into_iter().map(|span| span.parent.map(|parent| parent.name)).collect();
    assert_eq!(parents, [Some("caller".to_owned()), Some("caller".to_owned()), None]);
}

/// Runs one call and returns what its only span says of it: `error.type` and `otel.status_code`.
async fn judged(run: impl Future<Output = ()>) -> (Option<String>, Option<String>) {
    let recorder = Recorder::default();
    let guard = recorder.install().await;
    run.await;
    drop(guard);
    let spans = recorder.calls();
    assert_eq!(spans.len(), 1, "{spans:?}");
    (spans[0].fields.get("error.type").cloned(), spans[0].fields.get("otel.status_code").cloned())
}

fn error(kind: &str) -> (Option<String>, Option<String>) {
    (Some(kind.to_owned()), Some("ERROR".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn a_span_says_why_a_call_has_no_result() {
    let tools = toolbox([
        FakeTool::new("denied").with_metadata(ToolMetadata::new().with_approval(true)),
        FakeTool::new("limited").with_metadata(ToolMetadata::new().with_call_limit(0)),
        FakeTool::new("late").hangs().with_metadata(ToolMetadata::new().with_timeout(Duration::from_secs(1))),
        FakeTool::new("panics").panics("ouch"),
        FakeTool::new("picky").with_schema(pair()),
        FakeTool::new("huge").answers("xx").with_metadata(ToolMetadata::new().with_max_result_size(1)),
    ]);
    for (name, kind) in [
        ("denied", "denied"),
        ("limited", "limit"),
        ("late", "timeout"),
        ("panics", "panic"),
        ("picky", "invalid_arguments"),
        ("huge", "invalid_result"),
    ] {
        let call = vec![ToolCall::new("1", name, "{}")];
        let run = async { drop(super::run(&Executor::new(), &tools, call).await) };
        assert_eq!(judged(run).await, error(kind), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_has_a_span_that_says_so_whether_it_ran_or_not() {
    let tools = toolbox([FakeTool::new("hangs").hangs()]);
    for after in [Duration::ZERO, Duration::from_secs(1)] {
        let run = async {
            let (executor, mut turn, context) = (Executor::new(), Turn::new(), ToolContext::new());
            let batch = executor.run(&tools, vec![ToolCall::new("1", "hangs", "")], &mut turn, &context);
            let cancellation = batch.cancellation();
            if after.is_zero() {
                cancellation.cancel();
            }
            futures_util::future::join(batch.finish(), async move {
                tokio::time::sleep(after).await;
                cancellation.cancel();
            })
            .await;
        };
        assert_eq!(judged(run).await, error("cancelled"), "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_call_has_a_span_without_an_error_and_another_when_it_is_resumed() {
    let tools = toolbox([FakeTool::new("careful").with_metadata(ToolMetadata::new().with_approval(true))]);
    let executor = Executor::builder().approval(Ask::with(|_| async { Decision::Suspend })).build();
    let (mut turn, context) = (Turn::new(), ToolContext::new());
    let suspended = async {
        drop(executor.run(&tools, vec![ToolCall::new("1", "careful", "")], &mut turn, &context).finish().await);
    };
    assert_eq!(judged(suspended).await, (None, None));
    turn.decide("1", Decision::Deny("no".into())).unwrap();
    let resumed = async { drop(executor.resume(&tools, &mut turn, &context).finish().await) };
    assert_eq!(judged(resumed).await, error("denied"));
}

#[tokio::test(start_paused = true)]
async fn a_host_whose_source_fails_has_a_span_for_the_call_that_could_not_be_made() {
    struct Gone;
    impl ToolSource for Gone {
        fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
            Box::pin(async { Err(ToolError::unavailable("gone")) })
        }

        fn changes(&self) -> Option<opentool_core::ToolChanges> {
            None
        }
    }
    let host = Executor::new().host(Gone);
    assert_eq!(judged(async { drop(host.call("any", "{}").await) }).await, error("unavailable"));
    let context = ToolContext::new();
    let run = async { drop(host.run(ToolCall::new("1", "any", "{}"), &context).await) };
    assert_eq!(judged(run).await, error("unavailable"));
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
