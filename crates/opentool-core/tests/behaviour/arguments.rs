//! Rule 2: arguments are checked before the tool runs.

use std::pin::pin;

use futures_util::FutureExt;
use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{
    Arguments, ErrorKind, Executor, MemoryBudget, Strictness, ToolCall, ToolContext, ToolError, ToolMetadata,
    ToolOutput,
};
use serde_json::json;

use super::pair;

/// A tool that answers the arguments it got.
fn echo() -> FakeTool {
    FakeTool::new("echo").with_schema(pair()).acts(|arguments, _| async move { ToolOutput::json(arguments.value()?) })
}

#[tokio::test]
async fn empty_null_and_blank_arguments_are_an_empty_object() {
    let tool = FakeTool::new("any").acts(|arguments, _| async move { Ok(ToolOutput::text(arguments.as_str())) });
    let probe = Probe::new(tool);
    for text in ["", "null", " \n\t ", " null ", "{}"] {
        probe.call("any", text).await.assert_text("{}");
    }
}

#[tokio::test]
async fn malformed_json_reaches_the_model_and_the_tool_never_runs() {
    let tool = echo();
    let log = tool.log();
    let probe = Probe::new(tool);
    for text in ["{", r#"{"a":1"#, "[1]", "7", r#""text""#, "{'a':1}", r#"{"a":1} x"#] {
        probe.call("echo", text).await.assert_error(ErrorKind::InvalidArguments);
    }
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn a_schema_violation_names_its_json_pointer() {
    let tool = echo();
    let log = tool.log();
    let answer = Probe::new(tool).call("echo", r#"{"a":"one"}"#).await;
    let error = answer.outcome().error().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/a");
    assert!(error.message().contains("/a"), "{}", error.message());
    assert!(!error.is_fatal());
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn a_missing_argument_reaches_the_model() {
    let tool = echo();
    let log = tool.log();
    let answer = Probe::new(tool).call("echo", "{}").await;
    answer.assert_error(ErrorKind::InvalidArguments);
    assert!(answer.outcome().error().unwrap().message().contains('a'));
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn null_for_an_optional_argument_is_as_if_absent() {
    Probe::new(echo()).call("echo", r#"{"a":1,"b":null}"#).await.assert_json(json!({ "a": 1 }));
}

#[tokio::test]
async fn null_for_a_required_argument_is_refused() {
    Probe::new(echo()).call("echo", r#"{"a":null}"#).await.assert_error(ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn extra_arguments_are_dropped_and_in_strict_mode_refused() {
    Probe::new(echo()).call("echo", r#"{"a":1,"c":2}"#).await.assert_json(json!({ "a": 1 }));
    let strict = Executor::builder().strictness(Strictness::Strict).build();
    let tool = echo();
    let log = tool.log();
    Probe::with(&strict, tool).call("echo", r#"{"a":1,"c":2}"#).await.assert_error(ErrorKind::InvalidArguments);
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn duplicate_keys_are_refused() {
    let tool = echo();
    let log = tool.log();
    Probe::new(tool).call("echo", r#"{"a":1,"a":2}"#).await.assert_error(ErrorKind::InvalidArguments);
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn arguments_stay_text_so_that_large_integers_are_not_rounded() {
    let tool = FakeTool::new("any").acts(|arguments, _| async move { Ok(ToolOutput::text(arguments.as_str())) });
    let text = r#"{"n":123456789012345678901234567890}"#;
    Probe::new(tool).call("any", text).await.assert_text(text);
}

#[tokio::test]
async fn a_failure_to_deserialise_afterwards_is_the_same_error_with_its_pointer() {
    #[derive(serde::Deserialize)]
    struct Pair {
        #[serde(rename = "a")]
        _a: u8,
    }
    let tool = FakeTool::new("narrow").with_schema(pair()).acts(|arguments, _| async move {
        arguments.parse::<Pair>()?;
        Ok(ToolOutput::Empty)
    });
    let answer = Probe::new(tool).call("narrow", r#"{"a":300}"#).await;
    let error = answer.outcome().error().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/a");
    assert_eq!(error.message(), "invalid arguments: /a: invalid value: integer `300`, expected u8");
}

#[test]
fn a_text_that_is_no_json_is_refused_by_line_and_column() {
    let error = Arguments::from(r#"{"a":}"#).parse::<serde_json::Value>().unwrap_err();
    assert_eq!(error.message(), "invalid arguments: /a: expected value at line 1 column 6");
}

#[tokio::test]
async fn a_tool_that_checks_its_own_arguments_gets_them_as_they_came() {
    let tool = FakeTool::new("own")
        .with_schema(pair())
        .with_metadata(ToolMetadata::new().with_checks_own_arguments(true))
        .acts(|arguments, _| async move { Ok(ToolOutput::text(arguments.as_str())) });
    let log = tool.log();
    let probe = Probe::new(tool);
    let text = r#"{"a":"one","b":null,"c":2}"#;
    probe.call("own", text).await.assert_text(text);
    probe.call("own", r#"{"a":1,"a":2}"#).await.assert_error(ErrorKind::InvalidArguments);
    probe.call("own", "[]").await.assert_error(ErrorKind::InvalidArguments);
    assert_eq!(log.count(), 1);
}

#[test]
fn arguments_of_every_length_read_as_they_were_written() {
    for length in 0..80 {
        let text = format!(r#"{{"é":"{}"}}"#, "x".repeat(length));
        assert_eq!(Arguments::from(text.as_str()).as_str(), text);
        assert_eq!(Arguments::from(text.clone()).clone().to_string(), text);
    }
}

#[test]
fn parsing_names_the_place_of_the_failure_by_json_pointer() {
    #[derive(Debug, serde::Deserialize)]
    struct Deep {
        #[serde(rename = "a/b")]
        #[expect(dead_code, reason = "only parsed")]
        list: Vec<std::collections::HashMap<String, bool>>,
    }
    let error = Arguments::from(r#"{"a/b":[{"x":true},{"~":1}]}"#).parse::<Deep>().unwrap_err();
    assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/a~1b/1/~0");
}

#[test]
fn arguments_share_their_text_and_survive_a_round_trip() -> Result<(), ToolError> {
    let long = Arguments::from(format!(r#"{{"text":"{}"}}"#, "ä".repeat(100)));
    assert_eq!(long.clone().as_str().as_ptr(), long.as_str().as_ptr());
    let arguments = Arguments::from(json!({ "b": 1, "a": [2] }));
    assert_eq!(arguments.as_str(), r#"{"b":1,"a":[2]}"#);
    for arguments in [&arguments, &long, &Arguments::none()] {
        let written = serde_json::to_string(arguments).unwrap();
        assert_eq!(serde_json::from_str::<Arguments>(&written).unwrap(), *arguments);
    }
    assert_eq!(arguments.get::<Vec<u8>>("a")?, Some(vec![2]));
    assert_eq!(arguments.get::<u8>("c")?, None);
    assert_eq!(arguments.get::<u8>("a").unwrap_err().kind(), ErrorKind::InvalidArguments);
    Ok(())
}

/// A text that takes long enough to check.
fn long_arguments() -> String {
    format!(r#"{{"a":1,"unknown":[{}]}}"#, vec!["[]"; 100_000].join(","))
}

#[tokio::test]
async fn long_arguments_are_checked_off_the_async_thread() {
    let host = Executor::new().host(echo());
    let mut short = pin!(host.call("echo", r#"{"a":1}"#));
    assert!(short.as_mut().now_or_never().is_some(), "a short text is checked at once");
    let mut long = pin!(host.call("echo", long_arguments()));
    assert!(long.as_mut().now_or_never().is_none(), "the async thread is free meanwhile");
    assert_eq!(long.await.unwrap().to_text(), r#"{"a":1}"#);
    // Without a runtime there is no other thread.
    let answer =
        std::thread::spawn(|| futures_executor::block_on(Executor::new().host(echo()).call("echo", long_arguments())));
    assert_eq!(answer.join().unwrap().unwrap().to_text(), r#"{"a":1}"#);
}

#[tokio::test]
async fn a_call_cancelled_while_its_arguments_are_checked_never_runs() {
    let tool = echo();
    let log = tool.log();
    let (host, context) = (Executor::new().host(tool), ToolContext::new());
    let cancellation = context.cancellation().clone();
    let mut call = pin!(host.run(ToolCall::new("1", "echo", long_arguments()), &context));
    assert!(call.as_mut().now_or_never().is_none());
    cancellation.cancel();
    assert_eq!(call.await.error().unwrap().kind(), ErrorKind::Cancelled);
    assert_eq!(log.count(), 0);
}

#[tokio::test]
async fn checking_long_arguments_uses_the_budget_of_the_context() {
    let host = Executor::new().host(echo());
    let call = || ToolCall::new("1", "echo", long_arguments());
    let small = ToolContext::new().with_typed(MemoryBudget::new(1000));
    let error = host.run(call(), &small).await.result.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error}");
    let budget = MemoryBudget::new(long_arguments().len());
    let context = ToolContext::new().with_typed(budget.clone());
    assert_eq!(host.run(call(), &context).await.result.unwrap().to_text(), r#"{"a":1}"#);
    assert_eq!(budget.held(), 0);
}
