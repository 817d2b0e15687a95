use super::*;

mod customers {
    use opentool::prelude::*;

    pub struct CustomerTools;

    #[toolbox]
    impl CustomerTools {
        /// Retrieve customer information.
        #[tool]
        fn customer_info(&self, id: u64, context: &ToolContext) -> Result<String, Failure> {
            let tenant: Option<String> = context.get_as("tenant")?;
            let tenant = tenant.ok_or(Failure::new("no tenant is known"))?;
            Ok(format!("customer {id} of {tenant}"))
        }
    }
}

use customers::CustomerTools;

fn model() -> (ChatModel, ScriptedModel) {
    calling("customer_info", r#"{"id": 42}"#, "It is Ann.")
}

#[tokio::test]
async fn a_request_passes_context_to_tools() -> Tested {
    let (chat_model, script) = model();

    let response = ChatClient::new(chat_model)
        .prompt("Tell me more about the customer with ID 42")
        .tools(CustomerTools)
        .context("tenant", "acme")
        .call()
        .await?;

    println!("{response}");

    assert_eq!(tool_text(&script), "customer 42 of acme");
    let sent = serde_json::to_string(&script.requests()[0].messages)?;
    assert!(!sent.contains("acme"), "the model never sees it");
    Ok(())
}

#[tokio::test]
async fn options_pass_context_to_tools() -> Tested {
    let (chat_model, script) = model();

    let options = ChatOptions::new().with_tools(CustomerTools).with_context("tenant", "acme");
    let prompt = Prompt::new("Tell me more about the customer with ID 42").with_options(options);
    chat_model.call(prompt).await?;

    assert_eq!(tool_text(&script), "customer 42 of acme");
    Ok(())
}

#[tokio::test]
async fn contexts_are_merged_and_that_of_the_request_wins() -> Tested {
    let (chat_model, script) = model();
    let chat_client = ChatClient::builder(chat_model)
        .default_tools(CustomerTools)
        .default_context("tenant", "none")
        .default_context("region", "north")
        .build();
    chat_client.prompt("Tell me more about the customer with ID 42").context("tenant", "acme").call().await?;
    assert_eq!(tool_text(&script), "customer 42 of acme");
    Ok(())
}
