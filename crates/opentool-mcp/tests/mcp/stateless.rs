//! The revision 2026-07-28: every request carries what it needs.

use opentool_server::Server;
use serde_json::json;

use crate::client::{Running, STATELESS, post, post_text, request, start, stateless};
use crate::tools::every_way;

async fn serve() -> Running {
    start(Server::new(every_way())).await
}

#[tokio::test]
async fn discovery_names_revisions_capabilities_and_the_server() {
    let server = serve().await;
    let result = server.stateless("server/discover", json!({})).await["result"].take();
    assert_eq!(
        result["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    );
    assert_eq!(result["capabilities"], json!({ "tools": {} }), "these tools never change");
    assert_eq!(result["instructions"], "Use `add` for sums.");
    assert_eq!((&result["resultType"], &result["cacheScope"]), (&json!("complete"), &json!("public")));
    assert!(result["ttlMs"].as_u64().unwrap() > 0);
    let info = json!({ "name": "Everything", "title": "Everything", "version": "3.2.1" });
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], info);
}

#[tokio::test]
async fn headers_must_repeat_the_body() {
    let server = serve().await;
    let call = stateless("tools/call", json!({ "name": "text" }));
    assert_eq!(server.ask(&call).await.status, 200);
    for (header, value) in [
        ("MCP-Protocol-Version", None),
        ("MCP-Protocol-Version", Some("2025-11-25")),
        ("Mcp-Method", None),
        ("Mcp-Method", Some("tools/list")),
        ("Mcp-Method", Some("TOOLS/CALL")),
        ("Mcp-Name", None),
        ("Mcp-Name", Some("other")),
        ("Mcp-Name", Some("=?base64?broken!?=")),
    ] {
        server.ask(&call.clone().replace(header, value)).await.error(400, -32020);
    }
    let twice = call.clone().header("Mcp-Name", "text");
    server.ask(&twice).await.error(400, -32020);
    let encoded = call.replace("Mcp-Name", Some("=?base64?dGV4dA==?="));
    assert_eq!(server.ask(&encoded).await.status, 200);
}

#[tokio::test]
async fn an_unknown_revision_or_method_and_missing_metadata_are_refused() {
    let server = serve().await;
    let unknown = stateless("tools/list", json!({}));
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "1900-01-01", "io.modelcontextprotocol/clientCapabilities": {},
    } } });
    let reply =
        server.ask(&unknown.clone().replace("MCP-Protocol-Version", Some("1900-01-01")).body(&body.to_string())).await;
    reply.error(400, -32022);
    assert_eq!(reply.json()["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(reply.json()["error"]["data"]["supported"][0], STATELESS);
    for missing in [json!({}), json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": STATELESS } })] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": missing });
        server.ask(&unknown.clone().body(&body.to_string())).await.error(400, -32602);
    }
    for method in ["ping", "initialize", "logging/setLevel", "prompts/list", "resources/read", "no/such"] {
        server.ask(&stateless(method, json!({}))).await.error(404, -32601);
    }
    let reply = server.ask(&stateless("tools/call", json!({ "name": "ad" }))).await;
    assert_eq!(reply.error(200, -32602), "there is no tool named `ad`; did you mean `add`?");
    server.ask(&stateless("tools/call", json!({}))).await.error(200, -32602);
}

#[tokio::test]
async fn there_is_neither_session_nor_stream_of_its_own() {
    let server = serve().await;
    for method in ["GET", "DELETE", "PUT"] {
        let reply = server.ask(&request(method).header("Accept", "text/event-stream")).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    }
    let listed = stateless("tools/list", json!({})).header("Mcp-Session-Id", "made-up");
    let reply = server.ask(&listed).await;
    assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    let notified = json!({ "jsonrpc": "2.0", "method": "notifications/whatever" });
    assert_eq!(server.ask(&post(&notified).header("MCP-Protocol-Version", STATELESS)).await.status, 202);
    server.ask(&post_text("[]").header("MCP-Protocol-Version", STATELESS)).await.error(400, -32600);
}

#[tokio::test]
async fn with_keys_nothing_is_public() {
    let server = start(Server::new(every_way()).api_keys(["k"])).await;
    let list = stateless("tools/list", json!({}));
    assert_eq!(server.ask(&list).await.status, 401);
    let reply = server.ask(&list.header("Authorization", "Bearer k")).await;
    assert_eq!(reply.json()["result"]["cacheScope"], "private");
}

#[tokio::test]
async fn an_argument_that_a_schema_mirrors_must_be_in_its_header() {
    let schema =
        json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
    let tool = opentool_core::testing::FakeTool::new("query").with_schema(schema).answers("ran");
    let server = start(Server::new(tool)).await;
    let call = stateless("tools/call", json!({ "name": "query", "arguments": { "region": "us" } }));
    server.ask(&call).await.error(400, -32020);
    server.ask(&call.clone().header("Mcp-Param-Region", "eu")).await.error(400, -32020);
    assert_eq!(server.ask(&call.header("Mcp-Param-Region", "us")).await.status, 200);
    let without = stateless("tools/call", json!({ "name": "query", "arguments": {} }));
    assert_eq!(server.ask(&without).await.status, 200);
}
