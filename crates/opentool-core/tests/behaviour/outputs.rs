//! The forms of an output, and how they are written and read.

use opentool_core::{Annotations, Link, Part, PartContent, Resource, ResourceContent, RichOutput, ToolOutput};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// A part of each kind, with everything that it can say, and its JSON.
fn every_part() -> Vec<(Part, Value)> {
    let link = Link::new("https://example.org/a")
        .with_name("a")
        .with_title("An A")
        .with_description("The letter")
        .with_media_type("text/html")
        .with_size(7)
        .with_icons(json!([{ "src": "a.png" }]));
    let annotations = || {
        Annotations::new()
            .with_audience(["user", "assistant"])
            .with_priority(0.5)
            .with_last_modified("2026-11-15T20:00:00Z")
            .with("x", json!([1]))
    };
    vec![
        (Part::text("hello"), json!({ "type": "text", "text": "hello" })),
        (Part::json(&json!({ "a": null })).unwrap(), json!({ "type": "json", "value": { "a": null } })),
        (Part::raw_json(raw("null")), json!({ "type": "json", "value": null })),
        (Part::media("image/png", "AAAA"), json!({ "type": "media", "mediaType": "image/png", "data": "AAAA" })),
        (Part::from(Link::new("file:///a")), json!({ "type": "link", "uri": "file:///a" })),
        (
            Part::from(link),
            json!({
                "type": "link",
                "uri": "https://example.org/a",
                "name": "a",
                "title": "An A",
                "description": "The letter",
                "mediaType": "text/html",
                "size": 7,
                "icons": [{ "src": "a.png" }],
            }),
        ),
        (
            Part::from(Resource::text("file:///a.txt", "content").with_media_type("text/plain")),
            json!({ "type": "resource", "uri": "file:///a.txt", "mediaType": "text/plain", "text": "content" }),
        ),
        (
            Part::from(Resource::blob("file:///a.bin", "AAAA").with_meta(raw(r#"{"r":1}"#))),
            json!({ "type": "resource", "uri": "file:///a.bin", "blob": "AAAA", "resourceMeta": { "r": 1 } }),
        ),
        (
            Part::text("noted").with_annotations(annotations()).with_meta(raw(r#"{"m":2}"#)),
            json!({
                "type": "text",
                "text": "noted",
                "annotations": {
                    "audience": ["user", "assistant"],
                    "priority": 0.5,
                    "lastModified": "2026-11-15T20:00:00Z",
                    "x": [1],
                },
                "_meta": { "m": 2 },
            }),
        ),
    ]
}

#[test]
fn a_part_is_written_and_read_with_all_that_it_says() {
    for (part, expected) in every_part() {
        assert_eq!(serde_json::to_value(&part).unwrap(), expected);
        let read: Part = serde_json::from_value(expected.clone()).unwrap();
        assert_eq!(read, part, "{expected}");
        assert_eq!(serde_json::to_string(&part).unwrap(), expected.to_string(), "members have an order");
    }
}

#[test]
fn an_output_of_every_form_is_written_and_read() {
    let parts: Vec<Part> = every_part().into_iter().map(|(part, _)| part).collect();
    let mut rich = RichOutput::new().with_structured(raw(r#"{"n":123456789012345678901234567890,"x":1.10}"#));
    rich.parts = parts.clone();
    for (output, start) in [
        (ToolOutput::Empty, r#""empty""#),
        (ToolOutput::text("a"), r#"{"text":"a"}"#),
        (ToolOutput::Json(raw("123456789012345678901234567890")), r#"{"json":123456789012345678901234567890}"#),
        (ToolOutput::Parts(parts), r#"{"parts":[{"type":"text""#),
        (ToolOutput::from(rich.with_meta(raw(r#"{"a":1.10}"#))), r#"{"rich":{"structured":{"n":1234567890123"#),
        (ToolOutput::from(RichOutput::new()), r#"{"rich":{}}"#),
        (ToolOutput::from(RichOutput::new().with_structured(raw("null"))), r#"{"rich":{"structured":null}}"#),
    ] {
        let written = serde_json::to_string(&output).unwrap();
        assert!(written.starts_with(start), "{written}");
        let read = ToolOutput::parse(&written).unwrap();
        assert_eq!(read, output);
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }
}

#[test]
fn an_output_can_be_read_within_a_tagged_enum() {
    #[derive(Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Stored {
        Done { output: ToolOutput },
    }
    let text =
        r#"{"kind":"done","output":{"rich":{"structured":[1,null],"parts":[{"type":"json","value":{"b":2,"a":1}}]}}}"#;
    let Stored::Done { output } = serde_json::from_str(text).unwrap();
    let expected =
        RichOutput::new().with_structured(raw("[1,null]")).with_part(Part::raw_json(raw(r#"{"b":2,"a":1}"#)));
    assert_eq!(output, ToolOutput::from(expected));
}

#[test]
fn a_part_that_lacks_something_says_what() {
    for (part, missing) in [
        (json!({ "type": "text" }), "a text part needs `text`"),
        (json!({ "type": "json" }), "a JSON part needs `value`"),
        (json!({ "type": "media", "data": "" }), "a media part needs `mediaType`"),
        (json!({ "type": "media", "mediaType": "a/b" }), "a media part needs `data`"),
        (json!({ "type": "link" }), "a link part needs `uri`"),
        (json!({ "type": "resource", "text": "" }), "a resource part needs `uri`"),
        (json!({ "type": "resource", "uri": "a:b" }), "a resource part needs `text` or `blob`"),
    ] {
        let output = json!({ "parts": [part] }).to_string();
        let error = ToolOutput::parse(&output).unwrap_err();
        assert!(error.to_string().contains(missing), "{error}");
        assert!(serde_json::from_str::<ToolOutput>(&output).is_err());
    }
}

#[test]
fn the_text_of_a_rich_output_is_that_of_its_parts() {
    let value = to_raw_value(&json!({ "degrees": 12 })).unwrap();
    let rich = RichOutput::new().with_structured(value);
    assert_eq!(ToolOutput::from(rich.clone()).to_text(), r#"{"degrees":12}"#);
    assert_eq!(ToolOutput::from(rich.with_part(Part::text("12 degrees"))).to_text(), "12 degrees");
    assert_eq!(ToolOutput::from(RichOutput::new()).to_text(), "");
}

#[test]
fn rich_outputs_are_equal_where_all_of_them_is() {
    let of = |value: &str, part: &str, meta: &str| {
        ToolOutput::from(RichOutput::new().with_structured(raw(value)).with_part(Part::text(part)).with_meta(raw(meta)))
    };
    let output = of("[1]", "one", r#"{"a":1}"#);
    assert_eq!(output, of("[1]", "one", r#"{"a":1}"#));
    for other in [of("[2]", "one", r#"{"a":1}"#), of("[1]", "two", r#"{"a":1}"#), of("[1]", "one", r#"{"a":2}"#)] {
        assert_ne!(output, other);
    }
}

#[test]
fn a_part_has_a_text() {
    let text = |part: Part| ToolOutput::Parts(vec![part]).to_text();
    assert_eq!(text(Link::new("a:b").into()), "a:b");
    assert_eq!(text(Link::new("a:b").with_name("n").with_description("d").into()), "n: a:b (d)");
    assert_eq!(text(Link::new("a:b").with_name("n").with_title("t").into()), "t: a:b");
    assert_eq!(text(Resource::text("a:b", "content").into()), "content");
    assert_eq!(text(Resource::blob("a:b", "AAAA").into()), "a:b [application/octet-stream, 3 bytes]");
    assert_eq!(text(Resource::blob("a:b", "AAAA").with_media_type("image/png").into()), "a:b [image/png, 3 bytes]");
}

#[test]
fn the_size_counts_everything_that_a_tool_can_make_large() {
    let output = |part: Part| ToolOutput::Parts(vec![part]).size();
    assert_eq!(output(Part::text("abc")), 3);
    assert_eq!(output(Part::raw_json(raw("[1]"))), 3);
    assert_eq!(output(Part::media("a/b", "AAAA")), 4);
    assert_eq!(output(Link::new("a:b").with_name("n").with_description("de").into()), 6);
    assert_eq!(output(Resource::text("a:b", "text").into()), 7);
    assert_eq!(output(Part::text("abc").with_meta(raw("{}"))), 5);
    let rich = RichOutput::new().with_structured(raw("12")).with_part(Part::text("abc")).with_meta(raw(r#"{"a":1}"#));
    assert_eq!(ToolOutput::from(rich).size(), 12);
}

#[test]
fn metadata_that_is_no_object_is_ignored() {
    assert!(Part::text("a").with_meta(raw("[1]")).meta().is_none());
    assert!(RichOutput::new().with_meta(raw("1")).meta().is_none());
    let kept = RichOutput::new().with_meta(raw("{}")).with_meta(raw("1"));
    assert_eq!(kept.meta().map(RawValue::get), Some("{}"));
    assert!(Resource::text("a:b", "").with_meta(raw("null")).meta().is_none());
}

#[test]
fn value_and_parts_can_be_asked_of_every_output() {
    let rich = ToolOutput::from(RichOutput::new().with_structured(raw("1")).with_part(Part::text("one")));
    assert_eq!(rich.structured().map(RawValue::get), Some("1"));
    assert_eq!(rich.parts(), [Part::text("one")]);
    assert_eq!(ToolOutput::from_json_text("[2]").unwrap().structured().map(RawValue::get), Some("[2]"));
    assert!(ToolOutput::from_json_text("[2").is_err());
    assert!(ToolOutput::text("1").structured().is_none() && ToolOutput::text("1").parts().is_empty());
    let resource = Part::from(Resource::text("a:b", "t"));
    let PartContent::Resource(resource) = resource.content else { panic!("a resource") };
    assert_eq!(resource.content, ResourceContent::Text("t".into()));
}

#[test]
fn annotations_can_be_read() {
    let annotations = Annotations::new().with_audience(["user"]).with_priority(0.25).with_last_modified("today");
    assert_eq!(annotations.audience().collect::<Vec<_>>(), ["user"]);
    assert_eq!((annotations.priority(), annotations.last_modified()), (Some(0.25), Some("today")));
    assert_eq!(annotations.get("priority"), Some(&json!(0.25)));
    assert_eq!(Annotations::new().audience().count(), 0);
}
