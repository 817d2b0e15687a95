//! The runs of a journal, and decisions about them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{Executor, Host, IdempotencyKey, Outcome, ToolCall, ToolContext, ToolError, ToolOutput, Toolbox};
use opentool_journal::SqliteJournal;
use opentool_page::Page;
use opentool_server::Server;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::browser::start;
use crate::tools::every_way;

async fn journal(folder: &Path) -> SqliteJournal {
    SqliteJournal::open(folder.join("journal.sqlite")).await.unwrap()
}

fn host(tool: FakeTool) -> Host {
    Executor::new().host(Toolbox::from_tools([tool]).unwrap())
}

async fn pay(host: &Host, journal: &SqliteJournal, key: &str) -> Outcome {
    let key = IdempotencyKey::parse(key).unwrap();
    let context = ToolContext::new().with_idempotency_key(Arc::new(journal.clone()), key);
    host.run(ToolCall::new("1", "pay", r#"{"cents":123456789012345678901}"#), &context).await
}

/// Leaves a call behind of which it is not known whether it happened.
async fn interrupt(journal: &SqliteJournal, key: &str) {
    let hangs = host(FakeTool::new("pay").hangs());
    assert!(timeout(Duration::from_millis(50), pay(&hangs, journal, key)).await.is_err());
    let quick = host(FakeTool::new("pay").answers("paid"));
    assert!(pay(&quick, journal, key).await.is_error());
}

#[tokio::test]
async fn runs_are_listed_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path()).await;
    let server = start(Server::new(every_way()), Page::new().journal(journal.clone())).await;
    let browser = server.browser().await;
    assert_eq!(browser.get_json("/ui/api/info").await["runs"], true);
    assert_eq!(browser.get_json("/ui/api/runs").await, json!({ "runs": [], "next": null }));
    let quick = host(FakeTool::new("pay").answers("paid"));
    for key in ["a", "b", "c"] {
        assert!(!pay(&quick, &journal, key).await.is_error());
    }
    interrupt(&journal, "d").await;
    let all = browser.get_json("/ui/api/runs").await;
    let statuses: Vec<_> = all["runs"].as_array().unwrap().iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses, ["uncertain", "done", "done", "done"]);
    assert_eq!(
        (&all["runs"][0]["kind"], &all["runs"][0]["calls"], &all["runs"][0]["pending"]),
        (&json!("call"), &json!(1), &json!(1))
    );
    assert!(all["runs"][0]["createdAt"].as_i64().unwrap() > 1_700_000_000_000);

    let mut seen = Vec::new();
    let mut path = "/ui/api/runs?limit=2".to_owned();
    loop {
        let page = browser.get_json(&path).await;
        seen.extend(page["runs"].as_array().unwrap().iter().map(|run| run["id"].clone()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/ui/api/runs?limit=2&before={next}");
    }
    let ids: Vec<_> = all["runs"].as_array().unwrap().iter().map(|run| run["id"].clone()).collect();
    assert_eq!(seen, ids);
    let uncertain = browser.get_json("/ui/api/runs?status=uncertain").await;
    assert_eq!(uncertain["runs"].as_array().unwrap().len(), 1);

    let done = browser.get_json(&format!("/ui/api/runs/{}", ids[1].as_str().unwrap())).await;
    let call = &done["timeline"][0];
    assert_eq!(
        (&call["kind"], &call["tool"], &call["status"], &call["place"]),
        (&json!("call"), &json!("pay"), &json!("done"), &json!("0"))
    );
    assert_eq!((&call["result"], &call["decidable"]), (&json!({ "result": "paid" }), &json!([])));
    let text = browser.get(&format!("/ui/api/runs/{}", ids[1].as_str().unwrap())).await.body;
    assert!(String::from_utf8(text).unwrap().contains(r#""arguments":{"cents":123456789012345678901}"#));
    assert_eq!(browser.get("/ui/api/runs/none").await.refused(404), "not-found");
    assert_eq!(browser.get("/ui/api/runs?limit=many").await.refused(400), "invalid-request");
    assert_eq!(browser.get("/ui/api/runs?before=none").await.refused(404), "not-found");
}

#[tokio::test]
async fn a_person_decides_what_became_of_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path()).await;
    let server = start(Server::new(every_way()), Page::new().journal(journal.clone())).await;
    let browser = server.browser().await;
    let tool = FakeTool::new("pay").answers("paid again");
    let log = tool.log();
    let quick = host(tool);
    for (key, decision, expected) in [
        ("a", json!({ "place": "0", "decision": "happened", "result": "paid then" }), Ok("paid then")),
        ("b", json!({ "place": "0", "decision": "happened", "result": { "id": 7 } }), Ok(r#"{"id":7}"#)),
        ("c", json!({ "place": "0", "decision": "give-up", "reason": "the bank says no" }), Err("the bank says no")),
        ("d", json!({ "place": "0", "decision": "run-again" }), Ok("paid again")),
    ] {
        interrupt(&journal, key).await;
        let run = browser.get_json("/ui/api/runs").await["runs"][0].clone();
        let path = format!("/ui/api/runs/{}", run["id"].as_str().unwrap());
        let shown = browser.get_json(&path).await;
        assert_eq!(shown["timeline"][0]["decidable"], json!(["happened", "run-again", "give-up"]));
        let decisions = format!("{path}/decisions");
        let elsewhere = json!({ "place": "7", "decision": "run-again" }).to_string();
        assert_eq!(browser.post(&decisions, &elsewhere).await.refused(404), "not-found");
        assert_eq!(
            browser.post(&decisions, r#"{"place":"0","decision":"perhaps"}"#).await.refused(400),
            "invalid-request"
        );
        assert_eq!(browser.post(&decisions, &decision.to_string()).await.status, 204);
        let outcome = pay(&quick, &journal, key).await;
        match (outcome.result.as_ref().map(ToolOutput::to_text).map_err(ToolError::message), expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text, expected),
            (Err(message), Err(reason)) => assert!(message.contains(reason), "{message}"),
            (result, expected) => panic!("{result:?}, not {expected:?}"),
        }
        assert_eq!(browser.post(&decisions, &decision.to_string()).await.refused(409), "conflict");
        assert_eq!(browser.get_json(&path).await["timeline"][0]["decidable"], json!([]));
    }
    assert_eq!(log.count(), 1, "only the one that was to run again has run");
}

#[tokio::test]
async fn a_page_hears_that_runs_changed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path()).await;
    let server = start(Server::new(every_way()), Page::new().journal(journal.clone())).await;
    let mut events = server.browser().await.request("GET", "/ui/api/events").open().await;
    events.piece().await.unwrap();
    pay(&host(FakeTool::new("pay").answers("paid")), &journal, "a").await;
    assert_eq!(events.piece().await.unwrap(), b"event: runs\ndata: {}\n\n");
}

#[tokio::test]
async fn without_a_journal_there_are_no_runs() {
    let server = start(Server::new(every_way()), Page::new()).await;
    let reply = server.browser().await.get("/ui/api/runs").await;
    assert_eq!(reply.refused(404), "not-found");
    assert_ne!(reply.json()["error"]["hint"], Value::Null);
}
