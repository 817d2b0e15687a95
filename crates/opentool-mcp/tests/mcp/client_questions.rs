//! What a server asks the user in the middle of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{BoxFuture, ErrorKind, Question, Respondent, ToolContext, ToolError, ToolOutput, UserAnswer};
use opentool_mcp::McpClient;
use opentool_server::Server;
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::asking::asks;
use crate::client::start;
use crate::client_http::{older, url};
use crate::client_servers::child;

/// A user who answers every question with the same text.
#[derive(Clone, Default)]
struct User {
    name: &'static str,
    asked: Arc<AtomicUsize>,
    /// Until then no one answers.
    all_asked: Option<Arc<Barrier>>,
}

impl User {
    fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    fn probe(&self, client: &McpClient) -> Probe {
        Probe::new(client.clone()).context(ToolContext::new().with_respondent(self.clone()))
    }
}

impl Respondent for User {
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if let Some(barrier) = &self.all_asked {
                barrier.wait().await;
            }
            let property = question.schema["required"][0].as_str().unwrap().to_owned();
            let answer = json!({ property: self.name });
            match self.name {
                "" => Ok(UserAnswer::Declined),
                _ => Ok(UserAnswer::Accepted(answer.as_object().cloned().unwrap())),
            }
        })
    }
}

#[tokio::test]
async fn a_question_reaches_the_user_of_the_call_in_every_revision() {
    let (tool, _) = asks();
    let server = start(Server::new(tool)).await;
    for addr in [server.addr, older(&server).await] {
        let client = McpClient::from_url(url(addr));
        User::new("Ann").probe(&client).call("asks", "{}").await.assert_text("Ann Ann");
        User::new("").probe(&client).call("asks", "{}").await.assert_text("declined declined");
    }
    User::new("Ann").probe(&child("tools")).call("asks", "{}").await.assert_text("Ann");
    let answer = User::new("Ann").probe(&child("asks")).call("call", "{}").await;
    let said: Value = serde_json::from_str(&answer.output().to_text()).unwrap();
    assert_eq!(said, json!({ "action": "accept", "content": { "name": "Ann" } }));
}

#[tokio::test]
async fn where_no_one_can_answer_the_error_says_so() {
    let (tool, _) = asks();
    let server = start(Server::new(tool)).await;
    let old = older(&server).await;
    for (client, tool) in [
        (McpClient::from_url(url(server.addr)), "asks"),
        (McpClient::from_url(url(old)), "asks"),
        (child("tools"), "asks"),
        (child("asks"), "call"),
    ] {
        let answer = Probe::new(client).call(tool, "{}").await;
        let error = answer.outcome().error().unwrap();
        assert!(error.message().contains("this caller has no way to answer it"), "{error:?}");
    }
}

#[tokio::test]
async fn each_of_many_calls_asks_its_own_user() {
    let (tool, _) = asks();
    let server = start(Server::new(tool)).await;
    for addr in [server.addr, older(&server).await] {
        let client = McpClient::from_url(url(addr));
        // All ask before any is answered.
        let barrier = Arc::new(Barrier::new(3));
        let users = ["Ann", "Ben", "Cem"].map(|name| User { all_asked: Some(barrier.clone()), ..User::new(name) });
        let calls = users.iter().map(|user| async {
            let said = format!("{0} {0}", user.name);
            user.probe(&client).call("asks", "{}").await.assert_text(&said);
        });
        join_all(calls).await;
    }
}

#[tokio::test]
async fn a_question_that_could_belong_to_another_user_is_not_asked() {
    let client = child("asks-two");
    let (ann, ben) = (User::new("Ann"), User::new("Ben"));
    let answers = [&ann, &ben].map(|user| async { user.probe(&client).call("call", "{}").await });
    for answer in join_all(answers).await {
        answer.assert_error(ErrorKind::Failed);
    }
    assert_eq!(ann.asked.load(Ordering::SeqCst) + ben.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn no_server_asks_without_end() {
    let user = User::new("Ann");
    let answer = user.probe(&child("asks-forever")).call("call", "{}").await;
    assert!(answer.outcome().error().unwrap().message().contains("more than 32 questions"), "{:?}", answer.outcome());
    assert_eq!(user.asked.load(Ordering::SeqCst), 32);
    let endless = FakeTool::new("endless").acts(|_, context| async move {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
        for number in 0.. {
            let question = Question::new("Again?", schema.clone()).with_key(format!("q{number}"));
            context.ask_question(question).await?;
        }
        Ok(ToolOutput::Empty)
    });
    let server = start(Server::new(endless)).await;
    let answer = user.probe(&McpClient::from_url(url(server.addr))).call("endless", "{}").await;
    let error = answer.outcome().error().unwrap();
    assert!(error.detail().unwrap().contains("asks for input again and again"), "{error:?}");
}
