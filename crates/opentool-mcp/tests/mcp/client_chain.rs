//! MCP → us → MCP: what comes out is what went in.

use opentool_core::testing::FakeTool;
use opentool_core::{Annotations, Link, Part, Resource, RichOutput, ToolDefinition, ToolError, ToolOutput, Toolbox};
use opentool_mcp::{McpClient, ServerUrl};
use opentool_server::Server;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::client::{Running, start};
use crate::client_servers::child;
use crate::tools::{every_way, raw};

async fn gateway(original: &Running) -> Running {
    let client = McpClient::from_url(ServerUrl::new(format!("http://{}/mcp", original.addr)));
    start(Server::new(client)).await
}

/// What a server answers, without its own name.
async fn answer(server: &Running, method: &str, params: Value) -> Value {
    let mut message = server.stateless(method, params).await;
    if let Some(meta) = message.pointer_mut("/result/_meta").and_then(Value::as_object_mut) {
        meta.remove("io.modelcontextprotocol/serverInfo");
    }
    message
}

async fn assert_same(original: &Running, gateway: &Running) {
    let list = answer(original, "tools/list", json!({})).await;
    let relayed = answer(gateway, "tools/list", json!({})).await;
    assert_eq!(relayed["result"]["tools"], list["result"]["tools"]);
    for tool in list["result"]["tools"].as_array().unwrap() {
        let params = json!({ "name": tool["name"], "arguments": {} });
        let direct = answer(original, "tools/call", params.clone()).await;
        assert_eq!(answer(gateway, "tools/call", params).await, direct, "{tool}");
    }
}

#[tokio::test]
async fn every_way_in_which_a_call_ends_comes_through() {
    // But for numbers beyond 64 bits, and for a tool that has to be approved on the way.
    let tools = every_way().filter(|tool| !matches!(tool.definition().name(), "rich" | "approved"));
    let original = start(Server::new(tools)).await;
    assert_same(&original, &gateway(&original).await).await;
}

#[tokio::test]
async fn a_program_is_offered_over_http() {
    let gateway = start(Server::new(child("tools"))).await;
    let answer = answer(&gateway, "tools/call", json!({ "name": "echo", "arguments": { "a": [1.5, "x"] } })).await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "a": [1.5, "x"] }));
}

/// MCP → us → OpenTool HTTP → us → MCP.
async fn gateway_over_opentool(original: &Running) -> (Running, Running) {
    let middle = gateway(original).await;
    let client = opentool_client::Client::new(format!("http://{}", middle.addr));
    let last = start(Server::new(client)).await;
    (middle, last)
}

/// What is left of a tool's definition: of its schemas what a document of OpenTool can say, none of its output, which the last
/// server has not checked.
fn without_schemas(tool: &Value) -> Value {
    let mut tool = tool.clone();
    let members = tool.as_object_mut().unwrap();
    let input = members.remove("inputSchema").unwrap();
    members.remove("outputSchema");
    let names: Vec<_> =
        input["properties"].as_object().map(|found| found.keys().cloned().collect()).unwrap_or_default();
    json!({ "tool": tool, "names": names, "required": input["required"].as_array().cloned().unwrap_or_default() })
}

/// What is left of a result: structured content that is no object goes with the schema that announced it.
fn without_scalars(mut message: Value) -> Value {
    if let Some(result) = message["result"].as_object_mut()
        && result.get("structuredContent").is_some_and(|value| !value.is_object())
    {
        result.remove("structuredContent");
    }
    message
}

async fn assert_same_over_opentool(original: &Running, last: &Running) {
    let list = answer(original, "tools/list", json!({})).await;
    let relayed = answer(last, "tools/list", json!({})).await;
    let left =
        |list: &Value| list["result"]["tools"].as_array().unwrap().iter().map(without_schemas).collect::<Vec<_>>();
    assert_eq!(left(&relayed), left(&list));
    for tool in list["result"]["tools"].as_array().unwrap() {
        let params = json!({ "name": tool["name"], "arguments": {} });
        let direct = without_scalars(answer(original, "tools/call", params.clone()).await);
        assert_eq!(without_scalars(answer(last, "tools/call", params).await), direct, "{tool}");
    }
}

#[tokio::test]
async fn every_way_in_which_a_call_ends_comes_through_opentool_http_too() {
    let tools = every_way().filter(|tool| !matches!(tool.definition().name(), "rich" | "approved"));
    let original = start(Server::new(tools)).await;
    let (_middle, last) = gateway_over_opentool(&original).await;
    assert_same_over_opentool(&original, &last).await;
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,20}", "\\PC{0,10}", Just("a\n\u{1b}[31m\"\\b".to_owned())]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e9..1.0e9).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    vec(("[a-z./]{1,12}", json_value()), 1..4).prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn part() -> impl Strategy<Value = Part> {
    let media = (prop_oneof![Just("image/png"), Just("audio/wav")], "[A-Za-z0-9+/]{0,16}")
        .prop_map(|(media_type, data)| Part::media(media_type, data));
    let link =
        ("[a-z]{1,8}", text(), option::of(text()), option::of(any::<u64>())).prop_map(|(uri, name, title, size)| {
            let mut link = Link::new(format!("file:///{uri}")).with_name(name);
            (link.title, link.size) = (title, size);
            link.into()
        });
    let resource = (text(), any::<bool>(), option::of(object())).prop_map(|(text, is_blob, meta)| {
        let resource = if is_blob { Resource::blob("u:a", "aGk=") } else { Resource::text("u:b", text) };
        meta.into_iter().fold(resource, |resource, meta| resource.with_meta(raw(&meta.to_string()))).into()
    });
    let content = prop_oneof![text().prop_map(Part::text), media, link, resource];
    (content, option::of(0..=10), option::of(object())).prop_map(|(part, priority, meta)| {
        let annotations = priority.map(|tenths| {
            Annotations::new().with_audience(["user", "assistant"]).with_priority(f64::from(tenths) / 10.0)
        });
        let part = annotations.into_iter().fold(part, Part::with_annotations);
        meta.into_iter().fold(part, |part, meta| part.with_meta(raw(&meta.to_string())))
    })
}

fn output() -> impl Strategy<Value = ToolOutput> {
    // A structured value without content gets a text beside it on the way.
    let rich = (option::of(object()), vec(part(), 1..4), option::of(object())).prop_map(|(value, parts, meta)| {
        let mut rich = parts.into_iter().fold(RichOutput::new(), RichOutput::with_part);
        if let Some(value) = value {
            rich = rich.with_structured(raw(&value.to_string()));
        }
        meta.into_iter().fold(rich, |rich, meta| rich.with_meta(raw(&meta.to_string()))).into()
    });
    prop_oneof![text().prop_map(ToolOutput::from), vec(part(), 0..4).prop_map(ToolOutput::Parts), rich]
}

fn tool() -> impl Strategy<Value = FakeTool> {
    let definition = ("[A-Za-z0-9_-]{1,64}", text(), option::of(text()), option::of(object()), option::of(text()));
    let annotations = option::of((any::<bool>(), option::of(any::<bool>())));
    (definition, annotations, output(), any::<bool>()).prop_map(
        |((name, description, title, meta, property), annotations, output, fails)| {
            let mut schema = json!({ "type": "object", "$comment": "kept" });
            if let Some(property) = property {
                schema["properties"] =
                    json!({ property: { "type": ["string", "null"], "title": "T", "default": null } });
            }
            let mut builder = ToolDefinition::builder(&name).description(description).input_schema(schema);
            if let Some(title) = title {
                builder = builder.title(title);
            }
            if let Some(meta) = meta {
                builder = builder.extension("_meta", meta);
            }
            if let Some((reads, destroys)) = annotations {
                let mut given = json!({ "readOnlyHint": reads });
                if let Some(destroys) = destroys {
                    given["destructiveHint"] = destroys.into();
                }
                let icons = json!([{ "src": "https://a.example/i.png", "mimeType": "image/png", "sizes": ["48x48"] }]);
                builder = builder.extension("annotations", given).extension("icons", icons);
            }
            let tool = FakeTool::new(&name).with_definition(builder.build().unwrap());
            if fails { tool.fails(ToolError::failed("no").with_output(output)) } else { tool.answers(output) }
        },
    )
}

fn generated(runner: &mut TestRunner) -> Toolbox {
    let mut toolbox = Toolbox::new();
    for tool in vec(tool(), 1..20).new_tree(runner).unwrap().current() {
        // Names are generated, and may come twice.
        let _ = toolbox.add(tool);
    }
    toolbox
}

#[tokio::test]
async fn generated_tools_and_results_come_through_equal() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..12 {
        let original = start(Server::new(generated(&mut runner))).await;
        assert_same(&original, &gateway(&original).await).await;
    }
}

#[tokio::test]
async fn generated_tools_survive_opentool_http_but_for_listed_losses() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..12 {
        let original = start(Server::new(generated(&mut runner))).await;
        let (_middle, last) = gateway_over_opentool(&original).await;
        assert_same_over_opentool(&original, &last).await;
    }
}
