//! Rules 3 and 4: only attached tools run, and names are unique.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{
    Chain, ErrorKind, Executor, Resolver, Tool, ToolDefinition, ToolError, ToolOutput, Toolbox, ToolboxError,
    UnknownTool,
};
use serde_json::json;

use super::toolbox;

#[tokio::test]
async fn an_unknown_tool_is_an_error_with_near_names() {
    let probe = Probe::new(toolbox([FakeTool::new("get_weather"), FakeTool::new("send_mail")]));
    let answer = probe.call("getWeather", "").await;
    answer.assert_message("there is no tool named `getWeather`; did you mean `get_weather`?");
    assert!(!answer.outcome().error().unwrap().is_fatal());
}

#[tokio::test]
async fn an_unknown_tool_can_be_an_error_for_the_caller_instead() {
    let executor = Executor::builder().unknown_tool(UnknownTool::Fail).build();
    let error = executor.host(FakeTool::new("a")).call("b", "").await.unwrap_err();
    assert_eq!((error.kind(), error.is_fatal()), (ErrorKind::UnknownTool, true));
}

#[tokio::test]
async fn an_unknown_tool_can_be_answered_by_a_closure() {
    let executor = Executor::builder()
        .unknown_tool(|name: &str, tools: &Toolbox| Ok(ToolOutput::text(format!("no {name} among {}", tools.len()))))
        .build();
    Probe::with(&executor, FakeTool::new("a")).call("b", "").await.assert_text("no b among 1");
}

#[tokio::test]
async fn a_resolver_widens_what_may_run_only_when_the_caller_says_so() {
    let hidden = FakeTool::new("hidden").answers("found");
    let log = hidden.log();
    let registry = toolbox([hidden]);
    let probe = Probe::new(FakeTool::new("a"));
    probe.call("hidden", "").await.assert_error(ErrorKind::UnknownTool);
    assert_eq!(log.count(), 0);

    let executor = Executor::builder().resolver(registry).build();
    Probe::with(&executor, FakeTool::new("a")).call("hidden", "").await.assert_text("found");
    assert_eq!(log.count(), 1);
}

#[test]
fn the_first_resolver_with_a_hit_wins() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let chain = Chain::new()
        .then(toolbox([FakeTool::new("a")]))
        .then(|name: &str| (name == "b").then(|| Arc::new(FakeTool::new("b")) as Arc<dyn Tool>))
        .then(move |_: &str| {
            counter.fetch_add(1, SeqCst);
            None
        });
    assert_eq!(chain.resolve("a").unwrap().definition().name(), "a");
    assert_eq!(chain.resolve("b").unwrap().definition().name(), "b");
    assert_eq!(asked.load(SeqCst), 0);
    assert!(chain.resolve("c").is_none());
    assert_eq!(asked.load(SeqCst), 1);
}

#[test]
fn a_name_must_fit_the_rule_of_the_spec() {
    for good in ["a", "A_b-9", &"x".repeat(64)] {
        assert!(ToolDefinition::builder(good).build().is_ok(), "{good}");
    }
    for bad in ["", "a b", "a.b", "ä", "a/b", &"x".repeat(65)] {
        let error = ToolDefinition::builder(bad).build().unwrap_err();
        assert!(error.to_string().contains(bad), "{error}");
    }
}

#[test]
fn a_schema_that_does_not_compile_or_is_no_object_is_a_build_error() {
    for bad in [json!({ "type": "string" }), json!({ "type": "object", "required": 7 }), json!(true), json!({})] {
        let error = ToolDefinition::builder("a").input_schema(bad.clone()).build();
        assert!(error.is_err(), "{bad}");
        assert!(error.unwrap_err().to_string().contains("`a`"));
    }
}

#[test]
fn a_tool_without_parameters_still_has_an_object_schema() {
    let definition = ToolDefinition::builder("a").build().unwrap();
    assert_eq!(
        definition.input_schema(),
        &json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false })
    );
}

#[test]
fn a_blank_description_becomes_the_name() {
    assert_eq!(ToolDefinition::builder("a").description("  ").build().unwrap().description(), "a");
    assert_eq!(ToolDefinition::builder("a").build().unwrap().description(), "a");
    assert_eq!(ToolDefinition::builder("a").description("b").build().unwrap().description(), "b");
}

#[tokio::test]
async fn duplicate_names_are_an_error_on_every_path() -> Result<(), ToolboxError> {
    let twice = || [FakeTool::new("a"), FakeTool::new("a")];
    let message = "two tools are named `a`: `a` and `a`";
    assert_eq!(Toolbox::from_tools(twice()).unwrap_err().to_string(), message);
    assert_eq!(Toolbox::new().with(FakeTool::new("a"))?.with(FakeTool::new("a")).unwrap_err().to_string(), message);
    assert_eq!(toolbox([FakeTool::new("a")]).merge(toolbox([FakeTool::new("a")])).unwrap_err().to_string(), message);
    assert_eq!(toolbox([FakeTool::new("a"), FakeTool::new("b")]).rename("b", "a").unwrap_err().to_string(), message);

    // A builder keeps the error until the call.
    let tuple = Executor::new().host((FakeTool::new("a"), toolbox([FakeTool::new("a")])));
    let array = Executor::new().host(twice());
    let vector = Executor::new().host(Vec::from(twice()));
    for host in [tuple, array, vector] {
        let error = host.call("a", "").await.unwrap_err();
        assert_eq!((error.message(), error.is_fatal()), (message, true));
        assert_eq!(host.toolbox().await.unwrap_err().message(), message);
    }
    Ok(())
}

#[test]
fn a_collision_names_both_tools() {
    let described = |text: &str| {
        FakeTool::new("a").with_definition(ToolDefinition::builder("add").description(text).build().unwrap())
    };
    let error = Toolbox::from_tools([described("Add numbers."), described("Add a contact.\nMore.")]).unwrap_err();
    assert_eq!(error.to_string(), "two tools are named `add`: `add` (Add numbers.) and `add` (Add a contact.)");
}

#[tokio::test]
async fn a_renamed_tool_keeps_its_place_its_schema_and_its_body() -> Result<(), Box<dyn std::error::Error>> {
    let named = |name| FakeTool::new(name).acts(|_, context| async move { Ok(ToolOutput::text(context.tool_name())) });
    let tools = Toolbox::from_tools(["a", "b", "c"].map(named))?.rename("b", "z")?.prefix("x_")?;
    assert_eq!(tools.names().collect::<Vec<_>>(), ["x_a", "x_z", "x_c"]);
    assert_eq!(tools.get("x_z").unwrap().definition().description(), "x_z");
    let probe = Probe::new(tools.clone());
    probe.call("x_z", "").await.assert_text("x_z");
    probe.call("b", "").await.assert_error(ErrorKind::UnknownTool);

    assert!(matches!(tools.clone().rename("nowhere", "y"), Err(ToolboxError::Unknown { .. })));
    assert!(matches!(tools.clone().rename("x_a", "not a name"), Err(ToolboxError::Definition(_))));
    assert_eq!(tools.filter(|tool| tool.definition().name() != "x_a").len(), 2);
    Ok(())
}

#[tokio::test]
async fn near_names_are_left_out_where_nothing_is_near() {
    let error: ToolError = Executor::new().host(FakeTool::new("get_weather")).call("q", "").await.unwrap_err();
    assert_eq!(error.message(), "there is no tool named `q`");
}
