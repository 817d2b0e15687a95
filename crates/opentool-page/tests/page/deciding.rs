//! The runs of a journal, and decisions about them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatModel, TurnEnd};
use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{
    Ask, Executor, Host, IdempotencyKey, Outcome, ToolCall, ToolContext, ToolError, ToolMetadata, ToolOutput, Toolbox,
};
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
        let other = json!({ "place": "7", "decision": "run-again" }).to_string();
        assert_eq!(browser.post(&decisions, &other).await.refused(404), "not-found");
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

/// A client whose model pays two bills, each of which has to be approved.
fn paying_client(journal: &SqliteJournal) -> (ChatClient, CallLog) {
    let calls = Reply::call("pay", r#"{"cents":123456789012345678901}"#).and_call("pay", r#"{"cents":2}"#);
    let model = ScriptedModel::new([calls.with_text("I pay both."), Reply::text("All is settled.")]);
    let tool = FakeTool::new("pay").answers("paid").with_metadata(ToolMetadata::new().with_approval(true));
    let log = tool.log();
    let executor = Executor::builder().approval(Ask::later()).build();
    let model = ChatModel::builder(model).executor(executor).build();
    let client = ChatClient::builder(model).default_tools(tool).journal(journal.clone());
    (client.run_details(json!({ "not_stored": ["--mcp"] })).build(), log)
}

/// The entry of the call at a place.
fn call_at<'a>(run: &'a Value, place: &str) -> &'a Value {
    let mut entries = run["timeline"].as_array().unwrap().iter();
    entries.find(|entry| entry["kind"] == "call" && entry["place"] == place).unwrap()
}

#[tokio::test]
async fn a_person_allows_and_denies_calls_of_a_chat() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path()).await;
    let server = start(Server::new(every_way()), Page::new().journal(journal.clone())).await;
    let browser = server.browser().await;
    let (client, log) = paying_client(&journal);
    let waiting = client.prompt("Pay the bills.").call().await.unwrap();
    assert_eq!((waiting.end(), log.count()), (TurnEnd::Suspended, 0));
    let id = waiting.run_id().unwrap();

    let listed = browser.get_json("/ui/api/runs?status=waiting").await["runs"][0].clone();
    assert_eq!((&listed["id"], &listed["kind"], &listed["pending"]), (&json!(id), &json!("chat"), &json!(2)));
    let path = format!("/ui/api/runs/{id}");
    let shown = browser.get_json(&path).await;
    let kinds: Vec<_> = shown["timeline"].as_array().unwrap().iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds, ["request", "answer", "suspended", "call", "call"]);
    for place in ["1.0", "1.1"] {
        let call = call_at(&shown, place);
        assert_eq!((&call["tool"], &call["status"]), (&json!("pay"), &json!("waiting")));
        assert_eq!(call["decidable"], json!(["allow", "deny"]));
    }
    let text = String::from_utf8(browser.get(&path).await.body).unwrap();
    assert!(text.contains(r#""arguments":{"cents":123456789012345678901}"#), "{text}");
    assert_eq!((&shown["run"]["pending"], &shown["resume"]), (&json!(2), &Value::Null));

    let decisions = format!("{path}/decisions");
    let allow = r#"{"place":"1.0","decision":"allow"}"#;
    for (wrong, status, kind) in [
        (r#"{"place":"7.0","decision":"allow"}"#, 409, "conflict"),
        (r#"{"place":"1.0","decision":"run-again"}"#, 404, "not-found"),
    ] {
        assert_eq!(browser.post(&decisions, wrong).await.refused(status), kind);
    }
    assert_eq!(browser.post("/ui/api/runs/none/decisions", allow).await.refused(404), "not-found");
    assert_eq!(browser.post(&decisions, allow).await.status, 204);
    assert_eq!(browser.post(&decisions, allow).await.refused(409), "conflict");
    let shown = browser.get_json(&path).await;
    assert_eq!((&shown["run"]["pending"], &shown["resume"]), (&json!(1), &Value::Null));
    let deny = r#"{"place":"1.1","decision":"deny","reason":"it was paid by hand"}"#;
    assert_eq!(browser.post(&decisions, deny).await.status, 204);

    let shown = browser.get_json(&path).await;
    let command = json!(["opentool", "runs", "--journal", journal.path(), "resume", id]);
    assert_eq!((&shown["run"]["pending"], &shown["resume"]), (&json!(0), &command));
    assert_eq!(shown["resumeNeeds"], json!(["--mcp"]));
    assert_eq!(browser.get_json("/ui/api/runs").await["runs"][0]["pending"], 0);
    assert_eq!(log.count(), 0, "a decision alone runs nothing");

    let answer = client.resume_run(id).call().await.unwrap();
    assert_eq!((answer.text().as_str(), log.count()), ("All is settled.", 1));
    let said: Vec<_> = answer.messages()[2].answers().iter().map(|answer| answer.text.to_string()).collect();
    assert_eq!(said, ["paid", "the user did not approve the call: it was paid by hand"]);
    let shown = browser.get_json(&path).await;
    let call = call_at(&shown, "1.0");
    assert_eq!((&call["status"], &call["result"]), (&json!("done"), &json!({ "result": "paid" })));
    assert_eq!((&shown["run"]["status"], &shown["resume"]), (&json!("done"), &Value::Null));
    let kinds: Vec<_> = shown["timeline"].as_array().unwrap().iter().map(|entry| entry["kind"].clone()).collect();
    let expected =
        ["request", "answer", "suspended", "decision", "decision", "call", "round", "answer", "end"].map(Value::from);
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn a_person_decides_about_an_interrupted_call_of_a_chat() {
    let folder = tempfile::tempdir().unwrap();
    let journal = journal(folder.path()).await;
    let server = start(Server::new(every_way()), Page::new().journal(journal.clone())).await;
    let browser = server.browser().await;
    let client = |reply, tool: FakeTool| {
        ChatClient::builder(ScriptedModel::new([reply])).default_tools(tool).journal(journal.clone()).build()
    };
    let hangs = client(Reply::call("pay", "{}"), FakeTool::new("pay").hangs());
    assert!(timeout(Duration::from_millis(300), hangs.prompt("Pay.").call()).await.is_err());
    let id = browser.get_json("/ui/api/runs").await["runs"][0]["id"].as_str().unwrap().to_owned();
    let uncertain = browser.get_json("/ui/api/runs?status=uncertain").await;
    assert_eq!(uncertain["runs"][0]["id"], json!(id), "a call of it is uncertain");
    let tool = FakeTool::new("pay").answers("paid again");
    let log = tool.log();
    let resumed = client(Reply::text("It is paid."), tool);
    assert_eq!(resumed.resume_run(&id).call().await.unwrap().end(), TurnEnd::Suspended);

    let path = format!("/ui/api/runs/{id}");
    let shown = browser.get_json(&path).await;
    assert_eq!(call_at(&shown, "1.0")["decidable"], json!(["happened", "run-again", "give-up"]));
    assert_eq!((&shown["run"]["pending"], &shown["resume"]), (&json!(1), &Value::Null));
    let decisions = format!("{path}/decisions");
    let allow = r#"{"place":"1.0","decision":"allow"}"#;
    assert_eq!(browser.post(&decisions, allow).await.refused(409), "conflict");
    let happened = r#"{"place":"1.0","decision":"happened","result":"paid then"}"#;
    assert_eq!(browser.post(&decisions, happened).await.status, 204);
    assert_eq!(browser.get_json(&path).await["resume"][5], json!(id));
    let answer = resumed.resume_run(&id).call().await.unwrap();
    assert_eq!((answer.text().as_str(), log.count()), ("It is paid.", 0));
    assert_eq!(&*answer.messages()[2].answers()[0].text, "paid then");
}

#[tokio::test]
async fn a_page_is_notified_when_runs_change() {
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
