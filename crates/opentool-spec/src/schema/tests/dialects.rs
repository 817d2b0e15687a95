use std::collections::HashMap;

use proptest::prelude::*;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use super::{any_schema, meaning, normalised};
use crate::schema::{Adapted, Dialect, normalise};

/// How urgent something is.
#[derive(JsonSchema)]
#[allow(dead_code)]
enum Urgency {
    /// Can wait.
    Low,
    /// Cannot.
    High,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
enum Recipient {
    Person { name: String, nickname: Option<String> },
    Everybody,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Thread {
    subject: String,
    replies: Vec<Thread>,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Message {
    /// What to say.
    #[schemars(length(min = 1), regex(pattern = "^[A-Z]"))]
    text: String,
    /// Whom to tell.
    to: Recipient,
    /// How soon.
    urgency: Option<Urgency>,
    #[serde(default)]
    copies: u8,
    thread: Option<Thread>,
    budget: Option<u64>,
    #[schemars(url)]
    link: Option<String>,
    tags: Option<Vec<String>>,
    marks: Vec<Option<u8>>,
}

fn adapted(dialect: Dialect, schema: Value) -> Adapted {
    dialect.adapt(&normalised(schema))
}

fn lines(adapted: &Adapted) -> Vec<String> {
    adapted.dropped.iter().map(ToString::to_string).collect()
}

#[test]
fn openai_and_anthropic_take_the_normal_form_as_it_is() {
    let schema = normalised(schema_for!(Message).to_value());
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let adapted = dialect.adapt(&schema);
        let mut expected = schema.clone();
        expected["properties"]["budget"].as_object_mut().unwrap().shift_remove("maximum");
        assert_eq!(adapted.schema.to_string(), expected.to_string(), "but for the bounds of 64 bits");
        assert!(!adapted.strict && adapted.dropped.is_empty() && adapted.obstacles.is_empty());
    }
    insta::assert_json_snapshot!(schema);
}

#[test]
fn the_bounds_of_64_bits_are_not_sent_and_all_others_are() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Numbers {
        signed: i64,
        unsigned: Vec<u64>,
        small: i32,
        #[schemars(range(min = 1, max = 1000))]
        chosen: i64,
    }
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let adapted = adapted(dialect, schema_for!(Numbers).to_value());
        let properties = &adapted.schema["properties"];
        assert_eq!(properties["signed"], json!({ "type": "integer" }));
        assert_eq!(properties["unsigned"]["items"], json!({ "type": "integer", "minimum": 0 }));
        assert_eq!(properties["small"]["minimum"], i32::MIN);
        assert_eq!((&properties["chosen"]["minimum"], &properties["chosen"]["maximum"]), (&json!(1), &json!(1000)));
    }
}

#[test]
fn openai_strict_requires_everything_and_lets_optionals_be_null() {
    let adapted = adapted(Dialect::OpenAiStrict, schema_for!(Message).to_value());
    assert!(adapted.strict);
    assert_eq!(adapted.obstacles, []);
    insta::assert_json_snapshot!(adapted.schema);
    assert_eq!(
        lines(&adapted),
        [
            "minLength at /properties/text: not supported in strict schemas",
            "default at /properties/copies: not supported in strict schemas",
            "maximum at /properties/budget: 18446744073709551615 is beyond what every reader of JSON numbers can hold",
            "format at /properties/link: the format uri is not supported in strict schemas",
            "oneOf at /$defs/Recipient: sent as anyOf",
        ]
    );
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct Offer {
    /// What is sold.
    #[schemars(length(min = 3), regex(pattern = "^[A-Z]"))]
    article: String,
    #[schemars(range(min = 1, max = 10))]
    stars: u32,
    copies: Option<u64>,
    urgency: Option<Urgency>,
    /// Who gets it.
    to: Option<Recipient>,
    #[schemars(url)]
    link: Option<String>,
    #[schemars(extend("format" = "isbn"))]
    number: String,
    #[schemars(length(min = 1))]
    tags: Vec<String>,
    #[schemars(length(min = 2, max = 4))]
    marks: Vec<Option<i64>>,
    #[serde(default)]
    colour: String,
}

#[test]
fn anthropic_strict_describes_what_it_does_not_enforce() {
    let adapted = adapted(Dialect::AnthropicStrict, schema_for!(Offer).to_value());
    assert!(adapted.strict, "{:?}", adapted.obstacles);
    assert_anthropic_strict(&adapted.schema);
    insta::assert_json_snapshot!(adapted.schema);
    insta::assert_json_snapshot!(lines(&adapted));
}

#[test]
fn anthropic_strict_says_why_it_is_impossible() {
    let recursive = adapted(Dialect::AnthropicStrict, schema_for!(Message).to_value());
    assert!(!recursive.strict);
    let reasons: Vec<_> = recursive.obstacles.iter().map(ToString::to_string).collect();
    assert_eq!(reasons, ["$ref at /$defs/Thread: a recursive type cannot be strict"]);

    let chain = json!({
        "type": "object",
        "properties": { "x": { "$ref": "#/$defs/A" } },
        "$defs": {
            "A": { "type": "object", "properties": { "b": { "$ref": "#/$defs/B" }, "c": { "$ref": "#/$defs/C" } } },
            "B": { "type": "object", "properties": { "c": { "$ref": "#/$defs/C" } } },
            "C": { "type": "object", "properties": { "n": { "type": "integer" } } },
        },
    });
    assert!(Dialect::AnthropicStrict.adapt(&chain).strict, "a definition that is used twice is not recursive");

    for (schema, reason) in [
        (json!({}), "free JSON cannot be strict"),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            "a map cannot be strict: its keys are not known",
        ),
        (json!({ "type": "object" }), "an object of any shape cannot be strict"),
        (json!({ "type": "array" }), "an array of free JSON cannot be strict"),
        (json!({ "type": "array", "prefixItems": [{ "type": "string" }] }), "a tuple cannot be strict"),
        (json!({ "enum": [] }), "an enum without values cannot be strict"),
        (json!({ "const": {} }), "a choice between arrays or objects cannot be strict"),
        (json!({ "allOf": [{ "type": "string" }] }), "allOf cannot be strict"),
        (json!({ "$ref": "other.json" }), "a reference to anything but a definition cannot be strict"),
    ] {
        let root = json!({ "type": "object", "properties": { "x": schema } });
        let adapted = Dialect::AnthropicStrict.adapt(&root);
        assert!(!adapted.strict, "{schema}");
        assert!(
            adapted.obstacles.iter().any(|o| o.reason == reason && o.pointer == "/properties/x"),
            "{:?}",
            adapted.obstacles
        );
    }
}

/// Asserts what the provider demands of every schema in a strict one, which is what its SDKs send.
fn assert_anthropic_strict(schema: &Value) {
    let map = schema.as_object().unwrap();
    if map.contains_key("$ref") {
        assert_eq!(map.len(), 1, "{schema}");
        return;
    }
    let known = [
        "type",
        "title",
        "description",
        "enum",
        "const",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "format",
        "$defs",
    ];
    assert!(map.keys().all(|keyword| known.contains(&keyword.as_str())), "{schema}");
    assert!(["type", "anyOf", "enum", "const"].iter().any(|keyword| map.contains_key(*keyword)), "{schema}");
    assert!(map.get("type").is_none_or(Value::is_string), "{schema}");
    assert!(map.get("minItems").is_none_or(|least| *least == 0 || *least == 1), "{schema}");
    if map.get("type").is_some_and(|kind| kind == "object") {
        assert_eq!(map["additionalProperties"], false, "{schema}");
        let properties = map["properties"].as_object().unwrap();
        properties.values().for_each(assert_anthropic_strict);
    }
    map.get("items").into_iter().for_each(assert_anthropic_strict);
    map.get("anyOf").and_then(Value::as_array).into_iter().flatten().for_each(assert_anthropic_strict);
    let definitions = map.get("$defs").and_then(Value::as_object);
    definitions.into_iter().flatten().for_each(|(_, schema)| assert_anthropic_strict(schema));
}

#[test]
fn a_schema_that_cannot_be_strict_is_sent_plain_with_reasons() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Loose {
        labels: HashMap<String, String>,
        by_number: HashMap<u8, String>,
        anything: Value,
        list: Vec<Value>,
        pair: (u8, u8),
        nested: Vec<HashMap<String, Value>>,
        fine: Option<String>,
    }
    let schema = normalised(schema_for!(Loose).to_value());
    let adapted = Dialect::OpenAiStrict.adapt(&schema);
    assert!(!adapted.strict);
    let mut plain = schema;
    plain["properties"]["pair"]["items"] = json!({});
    assert_eq!(adapted.schema, plain);
    let obstacles: Vec<_> = adapted.obstacles.iter().map(ToString::to_string).collect();
    assert_eq!(
        obstacles,
        [
            "additionalProperties at /properties/labels: a map cannot be strict: its keys are not known",
            "patternProperties at /properties/by_number: a map cannot be strict: its keys are not known",
            "type at /properties/anything: free JSON cannot be strict",
            "type at /properties/list/items: free JSON cannot be strict",
            "prefixItems at /properties/pair: a tuple cannot be strict",
            "additionalProperties at /properties/nested/items: a map cannot be strict: its keys are not known",
        ]
    );
}

#[test]
fn a_union_at_the_root_is_dropped_for_providers() {
    #[derive(JsonSchema)]
    #[schemars(tag = "kind")]
    #[allow(dead_code)]
    enum Side {
        Left { x: u8 },
        Right { y: u8 },
    }
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Flat {
        #[serde(flatten)]
        side: Side,
    }
    for dialect in [Dialect::OpenAi, Dialect::Anthropic, Dialect::OpenAiStrict] {
        let adapted = adapted(dialect, schema_for!(Flat).to_value());
        assert_eq!(lines(&adapted), ["oneOf at the root: not supported at the root of a tool's schema"]);
        assert_eq!(adapted.schema.get("oneOf"), None);
        let byte = json!({ "type": "integer", "minimum": 0, "maximum": 255 });
        let kind = json!({ "type": "string", "enum": ["Left", "Right"] });
        assert_eq!(adapted.schema["properties"], json!({ "kind": kind, "x": byte, "y": byte }));
        assert!(!adapted.strict);
    }
}

#[test]
fn openai_gets_items_for_every_array() {
    let schema = json!({ "type": "object", "properties": { "x": { "type": "array" }, "y": { "anyOf": [{ "type": ["array", "null"] }, { "type": "string" }] } }, "required": ["y"] });
    let openai = adapted(Dialect::OpenAi, schema.clone()).schema;
    assert_eq!(openai["properties"]["x"], json!({ "type": "array", "items": {} }));
    assert_eq!(openai["properties"]["y"]["anyOf"][0], json!({ "type": ["array", "null"], "items": {} }));
    assert_eq!(adapted(Dialect::Anthropic, schema).schema["properties"]["x"], json!({ "type": "array" }));
}

#[test]
fn optional_properties_of_strict_schemas_can_be_null() {
    for (schema, strict) in [
        (json!({ "type": "string" }), json!({ "type": ["string", "null"] })),
        (json!({ "type": ["string", "integer"] }), json!({ "type": ["string", "integer", "null"] })),
        (json!({ "type": "string", "enum": ["a"] }), json!({ "type": ["string", "null"], "enum": ["a", null] })),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }, { "type": "null" }] }),
        ),
        (json!({ "$ref": "#/$defs/A" }), json!({ "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }] })),
        (
            json!({ "$ref": "#/$defs/A", "description": "d" }),
            json!({ "description": "d", "anyOf": [{ "$ref": "#/$defs/A" }, { "type": "null" }] }),
        ),
        (
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }),
            json!({ "type": ["object", "null"], "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false }),
        ),
    ] {
        let root = json!({ "type": "object", "properties": { "x": schema }, "$defs": { "A": { "type": "string" } } });
        let adapted = adapted(Dialect::OpenAiStrict, root);
        assert!(adapted.strict, "{:?}", adapted.obstacles);
        assert_eq!(adapted.schema["properties"]["x"], strict);
    }
}

#[test]
fn pointers_lead_into_the_schema_given() {
    let union = json!({ "oneOf": [{ "type": "string", "maxLength": 3 }, { "type": "integer" }] });
    let schema = normalised(json!({ "type": "object", "properties": { "a/b": union } }));
    let adapted = Dialect::OpenAiStrict.adapt(&schema);
    assert!(adapted.strict);
    for dropped in &adapted.dropped {
        let there = schema.pointer(&dropped.pointer).unwrap();
        assert!(there.get(&dropped.keyword).is_some(), "{dropped}");
    }
    assert_eq!(adapted.dropped.len(), 2);
}

/// Asserts what the provider demands of every schema in a strict one.
fn assert_strict(schema: &Value) {
    let map = schema.as_object().unwrap();
    if map.contains_key("$ref") {
        assert_eq!(map.len(), 1, "{schema}");
        return;
    }
    assert!(["type", "anyOf", "enum"].iter().any(|keyword| map.contains_key(*keyword)), "{schema}");
    for keyword in ["oneOf", "allOf", "not", "if", "default", "patternProperties", "prefixItems", "minLength", "x-note"]
    {
        assert!(!map.contains_key(keyword), "{schema}");
    }
    let is = |kind: &str| {
        map.get("type")
            .is_some_and(|kinds| *kinds == kind || kinds.as_array().is_some_and(|kinds| kinds.contains(&json!(kind))))
    };
    if is("object") {
        assert_eq!(map["additionalProperties"], false, "{schema}");
        let names: Vec<_> = map["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(map["required"], json!(names), "{schema}");
        map["properties"].as_object().unwrap().values().for_each(assert_strict);
    }
    if is("array") {
        assert_strict(&map["items"]);
    }
    map.get("anyOf").and_then(Value::as_array).into_iter().flatten().for_each(assert_strict);
    map.get("$defs").and_then(Value::as_object).into_iter().flatten().for_each(|(_, schema)| assert_strict(schema));
}

proptest! {
    #[test]
    fn a_schema_that_calls_itself_strict_is(mut schema in prop_oneof![any_schema::schema(), meaning::arguments()]) {
        if normalise(&mut schema).is_ok() {
            for (dialect, check) in [
                (Dialect::OpenAiStrict, assert_strict as fn(&Value)),
                (Dialect::AnthropicStrict, assert_anthropic_strict),
            ] {
                let adapted = dialect.adapt(&schema);
                prop_assert_eq!(adapted.strict, adapted.obstacles.is_empty());
                if adapted.strict {
                    check(&adapted.schema);
                }
                for dropped in adapted.dropped.iter().chain(&adapted.obstacles) {
                    prop_assert!(schema.pointer(&dropped.pointer).is_some(), "{}", dropped);
                }
            }
        }
    }
}

#[test]
fn the_limits_of_strict_schemas_are_kept() {
    let property = |index: usize| (format!("p{index}"), json!({ "type": "string" }));
    let many: serde_json::Map<_, _> = (0..5_001).map(property).collect();
    let adapted_many = adapted(Dialect::OpenAiStrict, json!({ "type": "object", "properties": many }));
    assert_eq!(adapted_many.obstacles[0].reason, "a strict schema has at most 5000 properties, this one has 5001");

    let mut deep = json!({ "type": "string" });
    for _ in 0..10 {
        deep = json!({ "type": "object", "properties": { "x": deep } });
    }
    assert!(adapted(Dialect::OpenAiStrict, deep.clone()).strict);
    let deeper = json!({ "type": "object", "properties": { "x": deep } });
    let obstacles = adapted(Dialect::OpenAiStrict, deeper).obstacles;
    assert_eq!(obstacles[0].reason, "a strict schema nests at most 10 objects");
    assert_eq!(obstacles[0].pointer, "/properties/x".repeat(10));

    let choices: Vec<_> = (0..1_001).map(|index| index.to_string()).collect();
    let schema = json!({ "type": "object", "properties": { "x": { "type": "string", "enum": choices } } });
    assert!(!adapted(Dialect::OpenAiStrict, schema).strict);
}
