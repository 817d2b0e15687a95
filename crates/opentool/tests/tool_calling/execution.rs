use super::*;

mod customers {
    use opentool::prelude::*;

    pub struct CustomerTools;

    #[toolbox]
    impl CustomerTools {
        /// Retrieve customer information.
        #[tool]
        fn customer_info(&self, id: u64) -> String {
            format!("customer {id} is Ann")
        }
    }

    pub struct MathTools;

    #[toolbox]
    impl MathTools {
        /// Multiply two numbers.
        #[tool]
        fn multiply(&self, a: i64, b: i64) -> i64 {
            a * b
        }
    }
}

use customers::{CustomerTools, MathTools};

#[tokio::test]
async fn the_manager_of_a_model_can_be_chosen() -> Tested {
    let (_, script) = calling("customer_info", r#"{"id": 42}"#, "It is Ann.");
    let provider = script.clone();

    let manager = DefaultToolCallingManager::new().with_executor(Executor::new());
    let chat_model = ChatModel::builder(provider).manager(manager).build();

    let definitions =
        chat_model.manager().resolve_tool_definitions(&ChatOptions::new().with_tools(CustomerTools)).await?;
    assert_eq!(definitions.len(), 1);
    let response = ChatClient::new(chat_model).prompt("Who is 42?").tools(CustomerTools).call().await?;
    let roles: Vec<_> = response.messages().iter().map(Message::role).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"], "the exchanged messages are there");
    Ok(())
}

#[tokio::test]
async fn a_predicate_decides_whether_calls_run() -> Tested {
    let (_, provider) = calling("customer_info", r#"{"id": 42}"#, "It is Ann.");

    let chat_model = ChatModel::builder(provider)
        .eligibility(|_options: &ChatOptions, response: &ChatResponse| response.tool_calls().len() < 10)
        .build();

    let response = ChatClient::new(chat_model).prompt("Who is 42?").tools(CustomerTools).call().await?;
    assert_eq!(response.text(), "It is Ann.");
    Ok(())
}

#[tokio::test]
async fn the_loop_can_be_user_controlled() -> Tested {
    let (chat_model, script) = calling("customer_info", r#"{"id": 42}"#, "It is Ann.");

    let manager = DefaultToolCallingManager::new();
    let options = ChatOptions::new()
        .with_tools(CustomerTools)
        .with_internal_execution(false);
    let mut prompt = Prompt::new("Tell me more about the customer with ID 42").with_options(options);
    let mut turn = Turn::new();

    let mut response = chat_model.call(prompt.clone()).await?;
    while response.has_tool_calls() {
        let result = manager.execute_tool_calls(&prompt, &response, &mut turn).await?;
        prompt.messages = result.conversation_history;
        response = chat_model.call(prompt.clone()).await?;
    }

    println!("{response}");

    assert_eq!(response.text(), "It is Ann.");
    assert_eq!(tool_text(&script), "customer 42 is Ann");
    Ok(())
}

#[tokio::test]
async fn a_user_controlled_loop_can_have_a_memory() -> Tested {
    let script = ScriptedModel::new([
        Reply::call("multiply", r#"{"a": 6, "b": 8}"#),
        Reply::text("It is 48."),
        Reply::text("You asked for 6 * 8."),
    ]);
    let chat_model = ChatModel::new(script.clone());

    let manager = DefaultToolCallingManager::new();
    let memory = InProcessMemory::new();
    let conversation = "ann-2015-10-21";
    let options = ChatOptions::new()
        .with_tools(MathTools)
        .with_internal_execution(false);
    let mut turn = Turn::new();

    let question = [Message::system("You are a helpful assistant."), Message::user("What is 6 * 8?")];
    memory.add(conversation, &question).await?;

    let mut prompt = Prompt::new(memory.get(conversation).await?).with_options(options.clone());
    let mut response = chat_model.call(prompt.clone()).await?;
    while response.has_tool_calls() {
        let result = manager.execute_tool_calls(&prompt, &response, &mut turn).await?;
        let said = &result.conversation_history[prompt.messages.len()..];
        memory.add(conversation, said).await?;
        prompt = Prompt::new(memory.get(conversation).await?).with_options(options.clone());
        response = chat_model.call(prompt.clone()).await?;
    }
    memory.add(conversation, &[Message::assistant(response.text())]).await?;

    memory.add(conversation, &[Message::user("What did I ask you earlier?")]).await?;
    let response = chat_model.call(Prompt::new(memory.get(conversation).await?)).await?;

    assert_eq!(response.text(), "You asked for 6 * 8.");
    let sent = &script.requests()[2].messages;
    let roles: Vec<_> = sent.iter().map(Message::role).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
    Ok(())
}

#[tokio::test]
async fn a_client_has_a_memory_of_its_own() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("conversations.sqlite");
    let chat_model = ChatModel::new(ScriptedModel::new([Reply::text("Hello Ann."), Reply::text("You are Ann.")]));

    let chat_client = ChatClient::builder(chat_model)
        .memory(SqliteMemory::open(path).await?)
        .build();
    chat_client.prompt("I am Ann.").conversation("ann").call().await?;
    let response = chat_client.prompt("Who am I?").conversation("ann").call().await?;

    assert_eq!(response.text(), "You are Ann.");
    assert_eq!(response.exchange().history.len(), 4);
    Ok(())
}

/// Delete everything.
#[tool(destructive)]
pub fn delete() -> &'static str {
    "gone"
}

#[tokio::test]
async fn a_run_can_wait_for_an_approval() -> Tested {
    let (_, provider) = calling("delete", "{}", "It is gone.");

    let executor = Executor::builder().approval(Ask::later().for_destructive(true)).build();
    let chat_model = ChatModel::builder(provider).executor(executor).build();
    let chat_client = ChatClient::builder(chat_model).default_tools(delete::tool()).build();

    let response = chat_client.prompt("Delete it").call().await?;
    let waiting = response.into_run_state().expect("the call waits for a decision");
    let stored = serde_json::to_string(&waiting)?;

    let waiting: RunState = serde_json::from_str(&stored)?;
    let call = waiting.pending().next().expect("a call waits").id.clone();
    let response = chat_client
        .resume(waiting)
        .decide(&call, Decision::Approve)
        .call()
        .await?;

    assert_eq!(response.text(), "It is gone.");
    Ok(())
}

#[tokio::test]
async fn everything_can_be_streamed_as_it_happens() -> Tested {
    let (chat_model, _) = calling("customer_info", r#"{"id": 42}"#, "It is Ann.");

    let mut events = ChatClient::new(chat_model)
        .prompt("Tell me more about the customer with ID 42")
        .tools(CustomerTools)
        .stream();
    while let Some(event) = events.next().await {
        match event? {
            ChatEvent::Text(text) => print!("{text}"),
            ChatEvent::Tool(event) => println!("{}: {event:?}", event.call().tool),
            ChatEvent::Done(response) => println!("\n{} tokens", response.usage.total_tokens()),
            _ => {}
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_client_can_be_a_tool_of_another() -> Tested {
    let poet = ChatModel::new(ScriptedModel::new([Reply::text("Roses are red.")]));
    let (editor, script) = calling("poet", r#"{"prompt": "Write about roses."}"#, "Printed.");

    let poet = ChatClient::builder(poet).system("You are a poet.").build();
    ChatClient::new(editor)
        .prompt("Print a poem.")
        .tools(poet.as_tool("poet", "Ask a poet for a poem."))
        .call()
        .await?;

    assert_eq!(tool_text(&script), "Roses are red.");
    Ok(())
}
