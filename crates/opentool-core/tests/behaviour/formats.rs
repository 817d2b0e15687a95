//! `format` is an annotation, unless the executor asserts it.

use opentool_core::testing::FakeTool;
use opentool_core::*;
use serde_json::json;

fn meeting() -> FakeTool {
    FakeTool::new("meet").answers("met").with_schema(json!({
        "type": "object",
        "properties": {
            "at": { "type": "string", "format": "date-time" },
            "with": { "type": "array", "items": { "$ref": "#/$defs/person" } },
            "colour": { "type": "string", "format": "our-own-colour" },
        },
        "$defs": { "person": { "anyOf": [{ "type": "string", "format": "email" }, { "type": "integer" }] } },
    }))
}

const RIGHT: &str = r#"{"at":"2026-11-15T12:00:00Z","with":["ann@example.com",7],"colour":"any"}"#;

#[tokio::test]
async fn a_format_is_an_annotation_by_default() {
    let host = Executor::new().host(Toolbox::new().with(meeting()).unwrap());
    for arguments in [RIGHT, r#"{"at":"soon"}"#, r#"{"with":["ann"]}"#] {
        assert!(host.call("meet", arguments).await.is_ok(), "{arguments}");
    }
}

#[tokio::test]
async fn a_format_is_asserted_where_the_executor_says_so() {
    let host = Executor::builder().assert_formats(true).build().host(Toolbox::new().with(meeting()).unwrap());
    assert!(host.call("meet", RIGHT).await.is_ok());
    assert!(host.call("meet", r#"{"unknown":null}"#).await.is_ok());
    let error = host.call("meet", r#"{"at":"soon"}"#).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert_eq!(error.message(), r#"invalid arguments: /at: expected text in the format date-time, got string "soon""#);
    let error = host.call("meet", r#"{"with":["ann"]}"#).await.unwrap_err();
    assert!(error.message().contains("/with/0") && error.message().contains("format email"), "{}", error.message());
}

#[tokio::test]
async fn a_format_of_a_rust_type_is_asserted_too() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Letter {
        #[schemars(email)]
        to: String,
        subject: Option<String>,
    }
    let tool = FnTool::new("send", |letter: Letter| letter.to + letter.subject.as_deref().unwrap_or_default());
    let tools = Toolbox::new().with(tool).unwrap();
    let wrong = r#"{"to":"ann"}"#;
    assert!(Executor::new().host(tools.clone()).call("send", wrong).await.is_ok());
    let host = Executor::builder().assert_formats(true).build().host(tools);
    assert!(host.call("send", wrong).await.is_err());
    assert!(host.call("send", r#"{"to":"ann@example.com","subject":null}"#).await.is_ok());
}
