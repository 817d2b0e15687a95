//! The tools that the tests serve.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{
    FnTool, Invocation, Tool, ToolContext, ToolDefinition, ToolError, ToolHandler, ToolMetadata, ToolOutput, Toolbox,
    spec::{Map, OpenTool},
};
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Add {
    a: i64,
    b: i64,
}

pub(crate) fn add() -> FnTool {
    FnTool::new("add", |Add { a, b }: Add| a + b)
}

/// A result as JSON text.
pub(crate) fn raw(text: &str) -> ToolOutput {
    ToolOutput::Json(serde_json::value::RawValue::from_string(text.to_owned()).unwrap())
}

/// One tool for each way in which a call can end.
pub(crate) fn every_way() -> Toolbox {
    let named = ToolDefinition::builder("named").output_name("degrees").build().unwrap();
    let tools = [
        FakeTool::new("object").answers(raw(r#"{"x": 1}"#)),
        FakeTool::new("scalar").answers(raw("7")),
        FakeTool::new("array").answers(raw("[1,2]")),
        FakeTool::new("text").answers("plain \"text\""),
        FakeTool::new("nothing"),
        FakeTool::new("null").answers(raw("null")),
        FakeTool::new("named").with_definition(named).answers(raw("21.5")),
        FakeTool::new("fails").fails(ToolError::failed("the oven is cold").with_detail("operators only")),
        FakeTool::new("codes").fails(ToolError::failed("locked").with_code(423).with_data(json!({"by": "ann"}))),
        FakeTool::new("denied").fails(ToolError::denied("not you")),
        FakeTool::new("limited").fails(ToolError::limit("enough")),
        FakeTool::new("cancelled").fails(ToolError::cancelled()),
        FakeTool::new("panics").panics("at src/secret.rs:7"),
        FakeTool::new("slow").hangs().with_metadata(ToolMetadata::new().with_timeout(Duration::from_millis(50))),
        FakeTool::new("approved").with_metadata(ToolMetadata::new().with_approval(true)),
    ];
    Toolbox::from_tools(tools).unwrap().with(add()).unwrap().with_title("Everything").with_version("3.2.1")
}

/// A handler that answers what it was asked, and describes nothing.
pub(crate) struct Echo;

impl ToolHandler for Echo {
    async fn call(&self, name: &str, arguments: Option<Map>) -> Result<Map, ToolError> {
        if name == "missing" {
            return Err(ToolError::unknown_tool(name, &[]));
        }
        Ok(arguments.unwrap_or_default())
    }

    fn load(&self) -> Option<OpenTool> {
        None
    }
}

/// A tool that wants nothing but time.
pub(crate) fn takes(name: &str, time: Duration) -> FakeTool {
    FakeTool::new(name).answers_after(time, "done")
}

/// A tool that hands a test the context it was called with.
pub(crate) fn shows<F>(name: &str, show: F) -> impl Tool
where
    F: Fn(&ToolContext) -> ToolOutput + Send + Sync + 'static,
{
    struct Shows<F>(ToolDefinition, ToolMetadata, F);
    impl<F: Fn(&ToolContext) -> ToolOutput + Send + Sync + 'static> Tool for Shows<F> {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }
        fn metadata(&self) -> &ToolMetadata {
            &self.1
        }
        fn call<'a>(
            &'a self,
            invocation: Invocation<'a>,
        ) -> opentool_core::BoxFuture<'a, Result<ToolOutput, ToolError>> {
            let output = (self.2)(invocation.context);
            Box::pin(async move { Ok(output) })
        }
    }
    Shows(ToolDefinition::builder(name).build().unwrap(), ToolMetadata::new(), show)
}
