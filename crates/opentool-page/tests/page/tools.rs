//! Tools that do what the tests need.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use opentool_core::{Failure, FnTool, Part, ToolContext, ToolMetadata, ToolOutput, Toolbox, UserAnswer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Remove {
    /// What to remove.
    name: String,
}

/// One tool for each way in which a call goes.
pub(crate) fn every_way() -> Toolbox {
    removing().0
}

/// The same, and how often `remove` has run.
pub(crate) fn removing() -> (Toolbox, Arc<AtomicUsize>) {
    let removed = Arc::new(AtomicUsize::new(0));
    let count = removed.clone();
    let tools = [
        FnTool::new("add", |Add { a, b }| a + b).description("Add two numbers.").read_only(),
        FnTool::new("echo", |value: serde_json::Map<String, serde_json::Value>| value)
            .input_schema(json!({ "type": "object" }))
            .read_only(),
        FnTool::new("remove", move |Remove { name }| {
            count.fetch_add(1, SeqCst);
            format!("removed {name}")
        })
        .destructive(),
        FnTool::fallible("hang", |_: ToolContext| async {
            tokio::time::sleep(Duration::from_secs(600)).await;
            Ok(())
        })
        .read_only(),
        FnTool::fallible("count", |context: ToolContext| async move {
            for done in 1..=3 {
                context.progress(f64::from(done), Some(3.0), format!("step {done}"));
                context.emit(format!("piece {done}")).await;
                // So that each progress is seen, and not only the latest.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok("counted")
        })
        .read_only(),
        FnTool::fallible("picture", || async {
            Ok(ToolOutput::Parts(vec![Part::text("a pixel"), Part::media("image/png", "iVBORw0KGgo=")]))
        })
        .read_only(),
        FnTool::fallible("fail", || async { Err::<(), _>(Failure::new("the calendar is read-only")) }).read_only(),
        FnTool::fallible("greet", |context: ToolContext| async move {
            let schema =
                json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
            Ok(match context.ask("What is your name?", schema).await? {
                UserAnswer::Accepted(answer) => format!("Hello, {}!", answer["name"].as_str().unwrap()),
                UserAnswer::Declined => "declined".to_owned(),
                _ => "closed".to_owned(),
            })
        })
        .read_only(),
        FnTool::fallible("who", |context: ToolContext| async move {
            Ok(context.caller().unwrap_or("no caller").to_owned())
        })
        .read_only(),
    ];
    (Toolbox::from_tools(tools).unwrap(), removed)
}

/// A tool that wants approval, whatever it does.
pub(crate) fn needs_approval() -> Toolbox {
    let tool = FnTool::new("pay", || "paid").metadata(ToolMetadata::new().with_read_only(true).with_approval(true));
    Toolbox::from_tools([tool]).unwrap()
}
