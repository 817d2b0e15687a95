//! Rule 7 and the size of results.

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{ErrorKind, Executor, Part, ToolCall, ToolError, ToolMetadata, ToolOutput};

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
async fn a_result_past_one_mebibyte_is_an_error_and_metadata_may_raise_the_limit() {
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
