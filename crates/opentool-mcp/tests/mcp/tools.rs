//! The tools that the tests serve.

use std::sync::{Arc, Mutex};

use opentool_core::testing::FakeTool;
use opentool_core::{
    Annotations, BoxFuture, ChangeSignal, FnTool, Link, Part, Resource, RichOutput, ToolChanges, ToolDefinition,
    ToolError, ToolMetadata, ToolOutput, ToolSource, Toolbox,
};
use serde_json::json;
use serde_json::value::RawValue;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// One tool for each way in which a call can end.
pub(crate) fn every_way() -> Toolbox {
    let echo = FakeTool::new("echo").with_schema(json!({ "type": "object" })).acts(|arguments, _| {
        let text = arguments.as_str().to_owned();
        async move { Ok(ToolOutput::Json(raw(&text))) }
    });
    let counted = ToolDefinition::builder("count")
        .title("Count things")
        .output_name("things")
        .output_schema(json!({ "type": "integer" }))
        .check_results(true)
        .build()
        .unwrap();
    let unchecked = ToolDefinition::builder("unchecked").output_schema(json!({ "type": "object" })).build().unwrap();
    let annotated = Part::text("for you").with_annotations(Annotations::new().with_audience(["user"]));
    let tools = [
        echo,
        FakeTool::new("text").answers("plain \"text\""),
        FakeTool::new("lines").answers(ToolOutput::Json(raw("{\n  \"x\": 1\r\n}"))),
        FakeTool::new("scalar").answers(ToolOutput::Json(raw("7"))),
        FakeTool::new("nothing"),
        FakeTool::new("count").with_definition(counted).answers(ToolOutput::Json(raw("3"))),
        FakeTool::new("unchecked").with_definition(unchecked).answers(ToolOutput::Json(raw("{}"))),
        FakeTool::new("parts").answers(vec![
            annotated,
            Part::media("image/png", "aW1n"),
            Part::media("audio/wav", "d2F2"),
            Part::media("application/pdf", "cGRm"),
            Link::new("file:///a/report.pdf").with_title("Report").with_size(7).into(),
            Resource::text("file:///a.txt", "inside").with_media_type("text/plain").into(),
        ]),
        FakeTool::new("rich").answers(
            RichOutput::new()
                .with_structured(raw("[1180591620717411303424]"))
                .with_part(Part::text("a large number"))
                .with_meta(raw(r#"{"example.com/cost":1180591620717411303424}"#)),
        ),
        FakeTool::new("fails").fails(ToolError::failed("the oven is cold").with_detail("operators only")),
        FakeTool::new("fails_with_parts")
            .fails(ToolError::failed("see the picture").with_output(vec![Part::media("image/png", "aW1n")].into())),
        FakeTool::new("panics").panics("at src/secret.rs:7"),
        FakeTool::new("approved").with_metadata(ToolMetadata::new().with_approval(true)),
        FakeTool::new("reads").with_metadata(ToolMetadata::new().with_read_only(true).with_open_world(false)),
    ];
    Toolbox::from_tools(tools)
        .unwrap()
        .with(FnTool::new("add", |Add { a, b }: Add| a + b))
        .unwrap()
        .with_title("Everything")
        .with_version("3.2.1")
        .with_description("Use `add` for sums.")
}

/// Tools that change when the test says so.
#[derive(Clone, Default)]
pub(crate) struct Changing {
    pub(crate) tools: Arc<Mutex<Vec<String>>>,
    pub(crate) signal: ChangeSignal,
}

impl Changing {
    pub(crate) fn set(&self, names: &[&str]) {
        *self.tools.lock().unwrap() = names.iter().map(ToString::to_string).collect();
        self.signal.send();
    }
}

impl ToolSource for Changing {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async {
            let tools = self.tools.lock().unwrap().clone();
            Toolbox::from_tools(tools.iter().map(|name| FakeTool::new(name))).map_err(ToolError::fatal)
        })
    }

    fn changes(&self) -> Option<ToolChanges> {
        Some(self.signal.changes())
    }
}
