use super::*;
use opentool::chat::Cause;

mod account {
    use opentool::prelude::*;

    #[tool]
    pub fn withdraw(amount: u32) -> Result<String, Failure> {
        if amount > 100 {
            return Err(Failure::new("at most 100 a day")); // the model gets it and may try again
        }
        std::fs::metadata("/no/such/account").map_err(ToolError::fatal)?; // ends the turn and reaches the caller
        Ok(format!("{amount} withdrawn"))
    }
}

use account::withdraw;

#[tokio::test]
async fn an_error_reaches_the_model_unless_it_is_fatal() -> Tested {
    let (chat_model, script) = calling("withdraw", r#"{"amount": 200}"#, "At most 100 a day.");
    ChatClient::new(chat_model).prompt("Give me 200").tools(withdraw::tool()).call().await?;
    assert_eq!(tool_text(&script), "at most 100 a day");

    let (chat_model, script) = calling("withdraw", r#"{"amount": 1}"#, "Here you are.");
    let error = ChatClient::new(chat_model).prompt("Give me 1").tools(withdraw::tool()).call().await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Tool { tool, .. } if &**tool == "withdraw"), "{error}");
    assert_eq!(error.exchange().messages().len(), 3, "what was said is not lost");
    assert_eq!(script.requests().len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_policy_decides_last() -> Tested {
    let executor = Executor::builder()
        .errors(|tool: &str, error: ToolError| match error.kind() {
            ErrorKind::Timeout => error.with_severity(ErrorSeverity::Fatal),
            _ => ToolError::failed(format!("{tool} cannot be used today")),
        })
        .build();
    let (_, provider) = calling("withdraw", r#"{"amount": 200}"#, "Not today.");
    let script = provider.clone();
    let chat_model = ChatModel::builder(provider).executor(executor).build();
    ChatClient::new(chat_model).prompt("Give me 200").tools(withdraw::tool()).call().await?;
    assert_eq!(tool_text(&script), "withdraw cannot be used today");
    Ok(())
}

#[tokio::test]
async fn every_error_can_reach_the_caller() -> Tested {
    let executor = Executor::builder().all_errors_fatal(true).build();
    let (_, provider) = calling("withdraw", r#"{"amount": 200}"#, "Not today.");
    let chat_model = ChatModel::builder(provider).executor(executor).build();
    let error = ChatClient::new(chat_model).prompt("Give me 200").tools(withdraw::tool()).call().await.unwrap_err();
    assert!(error.to_string().contains("at most 100 a day"), "{error}");
    Ok(())
}
