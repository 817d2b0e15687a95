//! The client of the official Rust SDK, which shares no code with the server.

use opentool_core::Executor;
use opentool_mcp::Mcp;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _};
use serde_json::{Value, json};

use crate::tools::every_way;

fn call(name: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap())
}

/// The result as the client read it.
fn read(result: &CallToolResult) -> Value {
    serde_json::to_value(result).unwrap()
}

async fn lists_and_calls(lifecycle: ClientLifecycleMode, revision: ProtocolVersion) {
    let (writer, input) = tokio::io::duplex(64 * 1024);
    let (output, reader) = tokio::io::duplex(64 * 1024);
    let host = Executor::new().host(every_way());
    let served = tokio::spawn(Mcp::new().serve_streams(host, input, output));
    let client = ().serve_with_lifecycle((reader, writer), lifecycle).await.unwrap();
    assert_eq!(client.peer_info().unwrap().protocol_version, revision);

    let tools = client.list_all_tools().await.unwrap();
    let count = tools.iter().find(|tool| tool.name == "count").unwrap();
    assert_eq!(count.title.as_deref(), Some("Count things"));
    assert!(count.output_schema.is_some());
    let reads = tools.iter().find(|tool| tool.name == "reads").unwrap();
    let hints = reads.annotations.as_ref().unwrap();
    assert_eq!((hints.read_only_hint, hints.destructive_hint, hints.open_world_hint), (Some(true), None, Some(false)));

    let sum = read(&client.call_tool(call("add", json!({ "a": 1, "b": 2 }))).await.unwrap());
    assert_eq!(sum["content"][0]["text"], "3");
    let refused = read(&client.call_tool(call("add", json!({ "a": 1 }))).await.unwrap());
    assert_eq!(refused["isError"], true);
    let parts = read(&client.call_tool(call("parts", json!({}))).await.unwrap());
    let kinds: Vec<_> =
        parts["content"].as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "audio", "resource", "resource_link", "resource"]);
    let unknown = client.call_tool(call("ad", json!({}))).await.unwrap_err();
    assert!(
        matches!(&unknown, ServiceError::McpError(error) if error.message.contains("did you mean `add`")),
        "{unknown:?}"
    );

    client.cancel().await.unwrap();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn it_discovers_the_server_and_calls_its_tools() {
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    lists_and_calls(lifecycle, ProtocolVersion::V_2026_07_28).await;
}

#[tokio::test]
async fn it_initializes_the_server_and_calls_its_tools() {
    lists_and_calls(ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25).await;
}
