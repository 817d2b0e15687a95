//! Rule 7 and the size of results.

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{
    ErrorKind, Executor, Part, RichOutput, ToolCall, ToolDefinition, ToolError, ToolMetadata, ToolOutput,
};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::{run, toolbox};

#[tokio::test]
async fn text_that_looks_like_json_stays_text() {
    Probe::new(FakeTool::new("a").answers(r#"{"x":1}"#)).call("a", "").await.assert_text(r#"{"x":1}"#);
}

#[test]
fn media_is_described_by_type_and_size() {
    for (data, bytes) in [("", 0), ("AAAA", 3), ("AAA=", 2), ("AA==", 1), ("AAA", 2), ("AAAAAA==", 4)] {
        let part = Part::media("image/png", data);
        assert_eq!(ToolOutput::Parts(vec![part]).to_text(), format!("[image/png, {bytes} bytes]"), "{data:?}");
    }
}

#[tokio::test]
async fn no_value_is_empty() {
    Probe::new(FakeTool::new("a")).call("a", "").await.assert_empty();
}

#[tokio::test]
async fn results_are_limited_to_a_mebibyte_unless_metadata_raises_it() {
    let big = || FakeTool::new("big").answers("x".repeat(1024 * 1024 + 1));
    let answer = Probe::new(big()).call("big", "").await;
    answer.assert_error(ErrorKind::InvalidResult);
    answer.assert_message("the result has 1048577 bytes, more than the 1048576 allowed");

    let raised = big().with_metadata(ToolMetadata::new().with_max_result_size(2 * 1024 * 1024));
    assert_eq!(Probe::new(raised).call("big", "").await.output().size(), 1024 * 1024 + 1);

    let strict = Executor::builder().max_result_size(3).build();
    let parts = ToolOutput::Parts(vec![Part::text("ab"), Part::text("cd")]);
    Probe::with(&strict, FakeTool::new("a").answers(parts)).call("a", "").await.assert_error(ErrorKind::InvalidResult);
}

#[tokio::test]
async fn a_converter_of_the_tool_wins_over_the_default_one() {
    let convert =
        |to: &'static str| move |output: ToolOutput| Ok(ToolOutput::text(format!("{to}:{}", output.to_text())));
    let executor = Executor::builder().converter(convert("default")).build();
    let own = FakeTool::new("own").answers("x").with_metadata(ToolMetadata::new().with_converter(convert("own")));
    let probe = Probe::with(&executor, (own, FakeTool::new("plain").answers("x")));
    probe.call("own", "").await.assert_text("own:x");
    probe.call("plain", "").await.assert_text("default:x");
}

#[tokio::test]
async fn a_converter_that_fails_makes_the_outcome_an_error() {
    let refuse = |_: ToolOutput| Err(ToolError::invalid_result("not today"));
    let tool = FakeTool::new("a").with_metadata(ToolMetadata::new().with_converter(refuse));
    Probe::new(tool).call("a", "").await.assert_message("not today");
}

#[tokio::test]
async fn return_direct_holds_only_when_every_call_wants_it_and_succeeded() {
    let direct = ToolMetadata::new().with_return_direct(true);
    let tools = toolbox([
        FakeTool::new("direct").with_metadata(direct.clone()).answers("x"),
        FakeTool::new("fails").with_metadata(direct).fails(ToolError::failed("no")),
        FakeTool::new("plain").answers("x"),
    ]);
    let calls = |names: &[&str]| names.iter().map(|name| ToolCall::new(*name, *name, "")).collect::<Vec<_>>();
    let executor = Executor::new();
    assert!(run(&executor, &tools, calls(&["direct", "direct"])).await.return_direct());
    assert!(!run(&executor, &tools, calls(&["direct", "plain"])).await.return_direct());
    let failed = run(&executor, &tools, calls(&["direct", "fails"])).await;
    assert!(!failed.return_direct() && !failed[1].return_direct);
}

/// A tool that answers an output under an output schema.
fn promising(schema: Value, output: ToolOutput, check: bool) -> FakeTool {
    let definition = ToolDefinition::builder("a").output_schema(schema).check_results(check).build().unwrap();
    FakeTool::new("a").with_definition(definition).answers(output)
}

fn sum() -> Value {
    json!({ "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"] })
}

fn json_output(value: Value) -> ToolOutput {
    ToolOutput::json(&value).unwrap()
}

#[tokio::test]
async fn results_are_checked_only_where_that_was_asked_for() {
    let wrong = || json_output(json!({ "sum": "three" }));
    Probe::new(promising(sum(), wrong(), false)).call("a", "").await.assert_json(json!({ "sum": "three" }));
    let expected = "the result does not fit its schema at /sum: value is not of type \"integer\"";
    let checking = Executor::builder().check_results(true).build();
    for probe in [Probe::new(promising(sum(), wrong(), true)), Probe::with(&checking, promising(sum(), wrong(), false))]
    {
        probe.call("a", "").await.assert_error(ErrorKind::InvalidResult).assert_message(expected);
    }
    Probe::with(&checking, FakeTool::new("a").answers(wrong()))
        .call("a", "")
        .await
        .assert_json(json!({ "sum": "three" }));
}

#[tokio::test]
async fn the_value_of_every_form_of_output_is_checked() {
    let rich = |value: Value| ToolOutput::from(RichOutput::new().with_structured(to_raw_value(&value).unwrap()));
    let parts = || ToolOutput::Parts(vec![Part::text("3")]);
    let (text, maybe) = (json!({ "type": "string" }), json!({ "type": ["integer", "null"] }));
    for (schema, output, right) in [
        (sum(), json_output(json!({ "sum": 3 })), true),
        (sum(), rich(json!({ "sum": 3 })), true),
        (sum(), rich(json!({})), false),
        (sum(), parts(), false),
        (sum(), ToolOutput::Empty, false),
        (text.clone(), ToolOutput::text("three"), true),
        (text, json_output(json!(3)), false),
        (maybe.clone(), ToolOutput::Empty, true),
        (maybe, json_output(json!(3)), true),
    ] {
        let answer = Probe::new(promising(schema.clone(), output.clone(), true)).call("a", "").await;
        assert_eq!(answer.outcome().output().is_some(), right, "{schema} {output:?}");
    }
}

#[test]
fn what_is_checked_may_be_published() {
    let definition = |check| ToolDefinition::builder("a").output_schema(sum()).check_results(check).build().unwrap();
    let checking = Executor::builder().check_results(true).build();
    assert!(checking.checks_results(&definition(false)));
    assert!(Executor::new().checks_results(&definition(true)));
    assert!(!Executor::new().checks_results(&definition(false)));
    let without = ToolDefinition::builder("a").check_results(true).build().unwrap();
    assert!(!checking.checks_results(&without), "there is nothing to check");
}

#[tokio::test]
async fn an_output_schema_that_does_not_compile_is_found_where_it_is_needed() {
    let builder = || ToolDefinition::builder("a").output_schema(json!({ "type": "sum" }));
    assert!(builder().check_results(true).build().unwrap_err().to_string().starts_with("output schema of tool `a`: "));
    let tool = FakeTool::new("a").with_definition(builder().build().unwrap()).answers("x");
    let checking = Executor::builder().check_results(true).build();
    Probe::with(&checking, tool).call("a", "").await.assert_message("the tool's output schema cannot be used");
}
