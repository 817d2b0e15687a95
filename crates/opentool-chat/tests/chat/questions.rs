//! Tools that ask the user something while they run.

use opentool_chat::ChatClient;
use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, Question, Respondent, ToolError, ToolOutput, UserAnswer};
use serde_json::json;

use crate::support::{Mode, tool_texts};

/// Asks for a name.
fn greets() -> FakeTool {
    FakeTool::new("greets").acts(|_, context| async move {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
        Ok(ToolOutput::text(match context.ask("What is your name?", schema).await? {
            UserAnswer::Accepted(answer) => format!("Hello, {}!", answer["name"].as_str().unwrap()),
            other => format!("{other:?}"),
        }))
    })
}

fn answers(name: &'static str) -> impl Respondent {
    move |question: Question| async move {
        assert_eq!(question.message, "What is your name?");
        Ok::<_, ToolError>(UserAnswer::Accepted(json!({ "name": name }).as_object().cloned().unwrap()))
    }
}

fn model() -> ScriptedModel {
    ScriptedModel::new([Reply::call("greets", "{}"), Reply::text("done")])
}

async fn the_application_answers_a_question_and_the_model_sees_the_result(mode: Mode) {
    let model = model();
    let client = ChatClient::builder(model.clone()).default_tools(greets()).respondent(answers("Ann")).build();
    mode.answer(client.prompt("hi")).await;
    assert_eq!(tool_texts(&model), ["Hello, Ann!"]);
    assert!(!format!("{:?}", model.requests()).contains("What is your name?"));
}

async fn the_respondent_of_a_request_goes_before_that_of_the_client(mode: Mode) {
    let model = model();
    let client = ChatClient::builder(model.clone()).default_tools(greets()).respondent(answers("Ann")).build();
    mode.answer(client.prompt("hi").respondent(answers("Bob"))).await;
    assert_eq!(tool_texts(&model), ["Hello, Bob!"]);
}

async fn a_user_may_decline_and_the_tool_decides_what_follows(mode: Mode) {
    let model = model();
    let declines = |_: Question| async { Ok::<_, ToolError>(UserAnswer::Declined) };
    mode.answer(ChatClient::new(model.clone()).prompt("hi").tools(greets()).respondent(declines)).await;
    assert_eq!(tool_texts(&model), ["Declined"]);
}

async fn without_a_respondent_the_model_gets_the_error(mode: Mode) {
    let model = model();
    let answer = mode.answer(ChatClient::new(model.clone()).prompt("hi").tools(greets())).await;
    assert_eq!(answer.messages()[2].answers()[0].error, Some(ErrorKind::Unavailable));
    assert_eq!(tool_texts(&model), ["the tool has a question, and this caller has no way to answer it"]);
}

in_both_modes!(
    the_application_answers_a_question_and_the_model_sees_the_result,
    the_respondent_of_a_request_goes_before_that_of_the_client,
    a_user_may_decline_and_the_tool_decides_what_follows,
    without_a_respondent_the_model_gets_the_error,
);
