//! A server with the tools that the protocol's own conformance suite calls: `scripts/mcp-conformance`.
//!
//! It prints its URL and serves until its standard input ends.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{BoxFuture, ChangeSignal, Part, Resource, ToolChanges, ToolError, ToolOutput, ToolSource, Toolbox};
use opentool_mcp::Mcp;
use opentool_server::Server;
use serde_json::json;
use tokio::io::AsyncReadExt;

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// The tools, one of which comes and goes.
struct Fixtures {
    tools: Toolbox,
    changed: ChangeSignal,
    is_extended: Arc<AtomicBool>,
}

impl ToolSource for Fixtures {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async {
            let extended = self.is_extended.load(Ordering::SeqCst);
            let tools = self.tools.clone();
            if extended { tools.with(FakeTool::new("test_dynamic")).map_err(ToolError::fatal) } else { Ok(tools) }
        })
    }

    fn changes(&self) -> Option<ToolChanges> {
        Some(self.changed.changes())
    }
}

fn image() -> Part {
    Part::media("image/png", PNG)
}

fn fixtures() -> Fixtures {
    let (changed, is_extended) = (ChangeSignal::new(), Arc::new(AtomicBool::new(false)));
    let (signal, extended) = (changed.clone(), is_extended.clone());
    let embedded = Resource::text("test://embedded-resource", "This is an embedded resource content.");
    let mixed = Resource::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
    let header_schema = json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" }, "query": { "type": "string" } },
        "required": ["region"],
    });
    let tools = [
        FakeTool::new("test_simple_text").answers("This is a simple text response for testing."),
        FakeTool::new("test_image_content").answers(vec![image()]),
        FakeTool::new("test_audio_content").answers(vec![Part::media("audio/wav", WAV)]),
        FakeTool::new("test_embedded_resource").answers(vec![embedded.with_media_type("text/plain").into()]),
        FakeTool::new("test_multiple_content_types").answers(vec![
            Part::text("Multiple content types test:"),
            image(),
            mixed.with_media_type("application/json").into(),
        ]),
        FakeTool::new("test_error_handling")
            .fails(ToolError::failed("This tool intentionally returns an error for testing")),
        FakeTool::new("test_tool_with_progress").acts(|_, context| async move {
            for done in [0.0, 50.0, 100.0] {
                context.progress(done, Some(100.0), None);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(ToolOutput::text("Progress was reported."))
        }),
        FakeTool::new("test_logging_tool").answers("Nothing is logged to the client."),
        FakeTool::new("test_headers").with_schema(header_schema).answers("The headers are right."),
        FakeTool::new("json_schema_2020_12_tool").with_schema(json_schema()).answers("The arguments are right."),
        FakeTool::new("test_trigger_tool_change").acts(move |_, _| {
            extended.fetch_xor(true, Ordering::SeqCst);
            signal.send();
            async { Ok(ToolOutput::text("The tools changed.")) }
        }),
    ];
    Fixtures { tools: Toolbox::from_tools(tools).unwrap().with_title("conformance fixtures"), changed, is_extended }
}

fn json_schema() -> serde_json::Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bound = Server::new(fixtures()).mount(Mcp::new()).bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", bound.local_addr()?);
    let handle = bound.shutdown_handle();
    tokio::spawn(async move {
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
        handle.shutdown();
    });
    bound.serve().await;
    Ok(())
}
