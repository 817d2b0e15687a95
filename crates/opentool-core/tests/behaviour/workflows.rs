//! A workflow is a tool, and its steps are calls like any others.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool, Probe};
use opentool_core::{
    Ask, AskCaller, BoxFuture, Decision, ErrorKind, ErrorSeverity, Executor, FnTool, Limits, Question, Respondent,
    Tool, ToolCall, ToolContext, ToolDefinition, ToolError, ToolEvent, ToolMetadata, ToolOutput, Toolbox, UserAnswer,
    Workflow, WorkflowError, WorkflowRunner, workflow_faults,
};
use opentool_spec::{Code, OpenWorkflow};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The example of the format's own shape.
const EXAMPLE: &str = r##"{"openworkflow": "1.0.0", "info": {"title": "Store and look", "version": "1.0.0"}, "workflow": {
  "start": {"function": "count", "arguments": {}, "results": {"count": 0}, "next": "pause"},
  "pause": {"function": "sleep", "arguments": {"milliseconds": 50}, "results": {}, "next": "step2"},
  "step2": {"function": "create", "arguments": {"key": "a"}, "results": {"id": 0}, "next": "step3"},
  "step3": {"function": "read", "arguments": {"id": "#/step2/results/id"}, "results": {"value": ""}, "next": "null"}}}"##;

/// A store with the functions of the example.
fn store() -> Toolbox {
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

fn document(steps: Value) -> OpenWorkflow {
    let document = json!({ "openworkflow": "1.0.0", "info": { "title": "Flow", "version": "1" }, "workflow": steps });
    document.to_string().parse().unwrap()
}

fn step(function: &str, arguments: Value, results: Value, next: &str) -> Value {
    json!({ "function": function, "arguments": arguments, "results": results, "next": next })
}

/// A workflow of these steps, called `flow`.
fn flow(steps: Value, tools: impl IntoIterator<Item = FakeTool>) -> Workflow {
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

/// An executor that asks about everything that may destroy something, and what it asked about.
fn asking(decide: impl Fn(&str) -> Decision + Send + Sync + 'static) -> (Executor, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = asked.clone();
    let ask = Ask::with(move |request| {
        let name = request.tool.definition().name().to_owned();
        log.lock().unwrap().push(format!("{name} {} {}", request.call_id, request.arguments));
        let decision = decide(&name);
        async move { decision }
    });
    (Executor::builder().approval(ask.for_destructive(true)).build(), asked)
}

fn destructive(name: &str) -> (FakeTool, CallLog) {
    let metadata = ToolMetadata::new().with_destructive(true);
    let tool = FakeTool::new(name).with_schema(json!({ "type": "object" })).with_metadata(metadata);
    let tool = tool.acts(|arguments, _| async move { ToolOutput::json(arguments.value()?) });
    let log = tool.log();
    (tool, log)
}

fn deleting_steps() -> Value {
    json!({ "start": step("look", json!({}), json!({ "id": 0 }), "first"),
            "first": step("delete", json!({ "id": "#/start/results/id" }), json!({ "id": 0 }), "second"),
            "second": step("delete", json!({ "id": "#/first/arguments/id", "all": true }), json!({}), "null") })
}

fn looking() -> FakeTool {
    let metadata = ToolMetadata::new().with_read_only(true);
    FakeTool::new("look").with_metadata(metadata).answers(ToolOutput::json(&json!({ "id": 7 })).unwrap())
}

#[tokio::test]
async fn each_destructive_step_is_asked_about_and_the_workflow_is_not() {
    let (executor, asked) = asking(|_| Decision::Approve);
    let (delete, log) = destructive("delete");
    let workflow = flow(deleting_steps(), [looking(), delete]);
    assert_eq!((workflow.metadata().destructive(), workflow.metadata().is_composite()), (Some(true), true));
    Probe::with(&executor, workflow).call("flow", "").await.assert_json(json!({ "id": 7, "all": true }));
    let expected = [r#"delete probe/first.1 {"id":7}"#, r#"delete probe/second.1 {"id":7,"all":true}"#];
    assert_eq!((asked.lock().unwrap().as_slice(), log.count()), (&expected.map(str::to_owned)[..], 2));
}

#[tokio::test]
async fn a_step_that_is_not_approved_ends_the_run() {
    for decision in [Decision::Deny("keep it".to_owned()), Decision::Suspend] {
        let (executor, _) = asking(move |_| decision.clone());
        let (delete, log) = destructive("delete");
        let answer = Probe::with(&executor, flow(deleting_steps(), [looking(), delete])).call("flow", "").await;
        answer.assert_error(ErrorKind::Denied);
        assert!(answer.outcome().error().unwrap().message().starts_with("the step `first` (`delete`) failed: "));
        assert_eq!(log.count(), 0);
    }
    let guarded = FakeTool::new("f").with_metadata(ToolMetadata::new().with_approval(true));
    let log = guarded.log();
    let answer =
        Probe::new(flow(json!({ "start": step("f", json!({}), json!({}), "null") }), [guarded])).call("flow", "").await;
    answer.assert_error(ErrorKind::Denied);
    assert_eq!(log.count(), 0, "a tool that needs approval is denied where there is no policy");
}

#[tokio::test]
async fn what_an_approver_has_changed_is_what_later_steps_refer_to() {
    let (executor, asked) = asking(|_| Decision::Edit(r#"{"id":8}"#.into()));
    let (delete, log) = destructive("delete");
    Probe::with(&executor, flow(deleting_steps(), [looking(), delete]))
        .call("flow", "")
        .await
        .assert_json(json!({ "id": 8 }));
    assert_eq!(asked.lock().unwrap()[1], r#"delete probe/second.1 {"id":8,"all":true}"#);
    assert_eq!(log.count(), 2);
}

/// A caller that has to call again with its answers, and what it was asked.
struct CallsAgain(Arc<Mutex<Vec<String>>>);

impl Respondent for CallsAgain {
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        self.0.lock().unwrap().push(question.key.unwrap());
        let yes = json!({ "approve": true }).as_object().cloned().unwrap();
        Box::pin(async { Ok(UserAnswer::Accepted(yes)) })
    }

    fn restarts_call(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_caller_that_must_call_again_is_not_asked_once_a_step_must_not_be_repeated() {
    let executor = Executor::builder().approval(AskCaller::new().for_destructive(true)).build();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (delete, log) = destructive("delete");
    let workflow = flow(deleting_steps(), [looking(), delete]);
    let probe = Probe::with(&executor, workflow).context(ToolContext::new().with_respondent(CallsAgain(asked.clone())));
    let answer = probe.call("flow", "").await;
    let message = "the step `second` (`delete`) failed: the call needs approval, which was not given: for the answer the caller \
                   would have to call again, and what has run so far must not run twice";
    answer.assert_error(ErrorKind::Denied).assert_message(message);
    assert_eq!(asked.lock().unwrap().as_slice(), [r#"opentool-approval/first.1 delete {"id":7}"#]);
    assert_eq!(log.count(), 1);
    let at_once =
        |_: Question| async { Ok(UserAnswer::Accepted(json!({ "approve": true }).as_object().cloned().unwrap())) };
    let (delete, log) = destructive("delete");
    let probe = Probe::with(&executor, flow(deleting_steps(), [looking(), delete]));
    probe
        .context(ToolContext::new().with_respondent(at_once))
        .call("flow", "")
        .await
        .assert_json(json!({ "id": 7, "all": true }));
    assert_eq!(log.count(), 2, "a caller that answers at once is asked about each");
}

#[tokio::test(start_paused = true)]
async fn a_step_has_the_deadline_of_a_call_and_waiting_for_approval_does_not_count() {
    let steps =
        json!({ "start": step("slow", json!({}), json!({}), "b"), "b": step("hangs", json!({}), json!({}), "null") });
    let slow = || FakeTool::new("slow").answers_after(Duration::from_secs(20), "done");
    let patient = Executor::builder()
        .approval(
            Ask::with(|_| async {
                tokio::time::sleep(Duration::from_secs(100)).await;
                Decision::Approve
            })
            .for_destructive(true),
        )
        .build();
    let answer =
        Probe::with(&patient, flow(steps.clone(), [slow(), FakeTool::new("hangs").hangs()])).call("flow", "").await;
    let message = "the step `b` (`hangs`) failed: the tool did not answer within 30s";
    answer.assert_error(ErrorKind::Timeout).assert_message(message);
    let workflow = flow(steps, [slow(), slow_named("hangs")]).with_timeout(Duration::from_secs(25));
    let answer = Probe::new(workflow).call("flow", "").await;
    answer.assert_error(ErrorKind::Timeout);
}

fn slow_named(name: &str) -> FakeTool {
    FakeTool::new(name).answers_after(Duration::from_secs(20), "done")
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

#[test]
fn a_tool_called_sleep_is_refused_where_a_step_sleeps() {
    let steps = json!({ "start": step("sleep", json!({ "milliseconds": 1 }), json!({}), "null") });
    let tools = || Toolbox::from_tools([FakeTool::new("sleep")]).unwrap();
    assert!(matches!(Workflow::new(&document(steps), tools()), Err(WorkflowError::Sleep)));
    let steps = json!({ "start": step("f", json!({}), json!({}), "null") });
    assert!(Workflow::new(&document(steps), tools()).is_ok());
}

#[test]
fn a_document_with_errors_is_no_tool() {
    let document = OpenWorkflow::new(opentool_spec::Info::new("T", "1"));
    let error = Workflow::new(&document, Toolbox::new()).unwrap_err();
    assert!(error.to_string().contains("error[OT090]: the workflow has no step `start`"), "{error}");
}

#[test]
fn the_name_of_the_tool_is_made_of_the_title() {
    for (title, name) in [
        ("Store and look", "store_and_look"),
        ("  A/B — test!  ", "a_b_test"),
        ("天气", "workflow"),
        ("", "workflow"),
        (&"long ".repeat(40), "long_long_long_long_long_long_long_long_long_long_long_long_long"),
    ] {
        let mut document = document(json!({ "start": step("f", json!({}), json!({}), "null") }));
        document.info.title = title.to_owned();
        let workflow = Workflow::new(&document, Toolbox::new()).unwrap();
        assert_eq!(workflow.definition().name(), name);
        assert_eq!(workflow.with_name("other").unwrap().definition().name(), "other");
    }
}

#[test]
fn what_is_known_about_a_workflow_is_what_is_known_about_its_tools() {
    let known = |first: ToolMetadata, second: ToolMetadata| {
        let steps =
            json!({ "start": step("a", json!({}), json!({}), "b"), "b": step("b", json!({}), json!({}), "null") });
        let tools = [FakeTool::new("a").with_metadata(first), FakeTool::new("b").with_metadata(second)];
        let workflow = flow(steps, tools);
        (workflow.metadata().read_only(), workflow.metadata().destructive(), workflow.metadata().open_world())
    };
    let new = ToolMetadata::new;
    assert_eq!(known(new().with_read_only(true), new().with_read_only(true)), (Some(true), Some(false), None));
    assert_eq!(known(new().with_read_only(true), new()), (None, None, None));
    assert_eq!(known(new().with_destructive(true), new()), (None, Some(true), None));
    assert_eq!(known(new().with_destructive(false), new().with_destructive(false)), (None, Some(false), None));
    assert_eq!(known(new().with_open_world(false), new().with_open_world(false)).2, Some(false));
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

#[test]
fn what_the_tools_cannot_do_is_found_before_a_run() {
    let described = |name: &str, output: Option<&str>, schema: Value| {
        let mut definition = ToolDefinition::builder(name).output_schema(schema);
        if let Some(output) = output {
            definition = definition.output_name(output);
        }
        FakeTool::new(name).with_definition(definition.build().unwrap())
    };
    let tools = Toolbox::from_tools([
        described("scalar", Some("id"), json!({ "type": "integer" })),
        described("open", None, json!({ "type": "object", "properties": { "a": { "type": "string" } } })),
        described(
            "closed",
            None,
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } },
            "additionalProperties": false, "$defs": { "A": { "type": ["integer", "null"] } } }),
        ),
        FakeTool::new("silent"),
    ])
    .unwrap();
    let faults = |function: &str, results: Value| -> Vec<(Code, String, String)> {
        let document = document(json!({ "start": step(function, json!({}), results, "null") }));
        let faults = workflow_faults(&document, &tools).into_iter();
        faults.map(|fault| (fault.code, fault.pointer, fault.message)).collect()
    };
    for (function, results) in [
        ("scalar", json!({ "id": 0 })),
        ("scalar", json!({ "id": 0.5 })),
        ("open", json!({ "a": "", "b": 1 })),
        ("closed", json!({ "a": 0 })),
        ("silent", json!({ "anything": [] })),
        ("sleep", json!({})),
    ] {
        assert_eq!(faults(function, results), [], "{function}");
    }
    for (function, results, key, message) in [
        ("scalar", json!({ "id": "" }), "id", "the result `id` of `scalar` is of type \"integer\", not a string"),
        ("scalar", json!({ "x": 0 }), "x", "`scalar` has no result `x`: its result is called `id`"),
        ("open", json!({ "a": [] }), "a", "the result `a` of `open` is of type \"string\", not a list"),
        ("closed", json!({ "b": 0 }), "b", "`closed` has no result `b`"),
        (
            "closed",
            json!({ "a": "" }),
            "a",
            "the result `a` of `closed` is of type [\"integer\",\"null\"], not a string",
        ),
    ] {
        let place = format!("/workflow/start/results/{key}");
        assert_eq!(faults(function, results), [(Code::ResultType, place, message.to_owned())]);
    }
    let unknown = faults("scaler", json!({}));
    assert_eq!(unknown[0].2, "the tools have no function `scaler`");
}

/// A document as a model would send it.
fn written(steps: Value) -> Value {
    json!({ "document": { "openworkflow": "1.0.0", "info": { "title": "Mine", "version": "1" }, "workflow": steps } })
}

#[tokio::test]
async fn a_model_may_write_a_workflow_of_the_attached_tools() {
    let probe = Probe::new(WorkflowRunner::new(store()).unwrap());
    let steps = json!({ "start": step("create", json!({ "key": "k" }), json!({ "id": 0 }), "b"),
                        "b": step("read", json!({ "id": "#/start/results/id" }), json!({}), "null") });
    probe.call("run_workflow", written(steps)).await.assert_json(json!({ "value": "k", "id": 1 }));
    let unknown = written(json!({ "start": step("delete_all", json!({}), json!({}), "null") }));
    let answer = probe.call("run_workflow", unknown).await;
    answer
        .assert_error(ErrorKind::UnknownTool)
        .assert_message("the step `start` cannot run: there is no tool named `delete_all`");
    let itself = written(json!({ "start": step("run_workflow", json!({}), json!({}), "null") }));
    probe.call("run_workflow", itself).await.assert_error(ErrorKind::UnknownTool);
}

#[tokio::test]
async fn the_errors_of_a_written_workflow_reach_the_model() {
    let probe = Probe::new(WorkflowRunner::new(store()).unwrap());
    let wrong = written(json!({ "start": step("read", json!({ "id": "#/strat/results/id" }), json!({}), "null") }));
    let answer = probe.call("run_workflow", wrong).await;
    answer.assert_error(ErrorKind::InvalidArguments);
    let message = answer.outcome().error().unwrap().message().to_owned();
    assert!(
        message.contains("refers to the step `strat`, which is not there (did you mean `#/start/results/id`?)"),
        "{message}"
    );
    probe.call("run_workflow", json!({ "document": {} })).await.assert_error(ErrorKind::InvalidArguments);
    let many: serde_json::Map<_, _> =
        (0..2_000).map(|n| (format!("s{n}"), step("f", json!({}), json!({}), "null"))).collect();
    probe.call("run_workflow", written(many.into())).await.assert_error(ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn each_destructive_step_of_a_written_workflow_is_asked_about() {
    let (executor, asked) = asking(|_| Decision::Deny("no".to_owned()));
    let (delete, log) = destructive("delete");
    let runner = WorkflowRunner::new(Toolbox::from_tools([looking(), delete]).unwrap()).unwrap();
    let answer = Probe::with(&executor, runner).call("run_workflow", written(deleting_steps())).await;
    answer.assert_error(ErrorKind::Denied).assert_message("the step `first` (`delete`) failed: no");
    assert_eq!((asked.lock().unwrap().len(), log.count()), (1, 0));
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
