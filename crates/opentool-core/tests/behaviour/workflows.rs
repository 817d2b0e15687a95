//! A workflow is a tool, and its steps are calls like any others.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool, Probe};
use opentool_core::{
    ErrorKind, ErrorSeverity, Executor, FnTool, Limits, Tool, ToolCall, ToolContext, ToolError, ToolEvent,
    ToolMetadata, ToolOutput, Toolbox, Workflow,
};
use opentool_spec::OpenWorkflow;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The example of the format's own shape.
const EXAMPLE: &str = r##"{"openworkflow": "1.0.0", "info": {"title": "Store and look", "version": "1.0.0"}, "workflow": {
  "start": {"function": "count", "arguments": {}, "results": {"count": 0}, "next": "pause"},
  "pause": {"function": "sleep", "arguments": {"milliseconds": 50}, "results": {}, "next": "step2"},
  "step2": {"function": "create", "arguments": {"key": "a"}, "results": {"id": 0}, "next": "step3"},
  "step3": {"function": "read", "arguments": {"id": "#/step2/results/id"}, "results": {"value": ""}, "next": "null"}}}"##;

/// A store with the functions of the example.
pub(super) fn store() -> Toolbox {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Create {
        key: String,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Read {
        id: usize,
    }
    let entries = Arc::new(Mutex::new(vec!["first".to_owned()]));
    let (counted, created) = (entries.clone(), entries.clone());
    let count = FnTool::new("count", move || counted.lock().unwrap().len()).output_name("count").read_only();
    let create = FnTool::new("create", move |i: Create| {
        let mut entries = created.lock().unwrap();
        entries.push(i.key);
        entries.len() - 1
    });
    let read =
        FnTool::new("read", move |i: Read| json!({ "value": entries.lock().unwrap()[i.id], "id": i.id })).read_only();
    Toolbox::new().with(count).unwrap().with(create.output_name("id")).unwrap().with(read).unwrap()
}

pub(super) fn document(steps: Value) -> OpenWorkflow {
    let document = json!({ "openworkflow": "1.0.0", "info": { "title": "Flow", "version": "1" }, "workflow": steps });
    document.to_string().parse().unwrap()
}

pub(super) fn step(function: &str, arguments: Value, results: Value, next: &str) -> Value {
    json!({ "function": function, "arguments": arguments, "results": results, "next": next })
}

/// A workflow of these steps, called `flow`.
pub(super) fn flow(steps: Value, tools: impl IntoIterator<Item = FakeTool>) -> Workflow {
    Workflow::new(&document(steps), Toolbox::from_tools(tools).unwrap()).unwrap()
}

/// A tool that answers a JSON value, and how often it was called.
fn answering(name: &str, answer: Value) -> (FakeTool, CallLog) {
    let tool = FakeTool::new(name).with_schema(json!({ "type": "object" })).answers(ToolOutput::json(&answer).unwrap());
    let log = tool.log();
    (tool, log)
}

#[tokio::test]
async fn the_example_of_the_format_runs() {
    let workflow = Workflow::new(&EXAMPLE.parse().unwrap(), store()).unwrap();
    assert_eq!(workflow.definition().name(), "store_and_look");
    assert_eq!(workflow.definition().title(), Some("Store and look"));
    assert_eq!(workflow.definition().description(), "Call `count`, `sleep`, `create`, `read` in this order.");
    let probe = Probe::new(workflow);
    probe.call("store_and_look", "{}").await.assert_json(json!({ "value": "a", "id": 1 }));
    probe.call("store_and_look", "").await.assert_json(json!({ "value": "a", "id": 2 }));
    probe.call("store_and_look", r#"{"x":1}"#).await.assert_json(json!({ "value": "a", "id": 3 }));
}

#[tokio::test]
async fn results_are_named_as_the_wire_names_them() {
    for (output, expected) in [
        (ToolOutput::text("hi"), json!({ "result": "hi" })),
        (ToolOutput::json(&7).unwrap(), json!({ "result": 7 })),
        (ToolOutput::json(&json!({ "a": 1 })).unwrap(), json!({ "a": 1 })),
        (ToolOutput::Empty, json!({})),
    ] {
        let tool = FakeTool::new("f").answers(output);
        let workflow = flow(json!({ "start": step("f", json!({}), json!({}), "null") }), [tool]);
        Probe::new(workflow).call("flow", "").await.assert_json(expected);
    }
}

#[tokio::test]
async fn values_travel_between_steps_digit_by_digit() {
    let first = FakeTool::new("first").answers(
        ToolOutput::from_json_text(r#"{"n":123456789012345678901234567890,"list":[1.50,{"k":"v"}]}"#).unwrap(),
    );
    let second = FakeTool::new("second").with_schema(json!({ "type": "object" })).answers("done");
    let log = second.log();
    let arguments = json!({ "n": "#/start/results/n", "list": "#/start/results/list", "given": "#/start/arguments/x", "text": "#no" });
    let workflow = flow(
        json!({ "start": step("first", json!({ "x": [true] }), json!({ "n": 0, "list": [] }), "b"),
                "b": step("second", arguments, json!({}), "null") }),
        [first.with_schema(json!({ "type": "object" })), second],
    );
    Probe::new(workflow).call("flow", "").await.assert_json(json!({ "result": "done" }));
    let expected = r##"{"n":123456789012345678901234567890,"list":[1.50,{"k":"v"}],"given":[true],"text":"#no"}"##;
    assert_eq!(log.arguments(), [expected]);
}

#[tokio::test]
async fn a_failed_step_fails_the_run_with_its_name() {
    let (tool, log) = answering("after", json!(1));
    let failing = FakeTool::new("pay").fails(ToolError::failed("no money").with_code(402).with_retryable(true));
    let (first, _) = answering("first", json!(1));
    let steps = json!({ "start": step("first", json!({}), json!({}), "second"),
                        "second": step("pay", json!({}), json!({}), "third"),
                        "third": step("after", json!({}), json!({}), "null") });
    let answer = Probe::new(flow(steps, [tool, failing, first])).call("flow", "").await;
    answer.assert_error(ErrorKind::Failed).assert_message("the step `second` (`pay`) failed: no money");
    let error = answer.outcome().error().unwrap();
    assert_eq!((error.code(), error.is_retryable()), (Some(402), false), "a second run would repeat the first step");
    assert_eq!(error.data(), Some(&json!({ "step": "second", "function": "pay" })));
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn arguments_of_steps_are_checked_and_panics_are_caught() {
    let steps = json!({ "start": step("pair", json!({ "a": "one" }), json!({}), "null") });
    let tool = FakeTool::new("pair").with_schema(super::pair());
    let answer = Probe::new(flow(steps, [tool])).call("flow", "").await;
    let message = r#"the step `start` (`pair`) failed: invalid arguments: /a: expected integer, got string "one""#;
    answer.assert_error(ErrorKind::InvalidArguments).assert_message(message);
    let steps = json!({ "start": step("bad", json!({}), json!({}), "null") });
    let answer = Probe::new(flow(steps, [FakeTool::new("bad").panics("boom")])).call("flow", "").await;
    answer.assert_error(ErrorKind::Panic);
}

#[tokio::test]
async fn nothing_runs_of_a_workflow_with_an_unknown_function() {
    let (tool, log) = answering("create", json!(1));
    let steps = json!({ "start": step("create", json!({}), json!({}), "b"), "b": step("craete", json!({}), json!({}), "null") });
    let answer = Probe::new(flow(steps, [tool])).call("flow", "").await;
    let message = "the step `b` cannot run: there is no tool named `craete`; did you mean `create`?";
    answer.assert_error(ErrorKind::UnknownTool).assert_message(message);
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn a_resolver_does_not_widen_what_a_workflow_may_call() {
    let found: Arc<dyn Tool> = FnTool::new("secret", || "run").build().unwrap();
    let executor = Executor::builder().resolver(move |name: &str| (name == "secret").then(|| found.clone())).build();
    let steps = json!({ "start": step("secret", json!({}), json!({}), "null") });
    let answer = Probe::with(&executor, flow(steps, [])).call("flow", "").await;
    answer.assert_error(ErrorKind::UnknownTool);
    Probe::with(&executor, Toolbox::new()).call("secret", "").await.assert_text("run");
}

#[tokio::test]
async fn results_have_the_types_of_their_defaults() {
    let long = "; where any number will do, write the default with a fraction: 0.0";
    for (default, result, fault) in [
        (json!(0), json!(5), None),
        (json!(0.0), json!(5), None),
        (json!(0.5), json!(2.5), None),
        (json!(0), json!(2.0), None),
        (json!(0), json!(0.5), Some(format!("must be an integer, as its default is, and is a number{long}"))),
        (json!(""), json!("x"), None),
        (json!(""), json!(1), Some("must be a string, as its default is, and is a number".into())),
        (json!(true), json!(false), None),
        (json!(true), json!("true"), Some("must be a boolean, as its default is, and is a string".into())),
        (json!([]), json!([1, "x"]), None),
        (json!([0]), json!([]), None),
        (json!([0]), json!([1, 2]), None),
        (
            json!([0]),
            json!([1, "x"]),
            Some("must be an integer, as its default is, and is a string (element 1)".into()),
        ),
        (json!([0]), json!({}), Some("must be a list, as its default is, and is an object".into())),
        (json!({}), json!({ "a": 1 }), None),
        (json!({}), json!(null), Some("must be an object, as its default is, and is null".into())),
        (json!(null), json!(null), None),
        (json!(null), json!(1), Some("must be null, as its default is, and is a number".into())),
    ] {
        let (tool, _) = answering("f", json!({ "r": result }));
        let steps = json!({ "start": step("f", json!({}), json!({ "r": default }), "null") });
        let answer = Probe::new(flow(steps, [tool])).call("flow", "").await;
        match fault {
            None => drop(answer.assert_json(json!({ "r": result }))),
            Some(fault) => {
                let message = format!("the step `start` (`f`) failed: its result `r` {fault}");
                answer.assert_error(ErrorKind::InvalidResult).assert_message(&message);
            }
        }
    }
}

#[tokio::test]
async fn a_result_that_is_not_there_is_an_error() {
    let (tool, _) = answering("f", json!({ "a": 1, "b": 2 }));
    let steps = json!({ "start": step("f", json!({}), json!({ "c": 0 }), "null") });
    let answer = Probe::new(flow(steps, [tool])).call("flow", "").await;
    let message = "the step `start` (`f`) failed: its result `c` is not there; the results are: `a`, `b`";
    answer.assert_error(ErrorKind::InvalidResult).assert_message(message);
}

#[tokio::test]
async fn the_limits_of_a_turn_end_loops() {
    let looping = |tool: FakeTool| flow(json!({ "start": step("f", json!({ "x": 1 }), json!({}), "start") }), [tool]);
    let (tool, log) = answering("f", json!(1));
    let answer = Probe::new(looping(tool)).call("flow", "").await;
    let message = "the step `start` (`f`) failed: the tool `f` was already called 3 times with these arguments; use the earlier result";
    answer.assert_error(ErrorKind::Limit).assert_message(message);
    assert_eq!(log.count(), 3);
    let often = Executor::builder().limits(Limits::default().with_repeats(u32::MAX)).build();
    let (tool, log) = answering("f", json!(1));
    let _ = Probe::with(&often, looping(tool)).call("flow", "").await.assert_error(ErrorKind::Limit);
    assert_eq!(log.count(), 40);
    let longest = Executor::builder().limits(Limits::none().with_total(150)).build();
    let (tool, log) = answering("f", json!(1));
    let answer = Probe::with(&longest, looping(tool)).call("flow", "").await;
    answer.assert_error(ErrorKind::Limit);
    assert_eq!((log.count(), answer.outcome().error().unwrap().severity()), (150, ErrorSeverity::Recoverable));
}

#[tokio::test]
async fn the_same_call_at_several_steps_is_no_repetition() {
    let names: Vec<_> = (0..30).map(|n| if n == 0 { "start".to_owned() } else { format!("s{n}") }).collect();
    let steps: serde_json::Map<_, _> = (0..30)
        .map(|n| (names[n].clone(), step("f", json!({}), json!({}), names.get(n + 1).map_or("null", String::as_str))))
        .collect();
    let (tool, log) = answering("f", json!(1));
    Probe::new(flow(steps.into(), [tool])).call("flow", "").await.assert_json(json!({ "result": 1 }));
    assert_eq!(log.count(), 30, "more than the rounds of a turn");
}

#[tokio::test(start_paused = true)]
async fn sleep_waits_and_one_that_is_too_long_is_refused_at_once() {
    let sleeping = |milliseconds: Value| {
        flow(json!({ "start": step("sleep", json!({ "milliseconds": milliseconds }), json!({}), "null") }), [])
    };
    let begun = tokio::time::Instant::now();
    Probe::new(sleeping(json!(20_000))).call("flow", "").await.assert_json(json!({}));
    assert_eq!(begun.elapsed().as_secs(), 20);
    let begun = tokio::time::Instant::now();
    let answer = Probe::new(sleeping(json!(31_000))).call("flow", "").await;
    let message = "the step `start` (`sleep`) failed: 31000 milliseconds are more than the 30000 that the call may run";
    answer.assert_error(ErrorKind::Failed).assert_message(message);
    assert_eq!(begun.elapsed().as_secs(), 0);
    for wrong in [json!(-1), json!(0.5), json!("1"), json!(1e300)] {
        assert!(Probe::new(sleeping(wrong)).call("flow", "").await.outcome().is_error());
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_with_its_step() {
    let (after, log) = answering("after", json!(1));
    let steps = json!({ "start": step("sleep", json!({ "milliseconds": 10_000 }), json!({}), "b"),
                        "b": step("after", json!({}), json!({}), "null") });
    let host = Executor::new().host(flow(steps, [after]));
    let context = ToolContext::new();
    let cancellation = context.cancellation().clone();
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancellation.cancel();
    };
    let (outcome, ()) = tokio::join!(host.run(ToolCall::new("1", "flow", "{}"), &context), cancel);
    assert_eq!((outcome.error().unwrap().kind(), log.count()), (ErrorKind::Cancelled, 0));
}

#[tokio::test]
async fn a_watched_run_says_how_far_it_is() {
    let host = Executor::new().host(Workflow::new(&EXAMPLE.parse().unwrap(), store()).unwrap());
    let context = ToolContext::new();
    let mut batch = host.watch(ToolCall::new("1", "store_and_look", "{}"), &context).await;
    let mut said = Vec::new();
    while let Some(event) = futures_util::StreamExt::next(&mut batch).await {
        if let ToolEvent::Progress(_, progress) = event {
            said.push((progress.done, progress.total, progress.message.unwrap()));
        }
    }
    let expected = [(0.0, "start", "count"), (1.0, "pause", "sleep"), (2.0, "step2", "create"), (3.0, "step3", "read")];
    let expected = expected.map(|(done, step, function)| (done, Some(4.0), format!("step `{step}`: {function}")));
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_workflow_can_be_a_step_of_another() {
    let inner = Workflow::new(&EXAMPLE.parse().unwrap(), store()).unwrap();
    let steps = json!({ "start": step("store_and_look", json!({}), json!({ "value": "" }), "again"),
                        "again": step("store_and_look", json!({}), json!({ "id": 0 }), "null") });
    let outer = Workflow::new(&document(steps), inner).unwrap();
    Probe::new(outer).call("flow", "").await.assert_json(json!({ "value": "a", "id": 2 }));
}

/// Steps of a random workflow: what each calls, and where it leads.
fn random_steps() -> impl Strategy<Value = Value> {
    let function = prop::sample::select(vec!["good", "fails", "panics", "hangs", "denied", "text", "sleep", "unknown"]);
    let next = prop::sample::select(vec!["start", "s1", "s2", "s3", "s4", "null"]);
    let results = prop::sample::select(vec![json!({}), json!({ "n": 0 }), json!({ "result": "" })]);
    prop::collection::vec((function, next, results), 1..6).prop_map(|steps| {
        let steps = steps.into_iter().enumerate().map(|(index, (function, next, results))| {
            let name = if index == 0 { "start".to_owned() } else { format!("s{index}") };
            let (arguments, results) = match function {
                "sleep" => (json!({ "milliseconds": 10 }), json!({})),
                _ => (json!({ "x": index }), results),
            };
            (name, step(function, arguments, results, next))
        });
        Value::Object(steps.collect())
    })
}

proptest! {
    /// Whatever a workflow looks like, its call has one outcome, and no more calls were made than a turn may have.
    #[test]
    fn every_workflow_ends_within_the_limits_with_one_outcome(steps in random_steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let calls = Arc::new(AtomicU64::new(0));
            let any = || json!({ "type": "object" });
            let counted = |name: &str, output: ToolOutput| {
                let calls = calls.clone();
                FakeTool::new(name).with_schema(any()).acts(move |_, _| {
                    calls.fetch_add(1, SeqCst);
                    let output = output.clone();
                    async move { Ok(output) }
                })
            };
            let tools = Toolbox::from_tools([
                counted("good", ToolOutput::json(&json!({ "n": 1 })).unwrap()),
                counted("text", ToolOutput::text("hello")),
                FakeTool::new("fails").with_schema(any()).fails(ToolError::failed("no")),
                FakeTool::new("panics").with_schema(any()).panics("boom"),
                FakeTool::new("hangs").with_schema(any()).hangs(),
                FakeTool::new("denied").with_schema(any()).with_metadata(ToolMetadata::new().with_approval(true)),
            ]).unwrap();
            let host = Executor::new().host(Workflow::new(&document(steps.clone()), tools).unwrap());
            let begun = tokio::time::Instant::now();
            let outcome = host.run(ToolCall::new("1", "flow", "{}"), &ToolContext::new()).await;
            // At most five steps, each of which runs three times with the same arguments.
            assert!(calls.load(SeqCst) <= 15, "{} calls", calls.load(SeqCst));
            assert!(begun.elapsed() <= Duration::from_secs(31), "{:?}", begun.elapsed());
            match outcome.result {
                Ok(output) => assert!(output.structured().is_some(), "{output:?}"),
                Err(error) => {
                    let named = error.data().and_then(|data| data["step"].as_str()).is_some();
                    let message = error.message();
                    assert!(named || error.kind() == ErrorKind::UnknownTool, "{message}");
                    assert!(message.starts_with("the step `"), "{message}");
                }
            }
        });
    }
}
