//! The tools of a program, over its standard streams.

use std::time::Duration;

use futures_util::StreamExt as _;
use opentool_core::testing::Probe;
use opentool_core::{ErrorKind, Executor, ToolCall, ToolContext, ToolEvent, ToolMetadata, ToolSource as _};
use opentool_mcp::{McpClient, McpError, ServerCommand};
use tokio::task::JoinSet;

use crate::client_servers::{child, command, ends, kill, process, runs};

async fn names(client: &McpClient) -> Vec<String> {
    client.toolbox().await.unwrap().names().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_program_is_started_and_its_tools_are_called() {
    let client = child("tools");
    let toolbox = client.toolbox().await.unwrap();
    assert_eq!(toolbox.title(), Some("Child"));
    let probe = Probe::new(client);
    probe.call("echo", r#"{"a":[1,null,"x"]}"#).await.assert_json(serde_json::json!({"a":[1,null,"x"]}));
}

#[tokio::test]
async fn older_revisions_are_agreed_on_and_noise_is_skipped() {
    for mode in ["legacy", "oldest", "ends-unless-initialized"] {
        let client = child(mode);
        assert_eq!(names(&client).await, ["call"], "{mode}");
        Probe::new(client).call("call", "{}").await.assert_text("call");
    }
}

#[tokio::test]
async fn pages_of_a_list_are_read_to_the_end() {
    assert_eq!(names(&child("paged")).await, ["first", "second"]);
}

#[tokio::test]
async fn a_prefix_stands_before_each_name_and_the_server_knows_its_own() {
    let client = child("legacy").prefix("old.");
    assert_eq!(names(&client).await, ["old_call"]);
    let definition = client.toolbox().await.unwrap().get("old_call").unwrap().definition().clone();
    assert_eq!(definition.extension("x-mcp-name").unwrap(), "call");
    Probe::new(client).call("old_call", "{}").await.assert_text("call");
}

#[tokio::test]
async fn a_program_gets_only_the_variables_that_are_meant_for_it() {
    let command = command("tools").env("DECLARED", "1").inherit_env("CARGO_MANIFEST_DIR");
    let answer = Probe::new(McpClient::from_command(command)).call("variables", "{}").await;
    let given: Vec<String> = serde_json::from_str(&answer.output().to_text()).unwrap();
    let has = |name: &str| given.iter().any(|given| given == name);
    assert!(has("PATH") && has("DECLARED") && has("CARGO_MANIFEST_DIR"), "{given:?}");
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some() && !has("CARGO_PKG_NAME"), "{given:?}");
}

#[tokio::test]
async fn progress_reaches_who_watches_the_call() {
    let host = Executor::new().host(child("tools"));
    let context = ToolContext::new();
    let mut batch = host.watch(ToolCall::new("1", "steps", "{}"), &context).await;
    let mut seen = Vec::new();
    while let Some(event) = batch.next().await {
        match event {
            ToolEvent::Progress(_, progress) => seen.push((progress.done, progress.total, progress.message)),
            ToolEvent::Finished(_, outcome) => assert_eq!(outcome.output().unwrap().to_text(), "done"),
            _ => {}
        }
    }
    let step = |step: f64| (step, Some(3.0), Some(format!("step {step}")));
    assert_eq!(seen, [step(1.0), step(2.0), step(3.0)]);
}

#[tokio::test]
async fn progress_of_an_older_server_only_increases() {
    let host = Executor::new().host(child("progress"));
    let context = ToolContext::new();
    let mut batch = host.watch(ToolCall::new("1", "call", "{}"), &context).await;
    let mut seen = Vec::new();
    while let Some(event) = batch.next().await {
        if let ToolEvent::Progress(_, progress) = event {
            seen.push(progress.done);
        }
    }
    assert_eq!(seen, [1.0, 2.0]);
}

/// Waits until so many calls of `hang` run on the server.
async fn hanging(probe: &Probe, calls: usize) {
    while probe.call("hanging", "{}").await.output().to_text() != calls.to_string() {}
}

#[tokio::test]
async fn a_cancelled_call_ends_on_the_server_too() {
    let client = child("tools");
    let context = ToolContext::new();
    let cancellation = context.cancellation().clone();
    let calling = Probe::new(client.clone()).context(context);
    let call = tokio::spawn(async move {
        calling.call("hang", "{}").await.assert_error(ErrorKind::Cancelled);
    });
    let probe = Probe::new(client);
    hanging(&probe, 1).await;
    cancellation.cancel();
    call.await.unwrap();
    hanging(&probe, 0).await;
}

#[tokio::test]
async fn a_call_past_its_deadline_ends_on_the_server_too() {
    let client = child("tools").timeout(Duration::from_millis(300));
    let probe = Probe::new(client);
    probe.call("hang", "{}").await.assert_error(ErrorKind::Timeout);
    hanging(&probe, 0).await;
}

#[tokio::test]
async fn a_server_killed_in_the_middle_of_fifty_calls_is_started_again() {
    let client = child("tools");
    let server = process(&client, "pid").await;
    let grandchild = process(&client, "grandchild").await;
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let probe = Probe::new(client.clone());
        calls
            .spawn(async move { probe.call("hang", "{}").await.outcome().error().map(opentool_core::ToolError::kind) });
    }
    let probe = Probe::new(client.clone());
    hanging(&probe, 50).await;
    kill(server);
    let outcomes = calls.join_all().await;
    assert_eq!(outcomes, vec![Some(ErrorKind::Unavailable); 50]);
    probe.call("echo", r#"{"next":"works"}"#).await.assert_json(serde_json::json!({"next":"works"}));
    let second = process(&client, "pid").await;
    assert_ne!(second, server);
    ends(grandchild).await;
    client.close().await;
    assert!(!runs(second) && !runs(server));
}

#[tokio::test]
async fn what_a_server_said_last_is_for_the_operator_only() {
    let answer = Probe::new(child("tools")).call("crash", "{}").await;
    answer.assert_error(ErrorKind::Unavailable).assert_message("the tool's server ended");
    let error = answer.outcome().error().unwrap();
    assert!(!error.is_retryable(), "the call may have run");
    let repeatable = child("tools").metadata("crash", ToolMetadata::new().with_idempotent(true));
    assert!(Probe::new(repeatable).call("crash", "{}").await.outcome().error().unwrap().is_retryable());
}

#[tokio::test]
async fn closing_ends_the_program_and_what_it_started() {
    let client = child("tools");
    let (server, grandchild) = (process(&client, "pid").await, process(&client, "grandchild").await);
    assert!(runs(server) && runs(grandchild));
    client.close().await;
    assert!(!runs(server) && !runs(grandchild));
    assert_ne!(process(&client, "pid").await, server);
}

#[tokio::test]
async fn dropping_the_last_clone_ends_the_program_and_what_it_started() {
    let client = child("tools");
    let (server, grandchild) = (process(&client, "pid").await, process(&client, "grandchild").await);
    let clone = client.clone();
    drop(client);
    assert_eq!(process(&clone, "pid").await, server);
    drop(clone);
    ends(server).await;
    ends(grandchild).await;
}

#[test]
fn a_runtime_that_ends_ends_the_program_too() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = child("tools");
    let (server, grandchild) =
        runtime.block_on(async { (process(&client, "pid").await, process(&client, "grandchild").await) });
    drop(runtime);
    drop(client);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        ends(server).await;
        ends(grandchild).await;
    });
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why() {
    let missing = McpClient::from_command(ServerCommand::new("/nowhere/no-such-server"));
    let error = missing.toolbox().await.unwrap_err();
    assert!(matches!(&error, McpError::Start { .. }), "{error:?}");
    assert!(error.to_string().starts_with("the MCP server `no-such-server` cannot be started: "), "{error}");
    let failing = McpClient::from_command(ServerCommand::new("sh").args(["-c", "echo no such package >&2; exit 1"]));
    let error = failing.toolbox().await.unwrap_err();
    assert_eq!(error.to_string(), "the MCP server `sh` ended: exit status 1: no such package");
    // It is not started again at once.
    assert_eq!(failing.toolbox().await.unwrap_err().to_string(), error.to_string());
}

#[tokio::test]
async fn changed_tools_are_signalled_and_seen() {
    let client = child("changing");
    let mut changes = client.changes().unwrap();
    let probe = Probe::new(client.clone());
    probe.call("change", r#"{"a":"text"}"#).await.assert_text("changed");
    assert!(changes.changed().await);
    probe.call("change", r#"{"a":"text"}"#).await.assert_error(ErrorKind::InvalidArguments);
    probe.call("change", r#"{"a":1}"#).await.assert_text("changed");
}

#[tokio::test]
async fn a_program_that_ended_is_down_until_it_runs_again() {
    let client = child("tools");
    process(&client, "pid").await;
    assert_eq!(client.is_up(), Some(true));
    Probe::new(client.clone()).call("crash", "{}").await.assert_error(ErrorKind::Unavailable);
    assert_eq!(client.is_up(), Some(false));
    while client.is_up() != Some(true) {
        tokio::task::yield_now().await;
    }
    let missing = McpClient::from_command(ServerCommand::new("/no/such/program"));
    assert!(missing.toolbox().await.is_err());
    assert_eq!(missing.is_up(), Some(false));
}
