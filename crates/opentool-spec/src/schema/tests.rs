#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod any_schema;
mod dialects;
mod from_types;
mod functions;
mod meaning;
mod normalise;
mod tool_import;
mod tool_list;

use serde_json::Value;

/// Normalises a schema of arguments and checks that a second time changes nothing, the text included.
fn normalised(mut schema: Value) -> Value {
    super::normalise(&mut schema).unwrap();
    let mut again = schema.clone();
    super::normalise(&mut again).unwrap();
    assert_eq!(again.to_string(), schema.to_string(), "normalising twice differs");
    schema
}

/// The schema of an object with one property `x`, as the property comes out of normalising.
fn as_property(schema: Value, required: bool) -> Value {
    let required = if required { vec!["x"] } else { vec![] };
    let mut root =
        normalised(serde_json::json!({ "type": "object", "properties": { "x": schema }, "required": required }));
    root["properties"]["x"].take()
}
