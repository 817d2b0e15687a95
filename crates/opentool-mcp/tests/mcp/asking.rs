//! Tools that ask the user while they run.

use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{Question, ToolOutput, UserAnswer};
use opentool_server::Server;
use serde_json::{Value, json};

use crate::client::{Request, Running, message, post, start, stateless};

/// Asks for a name and then for a colour, and says both.
pub(crate) fn asks() -> (FakeTool, CallLog) {
    let schema =
        |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    let tool = FakeTool::new("asks").with_schema(json!({ "type": "object" })).acts(move |_, context| {
        let (name, colour) = (schema("name"), schema("colour"));
        async move {
            let mut said = Vec::new();
            for question in [Question::new("Your name?", name).with_key("who"), Question::new("A colour?", colour)] {
                said.push(match context.ask_question(question).await? {
                    UserAnswer::Accepted(content) => {
                        content.values().next().and_then(Value::as_str).unwrap().to_owned()
                    }
                    UserAnswer::Declined => "declined".to_owned(),
                    _ => "dismissed".to_owned(),
                });
            }
            Ok(ToolOutput::text(said.join(" ")))
        }
    });
    let log = tool.log();
    (tool, log)
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// A call of the stateless revision by a client that can ask.
fn call(mut params: Value) -> Request {
    params["name"] = "asks".into();
    let request = stateless("tools/call", params.clone());
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    request.body(&message("tools/call", params).to_string())
}

async fn result(server: &Running, params: Value) -> Value {
    server.ask(&call(params)).await.json()["result"].take()
}

#[tokio::test]
async fn a_stateless_call_starts_again_with_each_answer() {
    let (tool, log) = asks();
    let server = start(Server::new(tool)).await;
    let first = result(&server, json!({})).await;
    assert_eq!(first["resultType"], "input_required");
    let asked = json!({ "who": { "method": "elicitation/create", "params": {
        "mode": "form",
        "message": "Your name?",
        "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
    } } });
    assert_eq!(first["inputRequests"], asked);
    let given = json!({ "who": accept(json!({ "name": "Ann" })), "else": 7 });
    let second = result(&server, json!({ "inputResponses": given, "requestState": first["requestState"] })).await;
    assert_eq!(second["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["question-2"]);
    assert_ne!(second["requestState"], first["requestState"]);
    let given = json!({ "question-2": { "action": "decline" } });
    let last = result(&server, json!({ "inputResponses": given, "requestState": second["requestState"] })).await;
    assert_eq!((&last["resultType"], &last["content"][0]["text"]), (&json!("complete"), &json!("Ann declined")));
    assert_eq!(log.count(), 3, "it ran from its start each time");
}

#[tokio::test]
async fn the_state_of_a_call_is_good_once_and_for_that_call_only() {
    let (tool, _) = asks();
    let server = start(Server::new(tool)).await;
    let state = result(&server, json!({})).await["requestState"].take();
    let given = json!({ "who": accept(json!({ "name": "Ann" })) });
    let retry = |arguments: Value, state: Value| {
        call(json!({ "arguments": arguments, "inputResponses": given, "requestState": state }))
    };
    let tampered = json!(format!("{}-TAMPERED", state.as_str().unwrap()));
    for request in [retry(json!({}), tampered), retry(json!({ "x": 1 }), state.clone())] {
        server.ask(&request).await.error(200, -32602);
    }
    let used = retry(json!({}), state);
    assert_eq!(server.ask(&used).await.json()["result"]["resultType"], "input_required");
    server.ask(&used).await.error(200, -32602);
    for broken in [json!(7), json!([])] {
        server.ask(&call(json!({ "inputResponses": broken }))).await.error(200, -32602);
    }
    for broken in [json!({ "who": 7 }), json!({ "who": { "action": "maybe" } })] {
        let state = result(&server, json!({})).await["requestState"].take();
        let request = call(json!({ "inputResponses": broken, "requestState": state }));
        server.ask(&request).await.error(200, -32602);
    }
    let unasked = result(&server, json!({ "inputResponses": given })).await;
    assert_eq!(unasked["resultType"], "input_required", "an answer without the state of a question answers none");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_an_error_that_says_so() {
    let (tool, _) = asks();
    let server = start(Server::new(tool)).await;
    let state = result(&server, json!({})).await["requestState"].take();
    let given = json!({ "who": accept(json!({ "name": 7 })) });
    let refused = result(&server, json!({ "inputResponses": given, "requestState": state })).await;
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("/name"), "{refused}");
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_an_error_with_what_is_missing() {
    let (tool, _) = asks();
    let server = start(Server::new(tool)).await;
    let reply = server.ask(&stateless("tools/call", json!({ "name": "asks" }))).await;
    reply.error(400, -32021);
    assert_eq!(reply.json()["error"]["data"], json!({ "requiredCapabilities": { "elicitation": {} } }));
    let result = server.initialize("2025-11-25").await.call("asks", json!({})).await;
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("no way to answer"), "{text}");
}

#[tokio::test]
async fn in_a_session_questions_come_on_the_stream_of_the_call() {
    let (tool, log) = asks();
    let server = start(Server::new(tool)).await;
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": { "form": {} } }, "clientInfo": {} });
    let id = server.ask(&post(&message("initialize", params))).await.header("mcp-session-id").unwrap().to_owned();
    let in_session = |message: &Value| post(message).header("Mcp-Session-Id", &id);
    let mut stream = server.open(&in_session(&message("tools/call", json!({ "name": "asks" })))).await;
    assert_eq!(stream.head().await.header("content-type"), Some("text/event-stream"));
    let question = stream.event().await.unwrap();
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Your name?"))
    );
    let stranger = json!({ "jsonrpc": "2.0", "id": question["id"], "result": accept(json!({ "name": "Eve" })) });
    assert_eq!(server.ask(&post(&stranger)).await.status, 202, "it is in no session, and answers nothing");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": accept(json!({ "name": "Ann" })) });
    assert_eq!(server.ask(&in_session(&answer)).await.status, 202);
    let question = stream.event().await.unwrap();
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "cancel" } });
    assert_eq!(server.ask(&in_session(&answer)).await.status, 202);
    assert_eq!(stream.event().await.unwrap()["result"]["content"][0]["text"], "Ann dismissed");
    assert_eq!((stream.event().await, log.count()), (None, 1), "it ran once");
    let mut stream = server.open(&in_session(&message("tools/call", json!({ "name": "asks" })))).await;
    stream.head().await;
    let question = stream.event().await.unwrap();
    let refused = json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": -32601, "message": "no" } });
    server.ask(&in_session(&refused)).await;
    assert_eq!(stream.event().await.unwrap()["result"]["isError"], true);
}
