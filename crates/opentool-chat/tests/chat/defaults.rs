//! Row "default and runtime tools": the matrix {model default, client default, request} × {tools, names, context}.

use std::sync::Arc;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatModel, ChatOptions};
use opentool_core::testing::FakeTool;
use opentool_core::{Tool, ToolContext, ToolOutput, Toolbox};

use crate::support::Mode;

/// Where something is set: not at all, to nothing, or to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Unset,
    Empty,
    Some,
}

const ALL: [Set; 3] = [Set::Unset, Set::Empty, Set::Some];

/// Every combination of what the model's defaults, the client's defaults and the request set.
fn combinations() -> impl Iterator<Item = [Set; 3]> {
    ALL.into_iter().flat_map(|model| {
        ALL.into_iter().flat_map(move |client| ALL.into_iter().map(move |request| [model, client, request]))
    })
}

const LEVELS: [&str; 3] = ["model", "client", "request"];

/// The level whose setting holds: the innermost that sets anything.
fn winner(set: [Set; 3]) -> Option<&'static str> {
    let level = (0..3).rev().find(|level| set[*level] != Set::Unset)?;
    (set[level] == Set::Some).then_some(LEVELS[level])
}

fn toolbox(set: Set, level: &str) -> Option<Toolbox> {
    match set {
        Set::Unset => None,
        Set::Empty => Some(Toolbox::new()),
        Set::Some => Some(Toolbox::from_tools([FakeTool::new(&format!("tool_of_{level}"))]).unwrap()),
    }
}

fn names(set: Set, level: &str) -> Option<Vec<String>> {
    match set {
        Set::Unset => None,
        Set::Empty => Some(Vec::new()),
        Set::Some => Some(vec![format!("name_of_{level}")]),
    }
}

fn client_with(model: ScriptedModel, options: [ChatOptions; 2]) -> ChatClient {
    let [of_model, of_client] = options;
    let any_name = |name: &str| Some(Arc::new(FakeTool::new(name)) as Arc<dyn Tool>);
    let model = ChatModel::builder(model).default_options(of_model).resolver(any_name).build();
    ChatClient::builder(model).default_options(of_client).build()
}

#[test]
fn a_loop_of_ones_own_gets_the_defaults_of_the_model() {
    let defaults = ChatOptions::new().with_max_tokens(7).with_temperature(1.0).with_tools(FakeTool::new("of_model"));
    let model = ChatModel::builder(ScriptedModel::new([])).default_options(defaults).build();
    let merged = model.merge_options(&ChatOptions::new().with_temperature(0.5));
    assert_eq!((merged.max_tokens, merged.temperature), (Some(7), Some(0.5)));
    assert!(merged.tools.is_some(), "the tools of the model are there too");
}

async fn default_and_runtime_tools_replace_each_kind_its_own(mode: Mode) {
    // Tools and names run through all their combinations side by side, so that each is seen to leave the other alone.
    for tools in combinations() {
        for shift in 0..3 {
            let named = [tools[shift], tools[(shift + 1) % 3], tools[(shift + 2) % 3]];
            let [of_model, of_client, of_request] = [0, 1, 2].map(|level| {
                let mut options = ChatOptions::new();
                if let Some(toolbox) = toolbox(tools[level], LEVELS[level]) {
                    options = options.with_tools(toolbox);
                }
                if let Some(names) = names(named[level], LEVELS[level]) {
                    options = options.with_tool_names(names);
                }
                options
            });
            let model = ScriptedModel::new([Reply::text("hello")]);
            let client = client_with(model.clone(), [of_model, of_client]);
            mode.answer(client.prompt("hi").options(of_request)).await;
            let expected: Vec<_> = [
                winner(tools).map(|level| format!("tool_of_{level}")),
                winner(named).map(|level| format!("name_of_{level}")),
            ]
            .into_iter()
            .flatten()
            .collect();
            assert_eq!(model.requests()[0].tools, expected, "tools {tools:?}, names {named:?}");
        }
    }
}

async fn the_context_is_merged_and_the_runtime_wins_per_key(mode: Mode) {
    for set in combinations() {
        let [of_model, of_client, of_request] = [0, 1, 2].map(|level| match set[level] {
            Set::Unset => ChatOptions::new(),
            Set::Empty => ChatOptions::new().with_tool_context(&ToolContext::new()),
            Set::Some => ChatOptions::new().with_context("who", LEVELS[level]).with_context(LEVELS[level], true),
        });
        let tool = FakeTool::new("show").acts(|_, context| async move {
            let who = context.get("who").and_then(|who| who.as_str()).unwrap_or("none");
            let set = LEVELS.iter().filter(|level| context.get(level).is_some());
            let set = set.copied().collect::<Vec<_>>().join(" ");
            Ok(ToolOutput::text(format!("{who}: {set}")))
        });
        let model = ScriptedModel::new([Reply::call("show", "{}"), Reply::text("done")]);
        let client = client_with(model.clone(), [of_model, of_client]);
        mode.answer(client.prompt("hi").options(of_request).tools(tool)).await;
        let having = (0..3).filter(|level| set[*level] == Set::Some).map(|level| LEVELS[level]).collect::<Vec<_>>();
        let expected = format!("{}: {}", having.last().unwrap_or(&"none"), having.join(" "));
        assert_eq!(crate::support::tool_texts(&model), [expected], "{set:?}");
    }
}

async fn added_tools_join_whatever_is_there(mode: Mode) {
    let model = ScriptedModel::new([Reply::text("1"), Reply::text("2"), Reply::text("3"), Reply::text("4")]);
    let client = ChatClient::builder(model.clone()).default_tools(FakeTool::new("default")).build();
    mode.answer(client.prompt("hi").add_tools(FakeTool::new("added")).add_tools(FakeTool::new("more"))).await;
    mode.answer(client.prompt("hi").tools(FakeTool::new("own")).add_tools(FakeTool::new("added"))).await;
    mode.answer(client.prompt("hi")).await;
    let own = ChatOptions::new().with_tools(FakeTool::new("own")).with_added_tools(FakeTool::new("more"));
    mode.answer(client.prompt("hi").add_tools(FakeTool::new("added")).options(own)).await;
    let tools: Vec<_> = model.requests().into_iter().map(|request| request.tools).collect();
    assert_eq!(
        tools,
        [vec!["default", "added", "more"], vec!["own", "added"], vec!["default"], vec!["own", "added", "more"]]
    );
}

async fn defaults_hold_for_what_a_request_does_not_set(mode: Mode) {
    let model = ScriptedModel::new([Reply::text("hello")]);
    let of_model = ChatOptions::new().with_model("large").with_temperature(1.0).with_stop(["END"]).with_extra("a", 1);
    let of_client = ChatOptions::new().with_model("small").with_max_tokens(10).with_extra("b", 2);
    let client = client_with(model.clone(), [of_model, of_client]);
    let of_request = ChatOptions::new().with_max_tokens(20).with_stop(Vec::<String>::new()).with_extra("a", 3);
    mode.answer(client.prompt("hi").options(of_request)).await;
    let asked = &model.requests()[0].options;
    assert_eq!((asked.model.as_deref(), asked.temperature, asked.max_tokens), (Some("small"), Some(1.0), Some(20)));
    assert_eq!(asked.stop.as_deref(), Some(&[][..]), "an empty list is not the same as none");
    assert_eq!(serde_json::to_string(&asked.extra).unwrap(), r#"{"a":3,"b":2}"#);
}

async fn system_text_comes_first_and_a_request_may_replace_it(mode: Mode) {
    let model = ScriptedModel::new([Reply::text("1"), Reply::text("2"), Reply::text("3")]);
    let client = ChatClient::builder(model.clone()).system("Be terse.").build();
    mode.answer(client.prompt("hi")).await;
    mode.answer(client.prompt("hi").system("Be kind.")).await;
    let own = [opentool_chat::Message::system("Be loud."), opentool_chat::Message::user("hi")];
    mode.answer(client.prompt(own)).await;
    let first: Vec<_> = model.requests().iter().map(|request| request.messages[0].text().to_owned()).collect();
    assert_eq!(first, ["Be terse.", "Be kind.", "Be loud."]);
    assert!(model.requests().iter().all(|request| request.messages.len() == 2));
}

in_both_modes!(
    default_and_runtime_tools_replace_each_kind_its_own,
    the_context_is_merged_and_the_runtime_wins_per_key,
    added_tools_join_whatever_is_there,
    defaults_hold_for_what_a_request_does_not_set,
    system_text_comes_first_and_a_request_may_replace_it,
);
