//! Row "tool context", and clients as tools.

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatModel};
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Executor, ToolContext, ToolError, ToolMetadata, ToolOutput};

use crate::support::{Mode, calling, tool_texts};

fn tenant() -> FakeTool {
    FakeTool::new("tenant").acts(|_, context| async move {
        let tenant = context.get("tenant").and_then(|tenant| tenant.as_str()).unwrap_or("none");
        Ok(ToolOutput::text(format!("{} rows", tenant.len())))
    })
}

async fn a_tool_gets_an_empty_context_where_none_is_given(mode: Mode) {
    let (client, model) = calling(Reply::call("tenant", "{}"));
    mode.answer(client.prompt("hi").tools(tenant())).await;
    assert_eq!(tool_texts(&model), ["4 rows"]);
}

async fn the_context_reaches_tools_and_never_the_model(mode: Mode) {
    let (client, model) = calling(Reply::call("tenant", "{}"));
    let answer = mode.answer(client.prompt("hi").tools(tenant()).context("tenant", "top-secret")).await;
    assert_eq!(tool_texts(&model), ["10 rows"]);
    for request in model.requests() {
        assert!(!serde_json::to_string(&request.messages).unwrap().contains("top-secret"));
        assert!(!serde_json::to_string(&request.options).unwrap().contains("top-secret"));
        assert!(!format!("{request:?}").contains("top-secret"));
    }
    assert!(!format!("{answer:?}").contains("top-secret"));
}

async fn rust_values_reach_tools_too(mode: Mode) {
    struct Database(&'static str);
    let (client, model) = calling(Reply::call("find", "{}"));
    let find = FakeTool::new("find").acts(|_, context| async move {
        Ok(ToolOutput::text(context.typed::<Database>().map_or("none", |database| database.0)))
    });
    let context = ToolContext::new().with_typed(Database("main"));
    mode.answer(client.prompt("hi").tools(find).tool_context(&context)).await;
    assert_eq!(tool_texts(&model), ["main"]);
}

async fn a_conversation_is_the_caller_unless_the_application_names_one(mode: Mode) {
    let who = || {
        FakeTool::new("who")
            .acts(|_, context| async move { Ok(ToolOutput::text(context.caller().unwrap_or("somebody"))) })
    };
    let named = ToolContext::new().with_caller("the application");
    for (conversation, context, caller) in [
        (None, ToolContext::new(), "somebody"),
        (Some("talk 7"), ToolContext::new(), "talk 7"),
        (Some("talk 7"), named, "the application"),
    ] {
        let (client, model) = calling(Reply::call("who", "{}"));
        let mut request = client.prompt("hi").tools(who()).tool_context(&context);
        if let Some(conversation) = conversation {
            request = request.conversation(conversation);
        }
        mode.answer(request).await;
        assert_eq!(tool_texts(&model), [caller]);
    }
}

async fn a_client_as_a_tool_passes_the_context_on(mode: Mode) {
    let inner = ScriptedModel::new([Reply::call("tenant", "{}"), Reply::text("There are ten.")]);
    let clerk = ChatClient::builder(inner.clone()).default_tools(tenant()).build();
    let (outer, model) = calling(Reply::call("clerk", r#"{"prompt":"How many rows?"}"#));
    let clerk = clerk.as_tool("clerk", "Ask the clerk.");
    mode.answer(outer.prompt("hi").tools(clerk).context("tenant", "top-secret")).await;
    assert_eq!(tool_texts(&model), ["There are ten."]);
    assert_eq!(tool_texts(&inner), ["10 rows"]);
    assert_eq!(inner.requests()[0].messages[0].text(), "How many rows?");
}

async fn a_client_as_a_tool_reports_failures_and_passes_fatal_ones_on(mode: Mode) {
    let down = ChatClient::new(ScriptedModel::new([Reply::error(opentool_chat::ChatError::refused("x", 503, "busy"))]));
    let (outer, model) = calling(Reply::call("clerk", r#"{"prompt":"?"}"#));
    mode.answer(outer.prompt("hi").tools(down.as_tool("clerk", "Ask."))).await;
    assert_eq!(tool_texts(&model), ["x answered 503: busy"]);

    let fatal = FakeTool::new("burn").fails(ToolError::fatal("the database is gone"));
    let inner = ChatClient::builder(ScriptedModel::new([Reply::call("burn", "{}")])).default_tools(fatal).build();
    let (outer, _) = calling(Reply::call("clerk", r#"{"prompt":"?"}"#));
    let error = mode.error(outer.prompt("hi").tools(inner.as_tool("clerk", "Ask."))).await;
    assert_eq!(error.to_string(), "the tool `clerk` ended the turn: the database is gone");
}

async fn a_client_as_a_tool_cannot_wait_for_a_decision(mode: Mode) {
    let careful = FakeTool::new("burn").with_metadata(ToolMetadata::new().with_approval(true));
    let log = careful.log();
    let executor = Executor::builder().approval(Ask::later()).build();
    let model = ChatModel::builder(ScriptedModel::new([Reply::call("burn", "{}")])).executor(executor).build();
    let inner = ChatClient::builder(model).default_tools(careful).build();
    let (outer, model) = calling(Reply::call("clerk", r#"{"prompt":"?"}"#));
    mode.answer(outer.prompt("hi").tools(inner.as_tool("clerk", "Ask."))).await;
    assert_eq!(tool_texts(&model), ["the assistant needs an approval for which it cannot wait here"]);
    assert_eq!(log.count(), 0);
}

in_both_modes!(
    a_tool_gets_an_empty_context_where_none_is_given,
    the_context_reaches_tools_and_never_the_model,
    rust_values_reach_tools_too,
    a_conversation_is_the_caller_unless_the_application_names_one,
    a_client_as_a_tool_passes_the_context_on,
    a_client_as_a_tool_reports_failures_and_passes_fatal_ones_on,
    a_client_as_a_tool_cannot_wait_for_a_decision,
);
