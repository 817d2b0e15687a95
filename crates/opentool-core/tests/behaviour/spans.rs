//! One span per outcome, with OpenTelemetry's names.

use std::time::Duration;

use opentool_core::testing::{FakeTool, RecordedSpan, SpanRecorder};
use opentool_core::{
    Ask, BoxFuture, Decision, Executor, ToolCall, ToolContext, ToolError, ToolMetadata, ToolOutput, ToolSource,
    Toolbox, Turn,
};
use tracing::{Instrument, Level};

use super::{pair, toolbox};

async fn start_recording() -> SpanRecorder {
    SpanRecorder::start(run(&Executor::new(), &["good", "fails", "nowhere"])).await
}

/// The spans of calls.
fn calls(spans: Vec<RecordedSpan>) -> Vec<RecordedSpan> {
    spans.into_iter().filter(|span| span.name().starts_with("execute_tool")).collect()
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
    let recorder = start_recording().await;
    run(&Executor::new(), &["good"]).await;
    let span = &calls(recorder.finish().0)[0];
    let field = |name: &str| span.field(name);
    assert_eq!(field("otel.name"), Some("execute_tool good"));
    assert_eq!(field("gen_ai.operation.name"), Some("execute_tool"));
    assert_eq!(field("gen_ai.tool.name"), Some("good"));
    assert_eq!(field("gen_ai.tool.type"), Some("function"));
    assert_eq!(field("gen_ai.tool.call.id"), Some("id_good"));
    assert_eq!(field("gen_ai.tool.description"), Some("good"));
    assert_eq!((field("error.type"), field("otel.status_code")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn errors_and_unknown_tools_are_in_their_spans() {
    let recorder = start_recording().await;
    run(&Executor::new(), &["fails", "nowhere"]).await;
    let spans = calls(recorder.finish().0);
    let errors: Vec<_> = spans.iter().map(|span| (span.field("gen_ai.tool.name"), span.field("error.type"))).collect();
    assert_eq!(errors, [(Some("fails"), Some("failed")), (Some("nowhere"), Some("unknown_tool"))]);
}

#[tokio::test(start_paused = true)]
async fn arguments_and_results_are_in_spans_only_by_opt_in() {
    for (record, arguments, result) in [(false, None, None), (true, Some(r#"{"secret":1}"#), Some("the result"))] {
        let recorder = start_recording().await;
        run(&Executor::builder().record_content(record).build(), &["good"]).await;
        let (spans, _) = recorder.finish();
        let span = &calls(spans.clone())[0];
        assert_eq!(span.field("gen_ai.tool.call.arguments"), arguments);
        assert_eq!(span.field("gen_ai.tool.call.result"), result);
        if !record {
            assert!(!format!("{spans:?}").contains("secret"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_does_is_inside_the_span_of_its_own_call_in_concurrent_runs() {
    let recorder = start_recording().await;
    run(&Executor::new(), &["good", "fails", "good"]).await;
    let (spans, _) = recorder.finish();
    for name in ["inside", "later"] {
        let inside: Vec<_> = spans.iter().filter(|span| span.name() == name).collect();
        let mut calls = Vec::new();
        for span in inside {
            let (parent, call) = (span.parent().unwrap(), span.field("call").unwrap());
            assert_eq!((parent.name(), parent.field("gen_ai.tool.call.id")), ("execute_tool good", Some(call)));
            calls.push(call);
        }
        calls.sort_unstable();
        assert_eq!(calls, ["id_good", "id_good_2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_call_is_inside_that_of_its_caller() {
    let recorder = start_recording().await;
    run(&Executor::new(), &["good", "fails"]).instrument(tracing::info_span!("caller")).await;
    run(&Executor::new(), &["good"]).await;
    let spans = calls(recorder.finish().0);
    let parents: Vec<_> = spans.iter().map(|span| span.parent().map(RecordedSpan::name)).collect();
    assert_eq!(parents, [Some("caller"), Some("caller"), None]);
}

/// Runs one call and returns what its only span says of it: `error.type` and `otel.status_code`.
async fn recorded(run: impl Future<Output = ()>) -> (Option<String>, Option<String>) {
    let recorder = start_recording().await;
    run.await;
    let spans = calls(recorder.finish().0);
    assert_eq!(spans.len(), 1, "{spans:?}");
    let field = |name| spans[0].field(name).map(str::to_owned);
    (field("error.type"), field("otel.status_code"))
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
        assert_eq!(recorded(run).await, error(kind), "{name}");
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
        assert_eq!(recorded(run).await, error("cancelled"), "{after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_call_has_a_second_span_when_it_is_resumed() {
    let tools = toolbox([FakeTool::new("careful").with_metadata(ToolMetadata::new().with_approval(true))]);
    let executor = Executor::builder().approval(Ask::with(|_| async { Decision::Suspend })).build();
    let (mut turn, context) = (Turn::new(), ToolContext::new());
    let suspended = async {
        drop(executor.run(&tools, vec![ToolCall::new("1", "careful", "")], &mut turn, &context).finish().await);
    };
    assert_eq!(recorded(suspended).await, (None, None));
    turn.decide("1", Decision::Deny("no".into())).unwrap();
    let resumed = async { drop(executor.resume(&tools, &mut turn, &context).finish().await) };
    assert_eq!(recorded(resumed).await, error("denied"));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_source_fails_has_a_span() {
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
    assert_eq!(recorded(async { drop(host.call("any", "{}").await) }).await, error("unavailable"));
    let context = ToolContext::new();
    let run = async { drop(host.run(ToolCall::new("1", "any", "{}"), &context).await) };
    assert_eq!(recorded(run).await, error("unavailable"));
    let watch = async { drop(host.watch(ToolCall::new("1", "any", "{}"), &context).await.finish().await) };
    assert_eq!(recorded(watch).await, error("unavailable"));
}

#[tokio::test(start_paused = true)]
async fn the_event_of_a_failure_has_the_detail_that_the_model_does_not_see() {
    let recorder = start_recording().await;
    let failing = FakeTool::new("fails")
        .acts(|_, _| async { Err::<ToolOutput, _>(ToolError::failed("no stock").with_detail("replica 3 is behind")) });
    let panicking = FakeTool::new("panics").panics("index 9");
    let host = Executor::new().host(Toolbox::from_tools([failing, panicking]).unwrap());
    for name in ["fails", "panics"] {
        host.call(name, "").await.unwrap_err();
    }
    let (_, events) = recorder.finish();
    let failures = events.iter().filter(|event| event.field("message") == Some("call failed"));
    let failures: Vec<_> = failures.map(|event| (event.level(), event.field("detail"))).collect();
    assert_eq!(failures, [(Level::DEBUG, Some("replica 3 is behind")), (Level::ERROR, Some("index 9"))]);
}

#[tokio::test(start_paused = true)]
async fn every_main_step_is_a_debug_event() {
    let recorder = start_recording().await;
    run(&Executor::new(), &["good"]).await;
    run(&Executor::new(), &["nowhere"]).await;
    let (_, events) = recorder.finish();
    let events: Vec<_> = events.iter().filter_map(|event| event.field("message")).collect();
    assert_eq!(events, ["arguments checked", "call started", "call finished", "tool unknown", "call failed"]);
}
