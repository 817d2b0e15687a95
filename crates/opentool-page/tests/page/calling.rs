//! Calls that a person makes on the page.

use std::sync::atomic::Ordering::SeqCst;

use opentool_core::{AskCaller, Executor};
use opentool_page::{Page, PageSource};
use opentool_server::Server;
use serde_json::{Value, json};

use crate::browser::{Running, start};
use crate::tools::{every_way, needs_approval, removing};

async fn running() -> Running {
    start(Server::new(every_way()), Page::new()).await
}

#[tokio::test]
async fn tools_are_listed_with_what_is_known_about_them() {
    let sources = || async { vec![PageSource::new("maths", "Rust functions").isolation("none").tools(["add"])] };
    let page = Page::new().title("Test tools").version("1.2.3").mcp_path("/mcp").sources(sources);
    let server = start(Server::new(every_way()), page).await;
    let browser = server.browser().await;
    let tools = browser.get_json("/ui/api/tools").await;
    let find =
        |name: &str| tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone();
    let add = find("add");
    assert_eq!(
        (&add["description"], &add["source"], &add["approval"]),
        (&json!("Add two numbers."), &json!("maths"), &json!(false))
    );
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(add["hints"], json!({ "readOnly": true, "destructive": null, "idempotent": null, "openWorld": null }));
    let remove = find("remove");
    assert_eq!(
        (&remove["hints"]["destructive"], &remove["approval"], &remove["source"]),
        (&json!(true), &json!(true), &Value::Null)
    );

    let info = browser.get_json("/ui/api/info").await;
    let addr = server.addr;
    assert_eq!(
        info,
        json!({
            "version": "1.2.3", "title": "Test tools", "keys": false, "chat": null, "runs": false,
            "addresses": { "opentool": format!("http://{addr}/opentool"), "mcp": format!("http://{addr}/mcp") },
            "paths": { "opentool": "/opentool", "mcp": "/mcp" },
            "sources": [{ "name": "maths", "kind": "Rust functions", "isolation": "none", "up": true, "tools": 1 }],
        })
    );
}

#[tokio::test]
async fn a_call_ends_with_its_result_and_the_same_as_an_exchange() {
    let server = running().await;
    let browser = server.browser().await;
    let mut lines = browser.open("/ui/api/calls", r#"{"id":"c1","tool":"add","arguments":{"a":1, "b":2}}"#).await;
    let all = lines.all().await;
    assert_eq!(all[0], json!({ "type": "started" }));
    let outcome = &all[1];
    assert_eq!(
        (&outcome["type"], &outcome["ok"], &outcome["result"]),
        (&json!("outcome"), &json!(true), &json!({ "result": 3 }))
    );
    assert_eq!(outcome["parts"], json!([{ "type": "json", "value": 3 }]));
    assert_eq!(outcome["bytes"], 1);
    assert!(outcome["durationMs"].as_f64().unwrap() >= 0.0);
    assert_eq!(outcome["raw"]["request"], r#"{"jsonrpc":"2.0","id":"c1","method":"add","params":{"a":1, "b":2}}"#);
    // What was shown is what the server would have answered.
    let request = outcome["raw"]["request"].as_str().unwrap();
    let reply = server.bare("POST", "/opentool/call").json(request).send().await;
    assert_eq!(String::from_utf8(reply.body).unwrap(), outcome["raw"]["response"].as_str().unwrap());
}

#[tokio::test]
async fn large_numbers_stay_as_they_were_written() {
    let server = running().await;
    let browser = server.browser().await;
    let body = r#"{"id":"c1","tool":"add","arguments":{"a":9223372036854775806,"b":1}}"#;
    let mut lines = browser.open("/ui/api/calls", body).await;
    lines.next_text().await.unwrap();
    let outcome = lines.next_text().await.unwrap();
    assert!(outcome.contains(r#""result":{"result":9223372036854775807}"#), "{outcome}");
    assert!(outcome.contains(r#"{\"a\":9223372036854775806,\"b\":1}"#), "{outcome}");
    let line_break =
        "{\"id\":\"c1\",\"tool\":\"add\",\"arguments\":{\n\"a\":123456789012345678901234567890,\r\n\"b\":1}}";
    let outcome = browser.open("/ui/api/calls", line_break).await.last().await;
    assert_eq!(outcome["error"]["problems"][0]["pointer"], "/a", "{outcome}");
    assert!(outcome["raw"]["request"].as_str().unwrap().contains("123456789012345678901234567890"));
}

#[tokio::test]
async fn mistakes_are_named_by_their_place() {
    let server = running().await;
    let browser = server.browser().await;
    let outcome = browser.outcome("add", r#"{"a":"one","b":2}"#).await;
    assert_eq!((&outcome["ok"], &outcome["error"]["kind"]), (&json!(false), &json!("invalid_arguments")));
    let problems = outcome["error"]["problems"].as_array().unwrap();
    assert_eq!((problems.len(), &problems[0]["pointer"]), (1, &json!("/a")));
    assert!(problems[0]["message"].as_str().unwrap().contains("integer"), "{problems:?}");
    let response: Value = serde_json::from_str(outcome["raw"]["response"].as_str().unwrap()).unwrap();
    assert_eq!(response["error"]["code"], 400);

    let outcome = browser.outcome("ad", "{}").await;
    assert_eq!((&outcome["error"]["kind"], &outcome["error"]["near"][0]), (&json!("unknown_tool"), &json!("add")));
    let outcome = browser.outcome("add", "[1]").await;
    assert_eq!(outcome["error"]["kind"], "invalid_arguments");
    let outcome = browser.outcome("fail", "{}").await;
    assert_eq!(outcome["error"]["message"], "the calendar is read-only");
    for unreadable in ["", "{", r#"{"id":"c1"}"#, r#"{"id":"c1","tool":"add","tool":"echo"}"#, "[]"] {
        assert_eq!(browser.post("/ui/api/calls", unreadable).await.refused(400), "invalid-request", "{unreadable}");
    }
    for id in ["", "a b", "../x", &"x".repeat(65)] {
        let body = json!({ "id": id, "tool": "add" }).to_string();
        assert_eq!(browser.post("/ui/api/calls", &body).await.refused(400), "invalid-request", "{id}");
    }
}

#[tokio::test]
async fn progress_and_pieces_come_while_the_call_runs() {
    let server = running().await;
    let browser = server.browser().await;
    let mut lines = browser.open("/ui/api/calls", r#"{"id":"c1","tool":"count","arguments":{}}"#).await;
    let all = lines.all().await;
    let of = |wanted: &str| all.iter().filter(|line| line["type"] == wanted).cloned().collect::<Vec<_>>();
    assert_eq!(
        of("progress").last().unwrap(),
        &json!({ "type": "progress", "progress": 3.0, "total": 3.0, "message": "step 3" })
    );
    let pieces = of("piece");
    assert_eq!(pieces.len(), 3);
    assert_eq!(pieces[0]["value"], json!({ "result": "piece 1" }));
    assert_eq!(pieces[0]["parts"], json!([{ "type": "text", "text": "piece 1" }]));
    assert_eq!(all.last().unwrap()["parts"][0]["text"], "counted");
}

#[tokio::test]
async fn media_come_as_parts() {
    let server = running().await;
    let outcome = server.browser().await.outcome("picture", "{}").await;
    assert_eq!(
        outcome["parts"],
        json!([{ "type": "text", "text": "a pixel" }, { "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" }])
    );
}

#[tokio::test]
async fn a_call_is_cancelled_by_its_page() {
    let server = running().await;
    let browser = server.browser().await;
    let mut lines = browser.open("/ui/api/calls", r#"{"id":"slow","tool":"hang","arguments":{}}"#).await;
    assert_eq!(lines.next().await.unwrap()["type"], "started");
    let duplicate = browser.post("/ui/api/calls", r#"{"id":"slow","tool":"hang","arguments":{}}"#).await;
    assert_eq!(duplicate.refused(409), "conflict");
    let other = server.browser().await;
    assert_eq!(other.delete("/ui/api/calls/slow").await.refused(404), "not-found", "it belongs to another session");
    assert_eq!(browser.delete("/ui/api/calls/slow").await.status, 204);
    let outcome = lines.next().await.unwrap();
    assert_eq!(outcome["error"]["kind"], "cancelled");
    assert!(lines.next().await.is_none());
    assert_eq!(browser.delete("/ui/api/calls/slow").await.refused(404), "not-found");
}

#[tokio::test]
async fn what_may_destroy_is_confirmed_first() {
    let (tools, removed) = removing();
    let server = start(Server::new(tools), Page::new()).await;
    let browser = server.browser().await;
    let reply = browser.post("/ui/api/calls", r#"{"id":"c1","tool":"remove","arguments":{"name":"x"}}"#).await;
    assert_eq!(reply.refused(409), "confirmation-required");
    assert_eq!(removed.load(SeqCst), 0);
    assert_eq!(browser.outcome("remove", r#"{"name":"x"}"#).await["ok"], true);
    assert_eq!(removed.load(SeqCst), 1);
}

#[tokio::test]
async fn the_server_keeps_the_last_word_about_approval() {
    let confirmed = r#"{"id":"c1","tool":"pay","arguments":{},"confirmed":true}"#;
    // Without a policy of its own, the word of the person is enough.
    let server = start(Server::new(needs_approval()), Page::new()).await;
    let browser = server.browser().await;
    assert_eq!(browser.open("/ui/api/calls", confirmed).await.last().await["ok"], true);
    let unconfirmed = r#"{"id":"c1","tool":"pay","arguments":{}}"#;
    assert_eq!(browser.post("/ui/api/calls", unconfirmed).await.refused(409), "confirmation-required");
    // A policy that asks the caller has its answer.
    let executor = Executor::builder().approval(AskCaller::new()).build();
    let server = start(Server::new(needs_approval()).executor(executor), Page::new()).await;
    let browser = server.browser().await;
    let all = browser.open("/ui/api/calls", confirmed).await.all().await;
    assert_eq!(all.last().unwrap()["ok"], true, "{all:?}");
    assert!(all.iter().all(|line| line["type"] != "ask"), "the person is not asked twice");
    // One that denies, denies.
    let deny = opentool_core::Ask::with(|_| async { opentool_core::Decision::Deny("not today".to_owned()) });
    let server =
        start(Server::new(needs_approval()).executor(Executor::builder().approval(deny).build()), Page::new()).await;
    let outcome = server.browser().await.open("/ui/api/calls", confirmed).await.last().await;
    assert_eq!((&outcome["error"]["kind"], &outcome["error"]["message"]), (&json!("denied"), &json!("not today")));
}

#[tokio::test]
async fn questions_of_tools_are_answered_on_the_page() {
    let server = running().await;
    let browser = server.browser().await;
    for (answer, expected) in [
        (json!({ "action": "accept", "content": { "name": "Ann" } }), "Hello, Ann!"),
        (json!({ "action": "decline" }), "declined"),
        (json!({ "action": "cancel" }), "closed"),
    ] {
        let mut lines = browser.open("/ui/api/calls", r#"{"id":"c1","tool":"greet","arguments":{}}"#).await;
        let ask = lines.next_of("ask").await;
        assert_eq!((&ask["message"], &ask["schema"]["required"]), (&json!("What is your name?"), &json!(["name"])));
        let mut body = answer;
        body["ask"] = "no-such-question".into();
        assert_eq!(browser.post("/ui/api/calls/c1/answers", &body.to_string()).await.refused(404), "not-found");
        body["ask"] = ask["ask"].clone();
        assert_eq!(browser.post("/ui/api/calls/c1/answers", &body.to_string()).await.status, 204);
        assert_eq!(lines.last().await["parts"][0]["text"], expected);
    }
}

#[tokio::test]
async fn calls_are_counted_like_all_others() {
    let server = running().await;
    let browser = server.browser().await;
    browser.outcome("add", r#"{"a":1,"b":2}"#).await;
    browser.outcome("add", r#"{"a":"x","b":2}"#).await;
    let metrics = String::from_utf8(server.bare("GET", "/metrics").send().await.body).unwrap();
    assert!(metrics.contains(r#"opentool_calls_total{tool="add",outcome="ok"} 1"#), "{metrics}");
    assert!(metrics.contains(r#"opentool_calls_total{tool="add",outcome="invalid_arguments"} 1"#), "{metrics}");
}
