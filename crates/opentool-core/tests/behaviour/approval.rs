//! Rule 10 and the four decisions.

use std::time::Duration;

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{
    ApprovalPolicy, ApprovalRequest, Arguments, Ask, AskCaller, BoxFuture, Decision, ErrorKind, Executor, Outcome,
    Question, ToolCall, ToolContext, ToolMetadata, ToolOutput, Toolbox, Turn, UserAnswer,
};
use serde_json::json;

use super::pair;

fn guarded() -> FakeTool {
    FakeTool::new("guarded")
        .with_schema(pair())
        .with_metadata(ToolMetadata::new().with_approval(true))
        .acts(|arguments, _| async move { ToolOutput::json(arguments.value()?) })
}

fn deciding(decision: Decision) -> Executor {
    Executor::builder()
        .approval(Ask::with(move |_| {
            let decision = decision.clone();
            async move { decision }
        }))
        .build()
}

#[tokio::test]
async fn a_tool_that_needs_approval_is_denied_without_a_policy() {
    let tool = guarded();
    let log = tool.log();
    let answer = Probe::new(tool).call("guarded", r#"{"a":1}"#).await;
    answer.assert_error(ErrorKind::Denied).assert_message("the tool needs approval and no approval policy is set");
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn by_default_nothing_needs_approval_not_even_a_destructive_tool() {
    let tool = FakeTool::new("a").with_metadata(ToolMetadata::new().with_destructive(true)).answers("gone");
    Probe::new(tool).call("a", "").await.assert_text("gone");
}

#[tokio::test]
async fn destructive_tools_and_those_that_do_not_say_may_need_approval() {
    let executor = Executor::builder()
        .approval(Ask::with(|_| async { Decision::Deny("keep it".into()) }).for_destructive(true))
        .build();
    let tool = FakeTool::new("a").with_metadata(ToolMetadata::new().with_destructive(true)).answers("gone");
    let log = tool.log();
    let harmless = |name: &str, metadata: ToolMetadata| FakeTool::new(name).with_metadata(metadata).answers("fine");
    let probe = Probe::with(
        &executor,
        (
            tool,
            FakeTool::new("not_said"),
            harmless("not_destructive", ToolMetadata::new().with_destructive(false)),
            harmless("read_only", ToolMetadata::new().with_read_only(true)),
        ),
    );
    probe.call("a", "").await.assert_message("keep it");
    probe.call("not_said", "").await.assert_message("keep it");
    probe.call("not_destructive", "").await.assert_text("fine");
    probe.call("read_only", "").await.assert_text("fine");
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn an_approved_call_runs() {
    let probe = Probe::with(&deciding(Decision::Approve), guarded());
    probe.call("guarded", r#"{"a":1}"#).await.assert_json(json!({ "a": 1 }));
}

#[tokio::test]
async fn a_denied_call_never_runs_and_the_model_sees_why() {
    let tool = guarded();
    let log = tool.log();
    let probe = Probe::with(&deciding(Decision::Deny("too dear".into())), tool);
    probe.call("guarded", r#"{"a":1}"#).await.assert_error(ErrorKind::Denied).assert_message("too dear");
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn a_call_runs_with_the_edited_arguments() {
    let edited = Decision::Edit(Arguments::from(r#"{"a":2,"b":null}"#));
    Probe::with(&deciding(edited), guarded()).call("guarded", r#"{"a":1}"#).await.assert_json(json!({ "a": 2 }));
}

#[tokio::test]
async fn an_outcome_holds_the_arguments_as_the_tool_got_them() {
    let edited = Decision::Edit(Arguments::from(r#"{"a":2,"b":null}"#));
    let tools = Toolbox::from_tools([guarded()]).unwrap();
    for (decision, was_edited, ran_with) in
        [(edited, true, json!({ "a": 2 })), (Decision::Approve, false, json!({ "a": 1 }))]
    {
        let calls = vec![ToolCall::new("1", "guarded", r#"{"a":1}"#)];
        let (mut turn, context) = (Turn::new(), ToolContext::new());
        let outcomes = deciding(decision).run(&tools, calls, &mut turn, &context).finish().await;
        assert!(!outcomes[0].is_error());
        assert_eq!(outcomes[0].edited, was_edited);
        assert_eq!(outcomes[0].arguments.value().unwrap(), &ran_with);
    }
}

#[tokio::test]
async fn edited_arguments_are_checked_again() {
    let tool = guarded();
    let log = tool.log();
    let edited = Decision::Edit(Arguments::from(r#"{"a":"two"}"#));
    let answer = Probe::with(&deciding(edited), tool).call("guarded", r#"{"a":1}"#).await;
    answer.assert_error(ErrorKind::InvalidArguments);
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_approval() {
    let executor = Executor::builder().approval(Ask::with(|_| async { panic!("asked") })).build();
    Probe::with(&executor, guarded()).call("guarded", "{}").await.assert_error(ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn a_panicking_approver_approves_nothing() {
    let executor = Executor::builder().approval(Ask::with(|_| async { panic!("approver") })).build();
    let tool = guarded();
    let log = tool.log();
    Probe::with(&executor, tool).call("guarded", r#"{"a":1}"#).await.assert_error(ErrorKind::Panic);
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn a_host_cannot_wait_for_a_suspended_call_and_denies_it() {
    let tool = guarded();
    let log = tool.log();
    let probe = Probe::with(&deciding(Decision::Suspend), tool);
    probe.call("guarded", r#"{"a":1}"#).await.assert_error(ErrorKind::Denied);
    assert_eq!(log.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_clock_does_not_run_while_a_call_awaits_approval() {
    let executor = Executor::builder()
        .approval(Ask::with(|_| async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Decision::Approve
        }))
        .build();
    Probe::with(&executor, guarded()).call("guarded", r#"{"a":1}"#).await.assert_json(json!({ "a": 1 }));
}

#[tokio::test]
async fn a_policy_of_ones_own_decides_by_the_arguments() {
    struct OnlyLarge;
    impl ApprovalPolicy for OnlyLarge {
        fn needed(&self, _: &dyn opentool_core::Tool, arguments: &Arguments) -> bool {
            arguments.get::<i64>("a").is_ok_and(|a| a > Some(10))
        }
        fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Decision> {
            Box::pin(async move { Decision::Deny(format!("{} is too large", request.arguments)) })
        }
    }
    let executor = Executor::builder().approval(OnlyLarge).build();
    let probe = Probe::with(&executor, FakeTool::new("a").with_schema(pair()).answers("ok"));
    probe.call("a", r#"{"a":10}"#).await.assert_text("ok");
    probe.call("a", r#"{"a":11}"#).await.assert_message(r#"{"a":11} is too large"#);
}

/// Calls a tool that needs approval, with a caller that answers so.
async fn asked_caller(answer: Option<UserAnswer>) -> (Outcome, usize) {
    let tool = guarded();
    let log = tool.log();
    let host = Executor::builder().approval(AskCaller::new()).build().host(tool);
    let mut context = ToolContext::new();
    if let Some(answer) = answer {
        context = context.with_respondent(move |question: Question| {
            assert_eq!(question.message, r#"May `guarded` run with {"a":1}?"#);
            let answer = answer.clone();
            async move { Ok(answer) }
        });
    }
    let outcome = host.run(ToolCall::new("1", "guarded", r#"{"a":1}"#), &context).await;
    (outcome, log.count())
}

#[tokio::test]
async fn a_caller_approves_only_by_saying_yes() {
    let says = |approve: bool| UserAnswer::Accepted(json!({ "approve": approve }).as_object().cloned().unwrap());
    let (outcome, calls) = asked_caller(Some(says(true))).await;
    assert!(outcome.output().is_some());
    assert_eq!(calls, 1);
    for answer in [says(false), UserAnswer::Declined, UserAnswer::Dismissed] {
        let (outcome, calls) = asked_caller(Some(answer)).await;
        assert_eq!(outcome.error().unwrap().message(), "the caller did not approve the call");
        assert_eq!((outcome.error().unwrap().kind(), calls), (ErrorKind::Denied, 0));
    }
    let (outcome, calls) = asked_caller(None).await;
    let error = outcome.error().unwrap();
    assert_eq!((error.kind(), calls), (ErrorKind::Denied, 0));
    assert!(error.message().contains("this caller has no way to give it"), "{}", error.message());
}
