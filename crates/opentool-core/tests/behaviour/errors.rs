//! Who gets an error, and what it says.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{ErrorKind, ErrorSeverity, Executor, Failure, Part, ToolError, ToolOutput};

#[derive(Debug)]
struct Blank;

impl fmt::Display for Blank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("  ")
    }
}

impl Error for Blank {}

#[tokio::test]
async fn an_unmarked_error_is_recoverable_and_its_text_goes_to_the_model() {
    let io = || std::io::Error::other("disk full");
    let error = Executor::new().host(FakeTool::new("a").fails(Failure::from(io()).into())).call("a", "").await;
    let error = error.unwrap_err();
    assert_eq!((error.kind(), error.message(), error.is_fatal()), (ErrorKind::Failed, "disk full", false));
    assert!(error.source().is_some());
}

#[tokio::test]
async fn a_fatal_error_reaches_the_caller() {
    let tool = FakeTool::new("a").fails(ToolError::fatal(std::io::Error::other("disk gone")));
    assert!(Probe::new(tool).call("a", "").await.outcome().error().unwrap().is_fatal());
}

#[tokio::test]
async fn every_error_reaches_the_caller_where_all_are_fatal() {
    let executor = Executor::builder().all_errors_fatal(true).build();
    let host = executor.host(FakeTool::new("a").fails(ToolError::failed("no")));
    assert!(host.call("a", "").await.unwrap_err().is_fatal());
    assert!(host.call("b", "").await.unwrap_err().is_fatal());
}

#[tokio::test]
async fn the_error_policy_may_override_both() {
    let executor = Executor::builder()
        .all_errors_fatal(true)
        .errors(|tool: &str, error: ToolError| match error.kind() {
            ErrorKind::UnknownTool => error.with_severity(ErrorSeverity::Recoverable),
            _ => error.with_message(format!("{tool} is closed")),
        })
        .build();
    let host = executor.host(FakeTool::new("a").fails(ToolError::failed("no")));
    let error = host.call("a", "").await.unwrap_err();
    assert_eq!((error.message(), error.is_fatal()), ("a is closed", true));
    assert!(!host.call("b", "").await.unwrap_err().is_fatal());
}

#[tokio::test]
async fn a_blank_message_gets_a_text_naming_tool_and_type() {
    let tool = FakeTool::new("a").fails(Failure::from(Blank).into());
    let error = Executor::new().host(tool).call("a", "").await.unwrap_err();
    assert_eq!(error.message(), "error in tool `a` (behaviour::errors::Blank)");
    let tool = FakeTool::new("a").fails(ToolError::failed(""));
    let error = Executor::new().host(tool).call("a", "").await.unwrap_err();
    assert_eq!(error.message(), "error in tool `a` (failed)");
}

#[test]
fn a_tool_error_passes_through_failure_and_boxes_unchanged() {
    let error = ToolError::retry("later").with_code(7);
    let through: ToolError = Failure::from(error.clone()).into();
    assert_eq!((through.code(), through.is_retryable()), (Some(7), true));
    let boxed: Box<dyn Error + Send + Sync> = Box::new(error);
    assert_eq!(ToolError::from_error(boxed).code(), Some(7));
}

#[test]
fn a_written_error_lacks_only_its_source_and_its_detail() {
    let output = ToolOutput::Parts(vec![Part::text("what was done")]);
    let error =
        ToolError::fatal(std::io::Error::other("gone")).with_code(3).with_detail("disk 2").with_output(output.clone());
    let written = serde_json::to_string(&error).unwrap();
    assert!(!written.contains("disk 2"), "{written}");
    let read: ToolError = serde_json::from_str(&written).unwrap();
    assert_eq!(read.output(), Some(&output));
    assert_eq!((read.kind(), read.message(), read.code()), (ErrorKind::Failed, "gone", Some(3)));
    assert_eq!((read.detail(), read.is_fatal(), read.source().is_some()), (None, true, false));
}

#[test]
fn a_timeout_is_shown_in_readable_units() {
    let message = |nanoseconds| ToolError::timeout(Duration::from_nanos(nanoseconds)).message().to_owned();
    assert_eq!(message(29_999_999_939), "the tool did not answer within 30s");
    assert_eq!(message(1_500_000_000), "the tool did not answer within 1.5s");
    assert_eq!(message(249_999_001), "the tool did not answer within 250ms");
}
