//! Every form of a result, byte by byte.

use opentool_core::testing::FakeTool;
use opentool_core::{Annotations, Link, Part, Resource, RichOutput, ToolDefinition, ToolError, ToolOutput, Toolbox};
use opentool_server::{Server, call_result};
use serde_json::value::RawValue;

use crate::client::{Running, call, post, start};

const TYPED: &str = "application/json;output=typed";
const NAMED: &str = "text/event-stream;result=named";

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Serves a tool with an output name.
async fn serve(result: Result<ToolOutput, ToolError>) -> Running {
    let definition = ToolDefinition::builder("f").output_name("pieces").build().unwrap();
    let tool = FakeTool::new("f").with_definition(definition);
    let tool = match result {
        Ok(output) => tool.answers(output),
        Err(error) => tool.fails(error),
    };
    start(Server::new(Toolbox::new().with(tool).unwrap())).await
}

/// The answer of `/call`, which must be the same as that of `/streamCall`.
async fn answer(server: &Running, typed: bool) -> String {
    let (request, stream) = (call("f", "{}"), post("/opentool/streamCall").body(r#"{"method":"f","id":"1"}"#));
    let (request, stream) =
        if typed { (request.header("Accept", TYPED), stream.header("Accept", NAMED)) } else { (request, stream) };
    let reply = server.ask(request).await;
    let streamed = server.ask(stream).await;
    let found = streamed.text().contains(&format!("\ndata:{}\n\n", reply.text()));
    assert!(found || reply.text().contains(r#""result":{},"error":null"#), "{}\n{}", reply.text(), streamed.text());
    reply.text().to_owned()
}

/// The text of a result, for a client that reads values only.
async fn result(output: ToolOutput) -> String {
    let text = answer(&serve(Ok(output)).await, false).await;
    let result = text.strip_prefix(r#"{"jsonrpc":"2.0","result":"#).unwrap();
    result.strip_suffix(r#","error":null,"id":"1"}"#).unwrap().to_owned()
}

/// The text of the member `output`, for a client that reads it.
async fn typed(output: ToolOutput) -> String {
    let text = answer(&serve(Ok(output)).await, true).await;
    let result = text.strip_prefix(r#"{"jsonrpc":"2.0","result":{},"output":"#).unwrap_or_else(|| panic!("{text}"));
    result.strip_suffix(r#","error":null,"id":"1"}"#).unwrap().to_owned()
}

fn parts() -> [(Part, &'static str); 9] {
    let link = Link::new("https://a.example/x")
        .with_name("x")
        .with_title("The X")
        .with_description("an x")
        .with_media_type("text/plain")
        .with_size(12345678901234)
        .with_icons(serde_json::json!([{"src": "x.png"}]));
    let annotations = Annotations::new().with_audience(["user"]).with_priority(0.5);
    [
        (Part::text("a \"b\"\n"), r#"{"type":"text","text":"a \"b\"\n"}"#),
        (Part::raw_json(json(r#"{"n": 1.50}"#)), r#"{"type":"json","value":{"n": 1.50}}"#),
        (Part::media("image/png", "aGk="), r#"{"type":"media","mediaType":"image/png","data":"aGk="}"#),
        (Part::from(Link::new("file:///x")), r#"{"type":"link","uri":"file:///x"}"#),
        (
            Part::from(link),
            r#"{"type":"link","uri":"https://a.example/x","name":"x","title":"The X","description":"an x","mediaType":"text/plain","size":12345678901234,"icons":[{"src":"x.png"}]}"#,
        ),
        (
            Part::from(Resource::text("file:///a", "content").with_media_type("text/plain")),
            r#"{"type":"resource","uri":"file:///a","mediaType":"text/plain","text":"content"}"#,
        ),
        (
            Part::from(Resource::blob("file:///b", "aGk=").with_meta(json(r#"{"x":1}"#))),
            r#"{"type":"resource","uri":"file:///b","blob":"aGk=","resourceMeta":{"x":1}}"#,
        ),
        (
            Part::text("t").with_annotations(annotations),
            r#"{"type":"text","text":"t","annotations":{"audience":["user"],"priority":0.5}}"#,
        ),
        (Part::text("t").with_meta(json(r#"{"k": 1}"#)), r#"{"type":"text","text":"t","_meta":{"k": 1}}"#),
    ]
}

#[tokio::test]
async fn each_part_has_its_type_and_members() {
    for (part, expected) in parts() {
        let output = ToolOutput::Parts(vec![part]);
        assert_eq!(result(output.clone()).await, format!(r#"{{"pieces":[{expected}]}}"#));
        assert_eq!(typed(output).await, format!(r#"{{"parts":[{expected}]}}"#));
    }
}

#[tokio::test]
async fn parts_keep_their_order() {
    let parts = || vec![Part::text("1"), Part::raw_json(json("2")), Part::text("3")];
    let expected = r#"[{"type":"text","text":"1"},{"type":"json","value":2},{"type":"text","text":"3"}]"#;
    assert_eq!(result(ToolOutput::Parts(parts())).await, format!(r#"{{"pieces":{expected}}}"#));
    assert_eq!(typed(ToolOutput::Parts(parts())).await, format!(r#"{{"parts":{expected}}}"#));
    assert_eq!(result(ToolOutput::Parts(vec![])).await, r#"{"pieces":[]}"#);
}

#[tokio::test]
async fn values_are_written_as_their_text_under_the_output_name() {
    for (output, expected) in [
        (ToolOutput::Json(json("1.0e2")), r#"{"pieces":1.0e2}"#),
        (ToolOutput::Json(json(r#"[1, "a"]"#)), r#"{"pieces":[1, "a"]}"#),
        (ToolOutput::Json(json(r#"{"a": 1.0}"#)), r#"{"a": 1.0}"#),
        (ToolOutput::Json(json("null")), "{}"),
        (ToolOutput::Empty, "{}"),
        (ToolOutput::text("\u{e9}\u{1}\""), "{\"pieces\":\"\u{e9}\\u0001\\\"\"}"),
    ] {
        assert_eq!(result(output.clone()).await, expected);
        assert_eq!(call_result(&output, Some("pieces")), expected, "what another frontend writes is the same");
        // Only parts and rich outputs have a form of their own.
        let text = answer(&serve(Ok(output)).await, true).await;
        assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","result":{expected},"error":null,"id":"1"}}"#));
    }
}

#[tokio::test]
async fn a_rich_output_is_a_value_or_its_parts_to_plain_clients() {
    let part = || Part::text("12 to 14");
    for (rich, expected) in [
        (RichOutput::new().with_structured(json("[12, 14.0]")).with_part(part()), r#"{"pieces":[12, 14.0]}"#),
        (RichOutput::new().with_structured(json(r#"{"a": 1}"#)).with_part(part()), r#"{"a": 1}"#),
        (RichOutput::new().with_structured(json("null")), "{}"),
        (RichOutput::new().with_part(part()), r#"{"pieces":[{"type":"text","text":"12 to 14"}]}"#),
        (RichOutput::new().with_meta(json(r#"{"m":1}"#)), "{}"),
    ] {
        assert_eq!(result(ToolOutput::from(rich)).await, expected);
    }
}

#[tokio::test]
async fn a_rich_output_is_unchanged_to_clients_that_read_it() {
    let rich = RichOutput::new()
        .with_structured(json(r#"{"n": 12345678901234567890123}"#))
        .with_part(Part::text("a"))
        .with_part(Part::media("image/png", "aGk="))
        .with_meta(json(r#"{"trace": "x"}"#));
    assert_eq!(
        typed(ToolOutput::from(rich)).await,
        r#"{"rich":{"structured":{"n": 12345678901234567890123},"parts":[{"type":"text","text":"a"},{"type":"media","mediaType":"image/png","data":"aGk="}],"_meta":{"trace": "x"}}}"#
    );
    assert_eq!(typed(ToolOutput::from(RichOutput::new())).await, r#"{"rich":{}}"#);
}

#[tokio::test]
async fn the_output_of_an_error_is_for_clients_that_read_it() {
    let error = || ToolError::failed("no").with_code(7).with_output(ToolOutput::Parts(vec![Part::text("why")]));
    let server = serve(Err(error())).await;
    assert_eq!(
        answer(&server, false).await,
        r#"{"jsonrpc":"2.0","result":{},"error":{"code":7,"message":"no"},"id":"1"}"#
    );
    assert_eq!(
        answer(&server, true).await,
        r#"{"jsonrpc":"2.0","result":{},"output":{"parts":[{"type":"text","text":"why"}]},"error":{"code":7,"message":"no"},"id":"1"}"#
    );
}

#[tokio::test]
async fn the_typed_form_is_asked_for_by_its_exact_name() {
    let server = serve(Ok(ToolOutput::Parts(vec![Part::text("a")]))).await;
    let is_typed = async |accept: &str| {
        let reply = server.ask(call("f", "{}").header("Accept", accept)).await;
        reply.text().contains(r#""output":"#)
    };
    for accept in [TYPED, "Application/JSON;Output=Typed", "application/json, application/json;output=typed"] {
        assert!(is_typed(accept).await, "{accept}");
    }
    for accept in ["*/*", "application/json", "application/json;output=other", NAMED] {
        assert!(!is_typed(accept).await, "{accept}");
    }
}
