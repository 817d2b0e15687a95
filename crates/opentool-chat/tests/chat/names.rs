//! Rows "model names a tool that is not attached", "name given by `tool_names` and not resolvable", "duplicate names".

use std::sync::Arc;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{Cause, ChatClient, ChatModel};
use opentool_core::testing::FakeTool;
use opentool_core::{Chain, ErrorKind, Executor, Tool, ToolOutput, Toolbox, UnknownTool};

use crate::support::{Mode, calling, tool_texts};

async fn an_unattached_tool_is_an_error_with_near_names(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("get_wether", "{}"), Reply::text("done")]);
    let other = FakeTool::new("get_wether");
    let log = other.log();
    let resolver = Toolbox::from_tools([other]).unwrap();
    let client = ChatClient::new(ChatModel::builder(model.clone()).resolver(resolver).build());
    let answer = mode.answer(client.prompt("How is the weather?").tools(FakeTool::new("get_weather"))).await;
    assert_eq!(answer.text(), "done");
    assert_eq!(tool_texts(&model), ["there is no tool named `get_wether`; did you mean `get_weather`?"]);
    assert_eq!(log.count(), 0, "a resolver for names does not widen what a model may call");
    let answers = answer.messages()[2].answers();
    assert_eq!(answers[0].error, Some(ErrorKind::UnknownTool));
}

async fn an_impossible_tool_name_becomes_one_that_can_be_sent(mode: Mode) {
    let long = "x".repeat(100);
    for (name, sent) in [
        ("functions.get_weather", "functions_get_weather"),
        ("get weather", "get_weather_1"),
        ("", "unnamed_tool"),
        ("wetter?\u{0}", "wetter__"),
        (&*long, &long[..48]),
    ] {
        let weather = FakeTool::new("get_weather");
        let log = weather.log();
        let (client, model) = calling(Reply::call(name, "{}"));
        let answer = mode.answer(client.prompt("How is the weather?").tools(weather)).await;
        assert_eq!(&*answer.messages()[1].tool_calls()[0].name, sent);
        assert!(
            tool_texts(&model)[0].starts_with(&format!("there is no tool named `{sent}`")),
            "{:?}",
            tool_texts(&model)
        );
        assert_eq!(log.count(), 0, "{name}");
    }
}

async fn an_unattached_tool_is_answered_by_a_custom_policy(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("nowhere", "{}"), Reply::text("done")]);
    let policy = |name: &str, _: &Toolbox| Ok(ToolOutput::text(format!("{name} is coming soon")));
    let executor = Executor::builder().unknown_tool(policy).build();
    let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build());
    mode.answer(client.prompt("hi")).await;
    assert_eq!(tool_texts(&model), ["nowhere is coming soon"]);
}

async fn an_unattached_tool_runs_when_the_executor_may_resolve_it(mode: Mode) {
    let hidden = FakeTool::new("hidden").answers("found");
    let model = ScriptedModel::new([Reply::call("hidden", "{}"), Reply::text("done")]);
    let executor = Executor::builder().resolver(Toolbox::from_tools([hidden]).unwrap()).build();
    let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build());
    mode.answer(client.prompt("hi")).await;
    assert_eq!(tool_texts(&model), ["found"]);
    assert!(model.requests()[0].tools.is_empty());
}

async fn an_unattached_tool_ends_the_turn_when_the_policy_says_so(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("nowhere", "{}"), Reply::text("done")]);
    let executor = Executor::builder().unknown_tool(UnknownTool::Fail).build();
    let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build());
    let error = mode.error(client.prompt("hi")).await;
    assert!(matches!(error.cause(), Cause::Tool { tool, .. } if &**tool == "nowhere"), "{error:?}");
    assert_eq!(error.exchange().messages().len(), 3, "question, call, answer");
}

async fn an_unresolvable_name_is_an_error_before_the_model_is_called(mode: Mode) {
    for resolves in [true, false] {
        let model = ScriptedModel::new([Reply::text("never said")]);
        let mut builder = ChatModel::builder(model.clone());
        if resolves {
            builder = builder.resolver(Toolbox::from_tools([FakeTool::new("here")]).unwrap());
        }
        let error = mode.error(ChatClient::new(builder.build()).prompt("hi").tool_names(["here", "nowhere"])).await;
        let expected = match resolves {
            true => "the tools of the request are not available: no resolver knows a tool named `nowhere`",
            false => {
                "the tools of the request are not available: there is no resolver that could find the tool named `here`; give the model one"
            }
        };
        assert_eq!(error.to_string(), expected);
        assert!(model.requests().is_empty());
    }
}

async fn a_name_is_resolved_by_the_first_of_a_chain(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("clock", "{}").and_call("radio", "{}"), Reply::text("done")]);
    let chain = Chain::new()
        .then(Toolbox::from_tools([FakeTool::new("clock").answers("first")]).unwrap())
        .then(|name: &str| Some(Arc::new(FakeTool::new(name).answers("second")) as Arc<dyn Tool>));
    let client = ChatClient::builder(ChatModel::builder(model.clone()).resolver(chain).build())
        .default_tool_names(["clock", "radio"])
        .build();
    mode.answer(client.prompt("hi")).await;
    assert_eq!(model.requests()[0].tools, ["clock", "radio"]);
    assert_eq!(tool_texts(&model), ["first", "second"]);
}

async fn duplicate_names_are_an_error_on_every_path(mode: Mode) {
    let twin = || FakeTool::new("twin");
    let model = ScriptedModel::new([]);
    let resolved = ChatModel::builder(model.clone()).resolver(Toolbox::from_tools([twin()]).unwrap()).build();
    let client = ChatClient::new(resolved.clone());
    let defaults = ChatClient::builder(resolved).default_tools(twin()).build();
    let requests = [
        client.prompt("hi").tools([twin(), twin()]),
        client.prompt("hi").tools((twin(), twin())),
        client.prompt("hi").tools(twin()).add_tools(twin()),
        client.prompt("hi").tools(twin()).tool_names(["twin"]),
        client.prompt("hi").tool_names(["twin", "twin"]),
        defaults.prompt("hi").add_tools(twin()),
        defaults.prompt("hi").tool_names(["twin"]),
    ];
    for (path, request) in requests.into_iter().enumerate() {
        let error = mode.error(request).await;
        assert!(error.to_string().contains("two tools are named `twin`"), "path {path}: {error}");
    }
    assert!(model.requests().is_empty());
}

in_both_modes!(
    an_impossible_tool_name_becomes_one_that_can_be_sent,
    an_unattached_tool_is_answered_by_a_custom_policy,
    an_unattached_tool_is_an_error_with_near_names,
    an_unattached_tool_runs_when_the_executor_may_resolve_it,
    an_unattached_tool_ends_the_turn_when_the_policy_says_so,
    an_unresolvable_name_is_an_error_before_the_model_is_called,
    a_name_is_resolved_by_the_first_of_a_chain,
    duplicate_names_are_an_error_on_every_path,
);
