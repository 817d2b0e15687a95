//! Enums as arguments: what may be left out, and the error for a wrong one.

use opentool_core::tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Shape {
    Circle { r: f64, label: Option<String> },
    Square { side: f64, label: String },
    Dot,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Query {
    ById { id: u32, note: Option<String> },
    ByName { name: String, note: String },
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Action {
    Move { x: i32 },
    Say(String),
    Stop,
}

#[tool]
fn draw(shape: Shape) -> String {
    format!("{shape:?}")
}

#[tool]
fn draw_flat(q: String, #[serde(flatten)] shape: Shape) -> String {
    format!("{q} {shape:?}")
}

#[tool]
fn find(query: Query) -> String {
    format!("{query:?}")
}

#[tool]
fn act(action: Action) -> String {
    format!("{action:?}")
}

#[tokio::test]
async fn null_for_an_optional_member_of_a_variant_is_as_if_absent() {
    let drawn = call(draw_flat::tool(), json!({ "q": "a", "type": "circle", "r": 1, "label": null })).await.unwrap();
    assert_eq!(drawn.to_text(), "a Circle { r: 1.0, label: None }");
    let found = call(find::tool(), json!({ "query": { "id": 1, "note": null } })).await.unwrap();
    assert_eq!(found.to_text(), "ById { id: 1, note: None }");
}

#[tokio::test]
async fn an_unknown_variant_is_refused_with_all_variants() {
    for (arguments, expected) in [
        (
            json!({ "shape": { "type": "triangle", "r": 1 } }),
            r#"/shape/type: expected one of "circle", "square", "dot", got string "triangle""#,
        ),
        (json!({ "shape": "circle" }), r#"/shape: expected object, got string "circle""#),
    ] {
        let error = call(draw::tool(), arguments).await.unwrap_err();
        assert_eq!(error.message(), format!("invalid arguments: {expected}"));
    }
    let message_of =
        |action: Value| async move { call(act::tool(), json!({ "action": action })).await.unwrap_err().to_string() };
    let jump = r#"invalid arguments: /action/Jump: unknown property "Jump", expected "Move", "Say""#;
    assert_eq!(message_of(json!({ "Jump": {} })).await, jump);
    let alone = r#"invalid arguments: /action: expected "Stop" or object, got string "Move""#;
    assert_eq!(message_of(json!("Move")).await, alone);
}
