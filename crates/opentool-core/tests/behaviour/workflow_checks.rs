//! What is checked and asked before a workflow, or a step of one, runs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool, Probe};
use opentool_core::{
    Ask, AskCaller, BoxFuture, Decision, ErrorKind, Executor, Question, Respondent, Tool, ToolContext, ToolDefinition,
    ToolError, ToolMetadata, ToolOutput, Toolbox, UserAnswer, Workflow, WorkflowError, WorkflowRunner, workflow_faults,
};
use opentool_spec::{Code, OpenWorkflow};
use serde_json::{Value, json};

use super::workflows::{document, flow, step, store};

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
async fn a_caller_is_not_asked_after_a_step_that_must_not_repeat() {
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
async fn waiting_for_approval_does_not_count_for_a_steps_deadline() {
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

fn slow_named(name: &str) -> FakeTool {
    FakeTool::new(name).answers_after(Duration::from_secs(20), "done")
}
