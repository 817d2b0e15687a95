use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use opentool_core::{
    Arguments, Concurrency, ErrorKind, Executor, Failure, FnTool, IntoToolSource, Tool, ToolContext, ToolError,
    ToolOutput, Toolbox,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{call, call_with, definition, json, property, required, the_tool};

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    b: i64,
}

#[tokio::test]
async fn a_closure_of_every_shape_is_a_tool() {
    let arguments = json!({"a": 1, "b": 2});
    let context = ToolContext::new().with("offset", 10);
    let offset = |cx: &ToolContext| cx.get("offset").and_then(Value::as_i64).unwrap();
    let plain = [
        (FnTool::new("t", || 3), 3),
        (FnTool::new("t", |i: Add| i.a + i.b), 3),
        (FnTool::new("t", move |cx: ToolContext| offset(&cx)), 10),
        (FnTool::new("t", move |i: Add, cx: ToolContext| i.a + i.b + offset(&cx)), 13),
        (FnTool::new("t", || async { 3 }), 3),
        (FnTool::new("t", |i: Add| async move { i.a + i.b }), 3),
        (FnTool::new("t", move |cx: ToolContext| async move { offset(&cx) }), 10),
        (FnTool::new("t", move |i: Add, cx: ToolContext| async move { i.a + i.b + offset(&cx) }), 13),
    ];
    let fallible = [
        (FnTool::fallible("t", || Ok("3".parse::<i64>()?)), 3),
        (FnTool::fallible("t", |i: Add| i.a.checked_add(i.b).ok_or(Failure::new("too much"))), 3),
        (FnTool::fallible("t", move |cx: ToolContext| Ok(offset(&cx))), 10),
        (FnTool::fallible("t", move |i: Add, cx: ToolContext| Ok(i.a + i.b + offset(&cx))), 13),
        (FnTool::fallible("t", || async { Ok("3".parse::<i64>()?) }), 3),
        (FnTool::fallible("t", |i: Add| async move { Ok(i.a + i.b) }), 3),
        (FnTool::fallible("t", move |cx: ToolContext| async move { Ok(offset(&cx)) }), 10),
        (FnTool::fallible("t", move |i: Add, cx: ToolContext| async move { Ok(i.a + i.b + offset(&cx)) }), 13),
    ];
    for (number, (tool, expected)) in plain.into_iter().chain(fallible).enumerate() {
        let output = call_with(tool, arguments.clone(), &context).await.unwrap();
        assert_eq!(json(output), expected, "shape {number}");
    }
}

#[tokio::test]
async fn an_async_closure_is_a_tool() {
    let tools = [
        FnTool::new("t", async |i: Add| i.a + i.b),
        FnTool::new("t", async |i: Add, cx: ToolContext| i.a + i.b + i64::from(cx.attempt() > 1)),
        FnTool::fallible("t", async |i: Add| Ok(i.a + i.b + "0".parse::<i64>()?)),
    ];
    for (number, tool) in tools.into_iter().enumerate() {
        assert_eq!(json(call(tool, json!({"a": 1, "b": 2})).await.unwrap()), 3, "shape {number}");
    }
}

#[tokio::test]
async fn a_closure_that_returns_nothing_has_an_empty_result() {
    let count = Arc::new(AtomicU32::new(0));
    let (sync, waiting) = (count.clone(), count.clone());
    for tool in [
        FnTool::new("sync", move || {
            sync.fetch_add(1, Ordering::Relaxed);
        }),
        FnTool::fallible("waiting", move || {
            let waiting = waiting.clone();
            async move {
                waiting.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
        }),
    ] {
        assert_eq!(call(tool, json!({})).await.unwrap(), ToolOutput::Empty);
    }
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

#[tokio::test]
async fn the_question_mark_works_on_every_error() {
    let missing = json!({"path": "/does/not/exist"});
    for tool in [
        FnTool::fallible("size", |i: File| Ok(fs::metadata(i.path)?.len())),
        FnTool::fallible("size", |i: File, _: ToolContext| async move { Ok(fs::metadata(i.path)?.len()) }),
    ] {
        let error = call(tool, missing.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.message().contains("No such file"), "{error}");
    }
    let fatal = FnTool::fallible("fatal", || -> Result<(), Failure> { Err(ToolError::fatal("stop"))? });
    assert!(call(fatal, json!({})).await.unwrap_err().is_fatal());
}

#[tokio::test]
async fn a_function_item_is_a_closure_too() {
    fn sum(input: Add) -> i64 {
        input.a + input.b
    }
    async fn slow_sum(input: Add) -> Result<i64, Failure> {
        Ok(sum(input))
    }
    assert_eq!(json(call(FnTool::new("sum", sum), json!({"a": 1, "b": 2})).await.unwrap()), 3);
    assert_eq!(json(call(FnTool::fallible("sum", slow_sum), json!({"a": 1, "b": 2})).await.unwrap()), 3);
}

#[test]
fn everything_about_a_closure_can_be_set() {
    let tool = FnTool::new("old", |i: Add| i.a + i.b)
        .name("add")
        .description("Add two numbers.")
        .output_name("sum")
        .output::<i64>()
        .return_direct()
        .read_only()
        .destructive()
        .idempotent()
        .open_world()
        .approval()
        .concurrency(Concurrency::Serial)
        .timeout(Duration::from_secs(1))
        .converter(|_: ToolOutput| Ok(ToolOutput::Empty));
    let tool = the_tool(tool);
    let definition = tool.definition();
    assert_eq!((definition.name(), definition.description()), ("add", "Add two numbers."));
    assert_eq!(property(definition, "a")["description"], "The first number.");
    assert_eq!(required(definition), ["a", "b"]);
    assert_eq!(definition.output_name(), Some("sum"));
    assert_eq!(definition.output_schema().unwrap()["type"], "integer");
    let metadata = tool.metadata();
    assert!(metadata.is_return_direct() && metadata.is_read_only() && metadata.is_destructive());
    assert!(metadata.is_idempotent() && metadata.needs_approval() && metadata.converter().is_some());
    assert_eq!(metadata.open_world(), Some(true));
    assert_eq!((metadata.concurrency(), metadata.timeout()), (Concurrency::Serial, Some(Duration::from_secs(1))));

    let bare = definition_of_bare();
    assert_eq!((bare.description(), bare.output_schema()), ("bare", None));
}

fn definition_of_bare() -> opentool_core::ToolDefinition {
    definition(FnTool::new("bare", || 1))
}

#[test]
fn an_input_that_is_no_object_is_a_build_error() {
    for error in [
        FnTool::new("negate", |i: i64| -i).build().map(drop).unwrap_err(),
        FnTool::new("negate", |i: Vec<String>| i).build().map(drop).unwrap_err(),
        FnTool::new("negate", |i: (u8, u8)| i).build().map(drop).unwrap_err(),
        FnTool::new("negate", |i: Option<String>| i).build().map(drop).unwrap_err(),
    ] {
        let message = error.to_string();
        assert!(message.contains("`#[tool] fn negate(…)`"), "{message}");
    }
}

#[test]
fn a_fault_is_kept_until_something_takes_the_tool() {
    let wrong = || FnTool::new("no spaces", || 1).description("still a builder");
    assert!(wrong().build().is_err());
    assert!(Toolbox::new().with(wrong()).is_err());
    assert!(Toolbox::from_tools([wrong()]).is_err());
    let error = wrong().into_tool_source().unwrap_err();
    assert!(error.to_string().contains("tool name `no spaces` does not match"), "{error}");
}

#[test]
fn a_given_schema_must_compile_and_describe_an_object() {
    for wrong in [
        json!({"type": "array"}),
        json!(true),
        json!({"type": "object", "properties": {"a": {"type": "nonsense"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
    ] {
        let built = FnTool::new("t", |_: Arguments| 1).input_schema(wrong.clone()).build();
        let error = built.map(drop).unwrap_err();
        assert!(error.to_string().contains("input schema of tool `t`"), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn a_tool_is_made_at_run_time_from_any_schema() {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "times": {"type": "integer", "maximum": 3}},
        "required": ["name"],
        "additionalProperties": false,
    });
    let by_text = FnTool::new("greet", |arguments: Arguments| arguments.to_string());
    let by_map = FnTool::new("greet", |arguments: Map<String, Value>, _: ToolContext| async move {
        Value::Object(arguments).to_string()
    });
    let by_value = FnTool::new("greet", |arguments: Value| arguments.to_string());
    for tool in [by_text, by_map, by_value] {
        let host = Executor::new().host(tool.input_schema(schema.clone()).description("Greet."));
        let known = host.toolbox().await.unwrap().get("greet").unwrap().definition().clone();
        assert_eq!((known.input_schema(), known.description()), (&schema, "Greet."));
        let output = host.call("greet", r#"{"name":"Ada"}"#).await.unwrap();
        assert_eq!(output, ToolOutput::text(r#"{"name":"Ada"}"#));
        let error = host.call("greet", r#"{"name":"Ada","times":4}"#).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    }
}

#[tokio::test]
async fn a_sync_closure_runs_on_another_thread_unless_it_is_inline() {
    let thread = || format!("{:?}", std::thread::current().id());
    let there = call(FnTool::new("thread", thread), json!({})).await.unwrap();
    assert_ne!(there, ToolOutput::text(thread()));
    let here = call(FnTool::new("thread", thread).inline(), json!({})).await.unwrap();
    assert_eq!(here, ToolOutput::text(thread()));
    let here = call(FnTool::new("thread", move || async move { thread() }).inline(), json!({})).await.unwrap();
    assert_eq!(here, ToolOutput::text(thread()));
}

#[tokio::test]
async fn a_closure_without_input_ignores_what_it_is_given() {
    let tool: Arc<dyn Tool> = FnTool::new("ping", || "pong").build().unwrap();
    assert_eq!(call(tool, json!({"extra": 1})).await.unwrap(), ToolOutput::text("pong"));
}
