//! Every form of a result, byte by byte.

use opentool_core::testing::FakeTool;
use opentool_core::{Part, ToolDefinition, ToolOutput, Toolbox};
use opentool_server::Server;
use serde_json::value::RawValue;

use crate::client::{call, post, start};

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Serves a tool with an output name and returns the text of its result, from `/call` and from `/streamCall`.
async fn result(output: ToolOutput) -> String {
    let definition = ToolDefinition::builder("f").output_name("pieces").build().unwrap();
    let tool = FakeTool::new("f").with_definition(definition).answers(output);
    let server = start(Server::new(Toolbox::new().with(tool).unwrap())).await;
    let answer = server.ask(call("f", "{}")).await;
    let text = answer.text();
    let result = text.strip_prefix(r#"{"jsonrpc":"2.0","result":"#).unwrap();
    let result = result.strip_suffix(r#","error":null,"id":"1"}"#).unwrap();
    let stream = server.ask(post("/opentool/streamCall").body(r#"{"method":"f","id":"1"}"#)).await;
    assert!(stream.text().contains(&format!("event:data\ndata:{text}\n\n")), "{}", stream.text());
    result.to_owned()
}

#[tokio::test]
async fn each_part_has_its_type_and_members() {
    for (part, expected) in [
        (Part::Text("a \"b\"\n".to_owned()), r#"{"type":"text","text":"a \"b\"\n"}"#),
        (Part::Json(json(r#"{"n": 1.50}"#)), r#"{"type":"json","value":{"n": 1.50}}"#),
        (
            Part::Media { media_type: "image/png".to_owned(), data: "aGk=".to_owned() },
            r#"{"type":"media","mediaType":"image/png","data":"aGk="}"#,
        ),
        (
            Part::Link { uri: "https://a.example/x".to_owned(), media_type: Some("text/plain".to_owned()) },
            r#"{"type":"link","uri":"https://a.example/x","mediaType":"text/plain"}"#,
        ),
        (
            Part::Link { uri: "file:///x".to_owned(), media_type: None },
            r#"{"type":"link","uri":"file:///x","mediaType":null}"#,
        ),
    ] {
        let shown = format!("{part:?}");
        assert_eq!(result(ToolOutput::Parts(vec![part])).await, format!(r#"{{"pieces":[{expected}]}}"#), "{shown}");
    }
}

#[tokio::test]
async fn parts_keep_their_order() {
    let parts = vec![Part::Text("1".to_owned()), Part::Json(json("2")), Part::Text("3".to_owned())];
    assert_eq!(
        result(ToolOutput::Parts(parts)).await,
        r#"{"pieces":[{"type":"text","text":"1"},{"type":"json","value":2},{"type":"text","text":"3"}]}"#
    );
    assert_eq!(result(ToolOutput::Parts(vec![])).await, r#"{"pieces":[]}"#);
}

#[tokio::test]
async fn values_are_written_as_their_text_under_the_output_name() {
    for (output, expected) in [
        (ToolOutput::Json(json("1.0e2")), r#"{"pieces":1.0e2}"#),
        (ToolOutput::Json(json(r#"[1, "a"]"#)), r#"{"pieces":[1, "a"]}"#),
        (ToolOutput::Json(json(r#"{"a": 1.0}"#)), r#"{"a": 1.0}"#),
        (ToolOutput::text("\u{e9}\u{1}\""), "{\"pieces\":\"\u{e9}\\u0001\\\"\"}"),
    ] {
        assert_eq!(result(output).await, expected);
    }
}
