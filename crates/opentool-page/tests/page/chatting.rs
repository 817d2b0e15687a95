//! Chats with a scripted model.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatError, ChatModel, ChatOptions, Price, PriceTable, Usage};
use opentool_core::{Ask, Decision, Executor};
use opentool_journal::SqliteJournal;
use opentool_page::Page;
use opentool_server::Server;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::browser::{MAX_WAIT, Running, start};
use crate::tools::{every_way, removing};

async fn running(replies: impl IntoIterator<Item = Reply>) -> Running {
    start(Server::new(every_way()), Page::new().chat(ScriptedModel::new(replies))).await
}

fn turn(text: &str) -> String {
    json!({ "conversation": "talk", "turn": "t1", "text": text }).to_string()
}

fn events_of<'a>(lines: &'a [Value], wanted: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == wanted).collect()
}

#[tokio::test]
async fn an_answer_comes_in_pieces_with_its_calls() {
    let replies = [
        Reply::call("add", r#"{"a":1,"b":2}"#).with_reasoning("I should add.").with_usage(Usage::new(10, 5)),
        Reply::text("It is 3.").with_usage(Usage::new(20, 6)),
    ];
    let prices = PriceTable::new().with("scripted-1", Price::new(1.0, 2.0));
    let model = ChatModel::builder(ScriptedModel::new(replies)).prices(prices);
    let model = model.default_options(ChatOptions::new().with_model("scripted-1")).build();
    let server = start(Server::new(every_way()), Page::new().chat(model)).await;
    let browser = server.browser().await;
    assert_eq!(browser.get_json("/ui/api/info").await["chat"]["model"], "scripted-1");
    let lines = browser.open("/ui/api/chat", &turn("What is 1 + 2?")).await.all().await;
    let said =
        |wanted: &str| events_of(&lines, wanted).iter().map(|line| line["delta"].as_str().unwrap()).collect::<String>();
    assert_eq!((said("reasoning"), said("text")), ("I should add.".to_owned(), "It is 3.".to_owned()));
    assert!(events_of(&lines, "text").len() > 1, "it comes in pieces");
    let call = events_of(&lines, "call")[0];
    assert_eq!(
        (&call["tool"], &call["arguments"], &call["round"]),
        (&json!("add"), &json!({ "a": 1, "b": 2 }), &json!(1))
    );
    let result = events_of(&lines, "result")[0];
    assert_eq!((&result["id"], &result["ok"], &result["text"]), (&call["id"], &json!(true), &json!("3")));
    assert_eq!(result["parts"], json!([{ "type": "json", "value": 3 }]));
    assert!(events_of(&lines, "approval").is_empty(), "a tool that only reads is not asked about");
    let end = lines.last().unwrap();
    assert_eq!((&end["type"], &end["reason"], &end["text"]), (&json!("end"), &json!("answered"), &json!("It is 3.")));
    assert_eq!((&end["usage"]["inputTokens"], &end["usage"]["outputTokens"]), (&json!(30), &json!(11)));
    assert!(end["cost"].as_f64().is_some_and(|cost| cost > 0.0), "{end}");

    let kept = browser.get_json("/ui/api/chat/talk").await;
    let roles: Vec<_> = kept["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(kept["messages"][1]["calls"][0]["arguments"], json!({ "a": 1, "b": 2 }));
    assert_eq!(kept["messages"][2]["answers"][0]["text"], "3");
    assert_eq!(kept["turn"], Value::Null);
    let metrics = String::from_utf8(server.bare("GET", "/metrics").send().await.body).unwrap();
    assert!(metrics.contains(r#"opentool_calls_total{tool="add",outcome="ok"} 1"#), "{metrics}");
}

#[tokio::test]
async fn a_conversation_goes_on_and_is_forgotten() {
    let model = FunctionModel::new(|request| Reply::text(format!("{} messages", request.messages.len())));
    let server = start(Server::new(every_way()), Page::new().chat(model).chat_system("You are terse.")).await;
    let browser = server.browser().await;
    let say = async || browser.open("/ui/api/chat", &turn("Hello")).await.last().await["text"].clone();
    assert_eq!((say().await, say().await), (json!("2 messages"), json!("4 messages")));
    assert_eq!(browser.delete("/ui/api/chat/talk").await.status, 204);
    assert_eq!(browser.get_json("/ui/api/chat/talk").await["messages"], json!([]));
    assert_eq!(browser.delete("/ui/api/chat/talk").await.refused(404), "not-found");
    assert_eq!(say().await, "2 messages");
}

#[tokio::test]
async fn a_call_with_an_effect_waits_for_the_person() {
    let call = || Reply::call("remove", r#"{"name":"x"}"#);
    let (tools, removed) = removing();
    let replies = [
        call(),
        Reply::text("Gone."),
        call(),
        Reply::text("Kept."),
        call(),
        Reply::text("Gone."),
        call(),
        Reply::text("Gone."),
    ];
    let server = start(Server::new(tools), Page::new().chat(ScriptedModel::new(replies))).await;
    let browser = server.browser().await;
    let decide = async |decision: Value, expected: usize| {
        let mut lines = browser.open("/ui/api/chat", &turn("Remove x")).await;
        let call = lines.next_of("call").await;
        let approval = lines.next_of("approval").await;
        assert_eq!(
            (&approval["call"], &approval["tool"], &approval["arguments"]),
            (&call["id"], &json!("remove"), &json!({ "name": "x" }))
        );
        assert_eq!(approval["hints"]["destructive"], true);
        assert_eq!(browser.get_json("/ui/api/chat/talk").await["turn"], "t1");
        let path = format!("/ui/api/chat/approvals/{}", approval["id"].as_str().unwrap());
        let before = removed.load(SeqCst);
        assert_eq!(browser.post(&path, r#"{"decision":"perhaps"}"#).await.refused(400), "invalid-request");
        assert_eq!(browser.post("/ui/api/chat/approvals/none", &decision.to_string()).await.refused(404), "not-found");
        assert_eq!(removed.load(SeqCst), before, "it waits");
        assert_eq!(browser.post(&path, &decision.to_string()).await.status, 204);
        assert_eq!(browser.post(&path, &decision.to_string()).await.refused(404), "not-found");
        let result = lines.next_of("result").await;
        lines.all().await;
        assert_eq!(removed.load(SeqCst), expected);
        result
    };
    assert_eq!(decide(json!({ "decision": "allow" }), 1).await["text"], "removed x");
    let denied = decide(json!({ "decision": "deny", "reason": "I need it" }), 1).await;
    assert_eq!((&denied["ok"], &denied["error"]["kind"]), (&json!(false), &json!("denied")));
    assert_eq!(denied["text"].as_str().unwrap(), "the user did not approve the call: I need it");
    decide(json!({ "decision": "always" }), 2).await;
    // From now on it runs unasked, in this conversation.
    let lines = browser.open("/ui/api/chat", &turn("Remove x")).await.all().await;
    assert!(events_of(&lines, "approval").is_empty());
    assert_eq!(removed.load(SeqCst), 3);
}

#[tokio::test]
async fn the_policy_of_the_server_holds_in_a_chat() {
    let (tools, removed) = removing();
    let deny = Ask::with(|_| async { Decision::Deny("not today".to_owned()) }).for_destructive(true);
    let server = Server::new(tools).executor(Executor::builder().approval(deny).build());
    let replies = [Reply::call("remove", r#"{"name":"x"}"#), Reply::text("I could not.")];
    let server = start(server, Page::new().chat(ScriptedModel::new(replies))).await;
    let browser = server.browser().await;
    let mut lines = browser.open("/ui/api/chat", &turn("Remove x")).await;
    let approval = lines.next_of("approval").await;
    let path = format!("/ui/api/chat/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(browser.post(&path, r#"{"decision":"allow"}"#).await.status, 204);
    assert_eq!(lines.next_of("result").await["text"], "not today");
    lines.all().await;
    assert_eq!(removed.load(SeqCst), 0);
}

#[tokio::test]
async fn repeated_ids_of_a_model_are_told_apart() {
    let again = || Reply::call("add", r#"{"a":1,"b":2}"#);
    let server = running([again(), again(), Reply::text("Done.")]).await;
    let lines = server.browser().await.open("/ui/api/chat", &turn("Add twice")).await.all().await;
    let ids: Vec<_> = events_of(&lines, "call").iter().map(|line| line["id"].clone()).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    assert_eq!(events_of(&lines, "result").iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), ids);
    assert_eq!(events_of(&lines, "call")[1]["round"], 2);
}

#[tokio::test]
async fn a_turn_is_cancelled() {
    let server = running([Reply::never(), Reply::text("Hello.")]).await;
    let browser = server.browser().await;
    let mut lines = browser.open("/ui/api/chat", &turn("Hello")).await;
    let duplicate =
        browser.post("/ui/api/chat", &json!({ "conversation": "talk", "turn": "t2", "text": "x" }).to_string()).await;
    assert_eq!(duplicate.refused(409), "conflict");
    assert_eq!(browser.delete("/ui/api/chat/t1").await.status, 204);
    let end = lines.last().await;
    assert_eq!((&end["type"], &end["error"]["kind"]), (&json!("error"), &json!("cancelled")));
    // And so is one that waits for the person.
    let (tools, removed) = removing();
    let replies = [Reply::call("remove", r#"{"name":"x"}"#), Reply::text("never said")];
    let server = start(Server::new(tools), Page::new().chat(ScriptedModel::new(replies))).await;
    let browser = server.browser().await;
    let mut lines = browser.open("/ui/api/chat", &turn("Remove x")).await;
    lines.next_of("approval").await;
    assert_eq!(browser.delete("/ui/api/chat/t1").await.status, 204);
    assert_eq!(lines.last().await["error"]["kind"], "cancelled");
    assert_eq!(removed.load(SeqCst), 0);
}

#[tokio::test]
async fn files_reach_the_model() {
    let model = ScriptedModel::new([Reply::text("A pixel.")]);
    let server = start(Server::new(every_way()), Page::new().chat(model)).await;
    let browser = server.browser().await;
    let attachment = |mime: &str, data: &str| {
        let file = json!({ "name": "pixel.png", "mimeType": mime, "data": data });
        json!({ "conversation": "talk", "turn": "t1", "text": "What is this?", "attachments": [file] }).to_string()
    };
    for wrong in [attachment("image/png", "%%%"), attachment("", "iVBORw0KGgo=")] {
        assert_eq!(browser.post("/ui/api/chat", &wrong).await.refused(400), "invalid-request");
    }
    assert_eq!(browser.post("/ui/api/chat", &turn("  ")).await.refused(400), "invalid-request");
    let end = browser.open("/ui/api/chat", &attachment("image/png", "iVBORw0KGgo=")).await.last().await;
    assert_eq!(end["text"], "A pixel.", "{end}");
    let kept = browser.get_json("/ui/api/chat/talk").await;
    assert_eq!(
        kept["messages"][0]["attachments"],
        json!([{ "name": "pixel.png", "mimeType": "image/png", "data": "iVBORw0KGgo=" }])
    );
}

#[tokio::test]
async fn a_question_of_a_tool_is_answered_in_the_turn() {
    let server = running([Reply::call("greet", "{}"), Reply::text("Greeted.")]).await;
    let browser = server.browser().await;
    let mut lines = browser.open("/ui/api/chat", &turn("Greet me")).await;
    let ask = lines.next_of("ask").await;
    let answer = json!({ "ask": ask["ask"], "action": "accept", "content": { "name": "Ann" } }).to_string();
    assert_eq!(browser.post("/ui/api/chat/t1/answers", &answer).await.status, 204);
    assert_eq!(lines.next_of("result").await["text"], "Hello, Ann!");
    assert_eq!(lines.last().await["type"], "end");
}

#[tokio::test]
async fn an_error_of_the_provider_ends_the_turn() {
    let error = ChatError::refused("scripted", 401, "the key is wrong");
    let server = running([Reply::error(error)]).await;
    let end = server.browser().await.open("/ui/api/chat", &turn("Hello")).await.last().await;
    assert_eq!((&end["type"], &end["error"]["kind"]), (&json!("error"), &json!("refused")));
    assert!(end["error"]["message"].as_str().unwrap().contains("the key is wrong"));
}

#[tokio::test]
async fn callers_with_other_keys_have_other_conversations() {
    let model = FunctionModel::new(|request| Reply::text(format!("{} messages", request.messages.len())));
    let server = Server::new(every_way())
        .configure(|config| config.named_key("ann", "key-of-ann").named_key("bob", "key-of-bob"));
    let server = start(server, Page::new().chat(model)).await;
    let browser = async |key: &str| {
        let reply = server.sign_in(json!({ "key": key })).send().await;
        crate::browser::Browser { server: &server, cookie: reply.cookie() }
    };
    let (ann, bob) = (browser("key-of-ann").await, browser("key-of-bob").await);
    assert_eq!(ann.open("/ui/api/chat", &turn("Hello")).await.last().await["text"], "1 messages");
    assert_eq!(bob.get_json("/ui/api/chat/talk").await["messages"], json!([]));
    assert_eq!(bob.open("/ui/api/chat", &turn("Hello")).await.last().await["text"], "1 messages");
    assert_eq!(
        browser("key-of-ann").await.get_json("/ui/api/chat/talk").await["messages"].as_array().unwrap().len(),
        2
    );
}

#[tokio::test]
async fn without_a_model_there_is_no_chat() {
    let server = start(Server::new(every_way()), Page::new()).await;
    let reply = server.browser().await.post("/ui/api/chat", &turn("Hello")).await;
    assert_eq!(reply.refused(404), "not-found");
    assert!(reply.json()["error"]["hint"].as_str().unwrap().contains("opentool.toml"));
}

#[tokio::test]
async fn a_turn_is_a_run_of_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(folder.path().join("journal.sqlite")).await.unwrap();
    let (tools, removed) = removing();
    let call = || Reply::call("remove", r#"{"name":"x"}"#);
    let model = ScriptedModel::new([call(), Reply::text("Gone."), call()]);
    let page = Page::new().chat(model).journal(journal.clone()).chat_run_details(|| json!({ "from": "a test" }));
    let server = start(Server::new(tools.clone()), page).await;
    let browser = server.browser().await;

    let mut lines = browser.open("/ui/api/chat", &turn("Remove x")).await;
    let named = lines.next_of("run").await;
    let approval = lines.next_of("approval").await;
    let running = browser.get_json("/ui/api/runs").await["runs"][0].clone();
    assert_eq!((&running["kind"], &running["status"]), (&json!("chat"), &json!("running")));
    assert_eq!(named["id"], running["id"]);
    let path = format!("/ui/api/chat/approvals/{}", approval["id"].as_str().unwrap());
    assert_eq!(browser.post(&path, r#"{"decision":"allow"}"#).await.status, 204);
    assert_eq!(lines.last().await["text"], "Gone.");
    let run = format!("/ui/api/runs/{}", running["id"].as_str().unwrap());
    let shown = browser.get_json(&run).await;
    let kinds: Vec<_> = shown["timeline"].as_array().unwrap().iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(shown["run"]["status"], "done");
    assert!(["request", "answer", "call", "round", "end"].iter().all(|kind| kinds.contains(&json!(kind))), "{kinds:?}");
    assert!(shown["timeline"][0].to_string().contains("a test"), "{shown:#}");
    assert_eq!(removed.load(SeqCst), 1);

    // The page goes away while a call waits for its person: it waits in the journal, for anyone who may decide.
    let mut lines = browser.open("/ui/api/chat", &turn("Remove x again")).await;
    lines.next_of("approval").await;
    drop(lines);
    let waiting = async || browser.get_json("/ui/api/runs?status=waiting").await["runs"][0].clone();
    let run = timeout(MAX_WAIT, async {
        loop {
            match waiting().await {
                Value::Null => tokio::time::sleep(Duration::from_millis(20)).await,
                run => return run,
            }
        }
    });
    let run = run.await.expect("the run does not wait");
    assert_eq!((&run["pending"], removed.load(SeqCst)), (&json!(1), 1));
    let id = run["id"].as_str().unwrap();
    let decision = r#"{"place":"1.0","decision":"allow"}"#;
    assert_eq!(browser.post(&format!("/ui/api/runs/{id}/decisions"), decision).await.status, 204);
    let other = ChatClient::builder(ScriptedModel::new([Reply::text("Gone too.")])).default_tools(tools);
    let answer = other.journal(journal).build().resume_run(id).call().await.unwrap();
    assert_eq!((answer.text().as_str(), removed.load(SeqCst)), ("Gone too.", 2));
}
