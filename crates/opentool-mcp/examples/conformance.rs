//! A server with the tools that the protocol's own conformance suite calls: `scripts/mcp-conformance`.
//!
//! It prints its URL and serves until its standard input ends.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{
    BoxFuture, ChangeSignal, Part, Question, Resource, ToolChanges, ToolContext, ToolError, ToolOutput, ToolSource,
    Toolbox, UserAnswer,
};
use opentool_mcp::Mcp;
use opentool_server::Server;
use serde_json::{Value, json};
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

/// The schema of an object with one required property.
fn one(name: &str, kind: &str) -> Value {
    json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] })
}

/// A tool that asks a question and answers with what it got.
fn asks(name: &str, key: &'static str, message: &'static str, schema: Value, said: &'static str) -> FakeTool {
    FakeTool::new(name).acts(move |_, context| {
        let question = Question::new(message, schema.clone()).with_key(key);
        async move { said_about(&context, question, said).await }
    })
}

async fn said_about(context: &ToolContext, question: Question, said: &str) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::text(match context.ask_question(question).await? {
        UserAnswer::Accepted(content) => format!("{said}: action=accept, content={}", Value::Object(content)),
        UserAnswer::Declined => format!("{said}: action=decline"),
        _ => format!("{said}: action=cancel"),
    }))
}

/// The tools that ask the user.
fn asking() -> Vec<FakeTool> {
    let user = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    let message_schema = one("message", "string");
    let elicitation = FakeTool::new("test_elicitation").with_schema(message_schema).acts(move |arguments, context| {
        let message = arguments.value().ok().and_then(|value| value["message"].as_str().map(str::to_owned));
        let question = Question::new(message.unwrap_or_default(), user.clone());
        async move { said_about(&context, question, "User response").await }
    });
    let steps = FakeTool::new("test_input_required_result_multi_round").acts(|_, context| async move {
        let first = Question::new("Step 1: What is your name?", one("name", "string")).with_key("step1");
        context.ask_question(first).await?;
        let second = Question::new("Step 2: What is your favorite color?", one("color", "string")).with_key("step2");
        said_about(&context, second, "Both steps are done").await
    });
    let streams = FakeTool::new("test_streaming_elicitation").acts(|_, context| async move {
        context.progress(1.0, None, None);
        said_about(&context, Question::new("Go on?", one("ok", "boolean")), "Went on").await
    });
    vec![
        elicitation,
        asks("test_elicitation_sep1034_defaults", "defaults", "Please check", defaults(), "Elicitation completed"),
        asks("test_elicitation_sep1330_enums", "enums", "Please choose", enums(), "Elicitation completed"),
        asks(
            "test_input_required_result_elicitation",
            "user_name",
            "What is your name?",
            one("name", "string"),
            "Hello",
        ),
        asks("test_input_required_result_request_state", "confirm", "Please confirm", one("ok", "boolean"), "state-ok"),
        asks(
            "test_input_required_result_tampered_state",
            "confirm",
            "Please confirm",
            one("ok", "boolean"),
            "state-ok",
        ),
        asks("test_missing_capability", "confirm", "Please confirm", one("ok", "boolean"), "asked"),
        steps,
        streams,
    ]
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

fn enums() -> Value {
    let titled = |word: &str| {
        json!([
            { "const": "value1", "title": format!("First {word}") },
            { "const": "value2", "title": format!("Second {word}") },
            { "const": "value3", "title": format!("Third {word}") },
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
        },
    })
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
    let tools = tools.into_iter().chain(asking());
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
