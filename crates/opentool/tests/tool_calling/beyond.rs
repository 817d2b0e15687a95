//! What the document does not have: typed answers, limits, models around a model, memories by tokens.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Plan {
    /// What to do, in order.
    pub steps: Vec<String>,
    pub hours: u8,
}

fn planner() -> ScriptedModel {
    ScriptedModel::new([
        Reply::text(r#"{"steps": ["walk"], "hours": "three"}"#),
        Reply::text(r#"{"steps": ["walk"], "hours": 3}"#),
    ])
}

#[tokio::test]
async fn an_answer_is_a_value() -> Tested {
    let model = planner();

    let plan: Plan = ChatClient::new(model)
        .prompt("Plan my day")
        .call_as()
        .await?;

    assert_eq!((plan.steps.len(), plan.hours), (1, 3));
    Ok(())
}

#[tokio::test]
async fn an_answer_grows() -> Tested {
    let model = planner();

    let mut answer = ChatClient::new(model).prompt("Plan my day").stream_as::<Plan>();
    while let Some(event) = answer.next().await {
        match event? {
            AnswerEvent::Partial(value) => println!("{value}"),
            AnswerEvent::Done(plan, response) => println!("{plan:?}, {} tokens", response.usage.total_tokens()),
            _ => {}
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_turn_has_limits() -> Tested {
    let (_, provider) = calling("nowhere", "{}", "I do not know.");

    let limits = Limits::default().with_rounds(10);
    let chat_model = ChatModel::builder(provider)
        .executor(Executor::builder().limits(limits).build())
        .build();
    let options = ChatOptions::new()
        .with_turn_timeout(Duration::from_secs(120))
        .with_at_limit(AtLimit::Fail);
    let response = ChatClient::new(chat_model).prompt("Who is 42?").options(options).call().await?;
    assert_eq!(response.end(), TurnEnd::Answered);
    Ok(())
}

#[tokio::test]
async fn a_model_has_others_around_it() -> Tested {
    let provider = ScriptedModel::new([Reply::text("Hello.")]);

    let chat_model = ChatModel::builder(provider)
        .middleware(RateLimit::per_minute(60))
        .middleware(ConcurrencyLimit::new(4))
        .middleware(Fallback::to(Ollama::from_env()?))
        .build();

    assert_eq!(ChatClient::new(chat_model).prompt("Hi.").call().await?.text(), "Hello.");
    Ok(())
}

#[tokio::test]
async fn a_memory_has_a_budget() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("conversations.sqlite");
    let chat_model = ChatModel::new(ScriptedModel::new([Reply::text("Hello.")]));

    let memory = TokenWindow::new(SqliteMemory::open(path).await?.with_window(1_000), 8_000);
    let chat_client = ChatClient::builder(chat_model).memory(memory).build();

    chat_client.prompt("Hi.").conversation("ann").call().await?;
    Ok(())
}

#[tokio::test]
async fn a_turn_survives_a_crash() -> Tested {
    use opentool::journal::SqliteJournal;

    let folder = tempfile::tempdir()?;
    let path = folder.path().join("runs.sqlite");
    let model = ScriptedModel::new([Reply::call("pay", "{}"), Reply::text("It is paid.")]);
    let (chat_model, tools) = (ChatModel::new(model), FnTool::new("pay", || "paid"));

    let chat_client = ChatClient::builder(chat_model)
        .default_tools(tools)
        .journal(SqliteJournal::open(path).await?)
        .build();
    let response = chat_client.prompt("Pay the bill.").call().await?;
    let run = response.run_id().unwrap_or_default();

    // In any process, also after this one was killed.
    let response = chat_client.resume_run(run).call().await?;

    assert_eq!(response.text(), "It is paid.");
    Ok(())
}
