//! Programs that serve badly, by accident or on purpose.

use std::time::Duration;

use opentool_core::ErrorKind;
use opentool_core::testing::Probe;
use opentool_mcp::{McpClient, McpError};

use crate::client_servers::child;

async fn refusal(client: McpClient) -> String {
    match client.toolbox().await.unwrap_err() {
        McpError::Protocol { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_list_without_end_is_an_error() {
    assert_eq!(refusal(child("endless-list").max_tools(200)).await, "it lists more than 200 tools");
    assert_eq!(refusal(child("empty-pages")).await, "its list of tools has more than 1000 pages");
    let reason = refusal(child("large-list").max_list_size(1 << 20)).await;
    assert_eq!(reason, "its list of tools has more than 1048576 bytes");
}

#[tokio::test]
async fn a_line_without_end_ends_the_connection() {
    let reason = refusal(child("huge-line").max_message_size(1 << 20)).await;
    assert_eq!(reason, "it sent a message of more than 1048576 bytes");
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_its_call_only() {
    let probe = Probe::new(child("huge-result").max_message_size(100_000));
    for _ in 0..2 {
        let answer = probe.call("call", "{}").await;
        answer.assert_error(ErrorKind::InvalidResult);
        let detail = answer.outcome().error().unwrap().detail().unwrap();
        assert!(detail.ends_with("it sent a message of more than 100000 bytes"), "{detail}");
    }
}

#[tokio::test]
async fn silence_ends_at_the_deadline() {
    let short = Duration::from_millis(300);
    for mode in ["silent", "silent-list"] {
        let error = child(mode).start_timeout(short).toolbox().await.unwrap_err();
        assert!(matches!(error, McpError::Timeout { after, .. } if after == short), "{mode}: {error:?}");
    }
    Probe::new(child("silent-call").timeout(short)).call("call", "{}").await.assert_error(ErrorKind::Timeout);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_call_at_once() {
    let answer = Probe::new(child("bad-result")).call("call", "{}").await;
    assert!(answer.outcome().is_error());
}

#[tokio::test]
async fn an_error_of_the_protocol_reaches_the_model_without_escape_codes() {
    let answer = Probe::new(child("refuses")).call("call", "{}").await;
    answer.assert_error(ErrorKind::InvalidArguments).assert_message("no \\u{1b}[31mway");
    let error = answer.outcome().error().unwrap();
    assert_eq!((error.code(), error.data()), (Some(-32602), Some(&serde_json::json!({ "near": ["x"] }))));
}

#[tokio::test]
async fn tools_that_cannot_be_used_are_left_out_and_hints_are_not_trusted() {
    let client = child("bad-tools");
    let toolbox = client.toolbox().await.unwrap();
    let names: Vec<_> = toolbox.names().collect();
    assert_eq!((names.len(), names[0], names[2]), (3, "good", "a_b"), "{names:?}");
    assert!(names[1].starts_with("a_b_"), "{names:?}");
    let good = toolbox.get("good").unwrap();
    assert_eq!(good.metadata().read_only(), None);
    assert_eq!(good.definition().extension("annotations").unwrap()["readOnlyHint"], true);
    let trusted = child("bad-tools").trust_annotations(true).toolbox().await.unwrap();
    let metadata = trusted.get("good").unwrap().metadata().clone();
    assert_eq!((metadata.read_only(), metadata.destructive(), metadata.open_world()), (Some(true), Some(false), None));
}

#[tokio::test]
async fn references_that_multiply_cost_neither_time_nor_the_other_tools() {
    let client = child("ref-bombs");
    let toolbox = client.toolbox().await.unwrap();
    let probe = Probe::new(client);
    probe.call("call", "{}").await.assert_text("call");
    let nested = (0..50).fold("{}".to_owned(), |inner, _| format!(r#"{{"left":{inner},"right":{{}}}}"#));
    let names: Vec<_> = toolbox.names().collect();
    assert_eq!(names, ["tree", "call"]);
    probe.call("tree", &*nested).await.assert_text("tree");
}
