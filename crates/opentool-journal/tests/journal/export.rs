//! A run as JSON Lines.

use opentool_core::testing::FakeTool;
use opentool_core::{ToolCall, ToolContext, ToolError, ToolOutput};
use opentool_journal::{ExportError, RunExport, RunStatus};
use serde_json::{Value, json};

use super::{folder, host, open};

#[tokio::test]
async fn an_export_reads_back_as_it_was_written() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("chat", "pay \"Ann\"").await.unwrap();
    run.add_step("input", &json!({"text": "pay"})).await.unwrap();
    let number = ToolOutput::from_json_text("123456789012345678901234567890").unwrap();
    let host = host([FakeTool::new("pay").answers(number), FakeTool::new("fail").fails(ToolError::failed("no"))]);
    let context = run.context(&ToolContext::new());
    for tool in ["pay", "fail"] {
        host.run(ToolCall::new("1", tool, r#"{"n":12345678901234567890123}"#), &context).await;
    }
    run.add_step("end", &json!({"text": "x".repeat(300_000)})).await.unwrap();
    run.finish(RunStatus::Done).await.unwrap();

    let text = journal.export(run.id()).await.unwrap().to_string();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line.as_object().unwrap().keys().next().unwrap().as_str()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1], kinds.len()), ("run", "end", 6));
    assert!(text.contains(r#""arguments":{"n":12345678901234567890123}"#));
    assert!(
        text.contains(r#""outcome":{"output":{"json":123456789012345678901234567890},"return_direct":false}"#),
        "{text}"
    );
    let read = RunExport::parse(&text).unwrap();
    assert_eq!(read.to_string(), text);
    assert_eq!((read.record.steps.len(), read.record.calls.len()), (2, 2));

    let cut = &text[..text.trim_end().rfind('\n').unwrap()];
    assert!(matches!(RunExport::parse(cut), Err(ExportError::Incomplete { steps: 2, calls: 2 })));
    assert!(matches!(RunExport::parse(""), Err(ExportError::NoRun)));
    assert!(matches!(RunExport::parse("{"), Err(ExportError::Line { line: 1, .. })));
    let newer = text.replacen(r#""version":1"#, r#""version":2"#, 1);
    assert!(matches!(RunExport::parse(&newer), Err(ExportError::Newer { version: 2 })));
}
