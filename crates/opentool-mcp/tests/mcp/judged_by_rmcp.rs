//! The client of the official Rust SDK, which shares no code with the server.

use opentool_core::Executor;
use opentool_mcp::Mcp;
use opentool_server::Server;
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

use crate::client::start;
use crate::tools::every_way;

fn call(name: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(arguments.as_object().cloned().unwrap())
}

/// The result as the client read it.
fn read(result: &CallToolResult) -> Value {
    serde_json::to_value(result).unwrap()
}

/// Over a pair of streams.
async fn over_streams(lifecycle: ClientLifecycleMode, revision: ProtocolVersion) {
    let (writer, input) = tokio::io::duplex(64 * 1024);
    let (output, reader) = tokio::io::duplex(64 * 1024);
    let host = Executor::new().host(every_way());
    let served = tokio::spawn(Mcp::new().serve_streams(host, input, output));
    let client = ().serve_with_lifecycle((reader, writer), lifecycle).await.unwrap();
    lists_and_calls(&client, revision).await;
    client.cancel().await.unwrap();
    served.await.unwrap().unwrap();
}

/// Over HTTP, with the SDK's own transport too.
async fn over_http(lifecycle: ClientLifecycleMode, revision: ProtocolVersion) {
    // Another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = start(Server::new(every_way())).await;
    let transport = StreamableHttpClientTransport::from_uri(format!("http://{}/mcp", server.addr));
    let client = ().serve_with_lifecycle(transport, lifecycle).await.unwrap();
    lists_and_calls(&client, revision).await;
    client.cancel().await.unwrap();
    server.handle.shutdown();
    server.ended().await;
}

async fn lists_and_calls(client: &RunningService<RoleClient, ()>, revision: ProtocolVersion) {
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
}

fn newest() -> (ClientLifecycleMode, ProtocolVersion) {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    (ClientLifecycleMode::Discover { preferred_versions }, ProtocolVersion::V_2026_07_28)
}

fn older() -> (ClientLifecycleMode, ProtocolVersion) {
    (ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25)
}

#[tokio::test]
async fn it_discovers_the_server_and_calls_its_tools() {
    let (lifecycle, revision) = newest();
    over_streams(lifecycle, revision).await;
}

#[tokio::test]
async fn it_initializes_the_server_and_calls_its_tools() {
    let (lifecycle, revision) = older();
    over_streams(lifecycle, revision).await;
}

#[tokio::test]
async fn over_http_it_does_both_too() {
    for (lifecycle, revision) in [newest(), older()] {
        over_http(lifecycle, revision).await;
    }
}
