//! How long the calls of a client may take.

use std::time::Duration;

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{
    BoxFuture, ErrorKind, Executor, Question, Respondent, ToolContext, ToolError, Toolbox, UserAnswer,
};
use opentool_mcp::McpClient;
use opentool_server::Server;
use serde_json::json;
use tokio::time::sleep;

use crate::asking::asks;
use crate::client::{Running, start};
use crate::client_http::{older, url};

const STEP: Duration = Duration::from_millis(50);

/// Tools that take their time: one says how far it is, for three seconds or for ever, the other says nothing.
async fn slow_server() -> Running {
    let steps = |name: &str, steps: u32| {
        FakeTool::new(name).acts(move |_, context| async move {
            for step in 0..steps {
                context.progress(f64::from(step), None, None);
                sleep(STEP).await;
            }
            Ok("done".into())
        })
    };
    let tools = [steps("steps", 60), steps("endless", u32::MAX), FakeTool::new("hangs").hangs()];
    let executor = Executor::builder().timeout(None).build();
    start(Server::new(Toolbox::from_tools(tools).unwrap()).executor(executor)).await
}

#[tokio::test]
async fn progress_extends_the_time_of_a_call_up_to_a_total() {
    let server = slow_server().await;
    for addr in [server.addr, older(&server).await] {
        let client = McpClient::from_url(url(addr)).timeout(Duration::from_secs(2));
        let patient = Probe::new(client.clone().progress_timeout(Duration::from_secs(600)));
        patient.call("steps", "{}").await.assert_text("done");
        let answer = patient.call("hangs", "{}").await;
        answer.assert_error(ErrorKind::Timeout);
        let strict = Probe::new(client.clone());
        strict.call("steps", "{}").await.assert_error(ErrorKind::Timeout);
        let total = Probe::new(client.progress_timeout(Duration::from_secs(3)));
        total.call("endless", "{}").await.assert_error(ErrorKind::Timeout);
    }
}

/// A user who thinks for longer than a call may take.
struct Thoughtful;

impl Respondent for Thoughtful {
    fn respond(&self, question: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        Box::pin(async move {
            sleep(Duration::from_secs(3)).await;
            let property = question.schema["required"][0].as_str().unwrap().to_owned();
            Ok(UserAnswer::Accepted(json!({ property: "hm" }).as_object().cloned().unwrap()))
        })
    }
}

#[tokio::test]
async fn the_time_in_which_a_user_thinks_does_not_count() {
    let (tool, _) = asks();
    let server = start(Server::new(tool)).await;
    for addr in [server.addr, older(&server).await] {
        let client = McpClient::from_url(url(addr)).timeout(Duration::from_secs(2));
        for client in [client.clone(), client.progress_timeout(Duration::from_secs(4))] {
            let probe = Probe::new(client).context(ToolContext::new().with_respondent(Thoughtful));
            probe.call("asks", "{}").await.assert_text("hm hm");
        }
    }
}
