//! The streaming checker, the validator over the text and the validator over a `serde_json::Value` agree
//! on generated schemas and inputs, and no text makes any of them panic.

use std::borrow::Cow;

use jsonschema::Validator;
use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use crate::check::{
    ArgumentChecker, Strictness,
    indexed::{IndexedText, ReadError},
    memory::CheckMemory,
};

const NAMES: [&str; 5] = ["a", "b", "c", "longer name", "ü/~"];

/// Numbers at the edges of the types they may be read into, but for integers that a `Value` rounds to another integer within
/// `i64`: `text.rs` has those, which are checked exactly.
const NUMBERS: [&str; 32] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "3",
    "10",
    "1.0",
    "1.5",
    "-2.5",
    "1e2",
    "1E-2",
    "0.5",
    "1e-400",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "999999999999999999",
    "1000000000000000000",
    "-999999999999999999",
    "-1000000000000000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-18446744073709551616",
    "12345678901234567890124",
    "1e300",
    "1e400",
    "1000e-3",
    "1e18",
];

const STRINGS: [&str; 12] = [
    r#""""#,
    r#""x""#,
    r#""red""#,
    r#""\u0072ed""#,
    r#""äöü""#,
    r#""\n""#,
    r#""\ud83d\ude00""#,
    r#""\ud83d""#,
    r#""a longer string without escapes""#,
    r#""with \"quotes\" and \\ inside""#,
    "\"raw\nnewline\"",
    r#""😀😀""#,
];

fn bound() -> impl Strategy<Value = Value> {
    let numbers: Vec<Value> = NUMBERS.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    select(numbers)
}

fn maybe(keyword: &'static str, value: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<(String, Value)>> {
    option::weighted(0.3, value.prop_map(move |value| (keyword.to_owned(), value)))
}

fn scalar_schema() -> impl Strategy<Value = Value> {
    let types = select(vec![
        json!("boolean"),
        json!("integer"),
        json!("number"),
        json!("string"),
        json!("null"),
        json!(["integer", "null"]),
        json!(["string", "null"]),
        json!(["string", "number", "boolean"]),
        json!(["integer", "number"]),
    ]);
    let keywords = (
        maybe("minimum", bound()),
        maybe("maximum", bound()),
        maybe("exclusiveMinimum", bound()),
        maybe("exclusiveMaximum", bound()),
        maybe("minLength", (0..4_u64).prop_map(Value::from)),
        maybe("maxLength", (0..8_u64).prop_map(Value::from)),
        maybe("enum", select(vec![json!(["red", "x"]), json!(["red", null]), json!(["", "äöü"])])),
        maybe("format", Just(json!("date-time"))),
    );
    (types, keywords).prop_map(|(types, k)| {
        let mut schema = Map::from_iter([("type".to_owned(), types)]);
        schema.extend([k.0, k.1, k.2, k.3, k.4, k.5, k.6, k.7].into_iter().flatten());
        Value::Object(schema)
    })
}

fn property_schema() -> impl Strategy<Value = Value> {
    let flat = prop_oneof![
        6 => scalar_schema(),
        1 => Just(json!({})),
        1 => Just(json!({ "const": "red" })),
        1 => Just(json!({ "enum": ["red", null], "description": "no type" })),
        1 => Just(json!({ "$ref": "#/$defs/Colour" })),
        2 => (scalar_schema(), 0..3_u64, 0..4_u64).prop_map(|(items, min, max)| {
            json!({ "type": "array", "items": items, "minItems": min, "maxItems": max })
        }),
    ];
    let other = prop_oneof![
        Just(json!({ "type": "integer", "multipleOf": 2 })),
        Just(json!({ "type": "string", "pattern": "^[a-z]*$" })),
        Just(json!({ "enum": [1, "red", 1.5, { "k": 1 }] })),
        (scalar_schema(), scalar_schema()).prop_map(|(one, two)| json!({ "anyOf": [one, two] })),
        Just(json!({ "type": "array", "items": { "type": "number" }, "uniqueItems": true })),
    ];
    prop_oneof![9 => flat, 1 => other]
}

/// An object schema of the generated properties, with what a tool's schema may have besides.
fn object_schema() -> impl Strategy<Value = Value> {
    let properties = vec((select(&NAMES[..]), property_schema(), any::<bool>()), 0..4);
    let additional = select(vec![None, Some(json!(false)), Some(json!(false)), Some(json!(true))]);
    (properties, additional).prop_map(|(properties, additional)| {
        let required: Vec<_> = properties.iter().filter(|(.., required)| *required).map(|(name, ..)| *name).collect();
        let properties: Map<_, _> =
            properties.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
        let mut schema = json!({
            "type": "object",
            "properties": properties,
            "required": Vec::from_iter(std::collections::BTreeSet::from_iter(required)),
            "$defs": { "Colour": { "type": "string", "enum": ["red", "green"] } },
        });
        if let Some(additional) = additional {
            schema["additionalProperties"] = additional;
        }
        schema
    })
}

fn scalar_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(&NUMBERS[..]),
        4 => select(&STRINGS[..]),
        1 => select(&["true", "false"][..]),
        1 => Just("null"),
    ]
    .prop_map(str::to_owned)
}

fn name_text() -> impl Strategy<Value = String> {
    let plain = |name: &str| Value::from(name).to_string();
    let escaped = |name: &str| {
        let units = name.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
        format!("\"{}\"", units.collect::<String>())
    };
    prop_oneof![
        16 => select(&NAMES[..]).prop_map(plain),
        1 => select(&NAMES[..]).prop_map(escaped),
        1 => Just("\"unknown\"".to_owned()),
    ]
}

fn object_text(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let space = || select(&["", "", "", " ", "\n\t", "\r "][..]);
    let member = (name_text(), value, space(), space())
        .prop_map(|(name, value, one, two)| format!("{one}{name}{two}:{one}{value}{two}"));
    (vec(member, 0..6), space()).prop_map(|(members, space)| format!("{space}{{{}{space}}}{space}", members.join(",")))
}

fn arguments_text() -> impl Strategy<Value = String> {
    let list = vec(scalar_text(), 0..4).prop_map(|items| format!("[{}]", items.join(", ")));
    object_text(prop_oneof![
        12 => scalar_text(),
        2 => list,
        1 => object_text(scalar_text()),
    ])
}

/// Arguments that suit a schema or nearly do: a text for most properties, most of them fitting.
fn suitable_text(schema: &Value) -> BoxedStrategy<String> {
    let properties: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    let members: Vec<BoxedStrategy<Option<String>>> = properties
        .into_iter()
        .map(|(name, schema)| {
            let name = Value::from(name.as_str()).to_string();
            let validator = jsonschema::options().build(&inlined(schema)).unwrap();
            let lists = ["[]", "[1,2]", "[\"red\"]", "[null,true]"];
            let suitable: Vec<_> = NUMBERS
                .iter()
                .chain(&STRINGS)
                .chain(&lists)
                .chain(&["true", "null"])
                .filter(|text| serde_json::from_str(text).is_ok_and(|value: Value| validator.is_valid(&value)))
                .map(|value| format!("{name}:{value}"))
                .collect();
            let other = scalar_text().prop_map(move |value| format!("{name}:{value}"));
            let member = match suitable.is_empty() {
                true => other.boxed(),
                false => prop_oneof![8 => select(suitable), 1 => other].boxed(),
            };
            option::weighted(0.95, member).boxed()
        })
        .collect();
    let extra = (name_text(), scalar_text()).prop_map(|(name, value)| format!("{name}:{value}"));
    (members, option::weighted(0.1, extra))
        .prop_map(|(members, extra)| {
            let members: Vec<_> = members.into_iter().chain([extra]).flatten().collect();
            format!("{{{}}}", members.join(","))
        })
        .boxed()
}

/// A property's schema on its own.
fn inlined(schema: &Value) -> Value {
    match schema.get("$ref") {
        Some(_) => json!({ "type": "string", "enum": ["red", "green"] }),
        None => schema.clone(),
    }
}

fn schema_and_text() -> impl Strategy<Value = (Value, String)> {
    object_schema().prop_flat_map(|schema| {
        let text = prop_oneof![2 => suitable_text(&schema), 3 => arguments_text()];
        let mutated = (
            text,
            option::weighted(
                0.2,
                (any::<prop::sample::Index>(), select(&["", "}", "\"", ",", "0", "\\", "é", "null"][..])),
            ),
        )
            .prop_map(|(mut text, mutation)| {
                if let Some((index, replacement)) = mutation
                    && let Some((at, character)) = text.char_indices().nth(index.index(text.len().max(1)))
                {
                    text.replace_range(at..at + character.len_utf8(), replacement);
                }
                text
            });
        (Just(schema), mutated)
    })
}

fn read(text: &str) -> Result<IndexedText<'_>, ReadError> {
    let mut document = IndexedText::new(text);
    document.read(&|_| true, &mut CheckMemory::default())?;
    Ok(document)
}

/// The rules once more, the slow and plain way: over a `Value`, with the validator's stock
/// representation.
fn by_the_book(schema: &Value, text: &str, strictness: Strictness) -> Option<Value> {
    let document = read(text).ok()?;
    let mut arguments: Map<String, Value> = serde_json::from_str(text).ok()?;
    if document.duplicates().1 > 0 {
        return None;
    }
    let properties = schema["properties"].as_object()?;
    let required = schema["required"].as_array()?;
    let is_valid = |schema: &Value, value: &Value| -> bool {
        let validator: Validator = jsonschema::options().build(schema).unwrap();
        validator.is_valid(value)
    };
    arguments.retain(|name, value| match properties.get(name) {
        Some(schema) => {
            !value.is_null()
                || required.iter().any(|required| required == name)
                || is_valid(&inlined(schema), &Value::Null)
        }
        None => strictness == Strictness::Strict || schema.get("additionalProperties") != Some(&json!(false)),
    });
    let arguments = Value::Object(arguments);
    is_valid(schema, &arguments).then_some(arguments)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_engines_agree((schema, text) in schema_and_text(), strict in any::<bool>()) {
        let strictness = if strict { Strictness::Strict } else { Strictness::Lenient };
        let checker = ArgumentChecker::compile(&schema).unwrap();
        let explained = checker.check_by_validator(&text, strictness);
        if checker.accepts_streaming(&text) {
            prop_assert!(matches!(explained, Ok(Cow::Borrowed(_))), "only streaming accepts {text}: {explained:?}");
        }
        let checked = checker.check(&text, strictness);
        prop_assert_eq!(&checked, &explained);
        let value = checked.ok().map(|text| serde_json::from_str::<Value>(&text).unwrap());
        prop_assert_eq!(value, by_the_book(&schema, &text, strictness), "{} {}", schema, text);
    }

    /// One value and its limits, where the engines are most likely to differ.
    #[test]
    fn the_engines_agree_on_scalars(property in scalar_schema(), value in scalar_text()) {
        let schema = json!({ "type": "object", "properties": { "a": property }, "required": ["a"] });
        let checker = ArgumentChecker::compile(&schema).unwrap();
        let text = format!("{{\"a\":{value}}}");
        let expected = by_the_book(&schema, &text, Strictness::Strict).is_some();
        prop_assert!(checker.is_streaming());
        if !value.contains('\\') {
            prop_assert_eq!(checker.accepts_streaming(&text), expected, "{} {}", schema, text);
        }
        prop_assert_eq!(checker.check(&text, Strictness::Lenient).is_ok(), expected);
    }

    #[test]
    fn what_passes_passes_again((schema, text) in schema_and_text()) {
        let checker = ArgumentChecker::compile(&schema).unwrap();
        if let Ok(kept) = checker.check(&text, Strictness::Lenient) {
            let again = checker.check(&kept, Strictness::Strict);
            prop_assert!(matches!(again, Ok(Cow::Borrowed(_))), "{kept}: {again:?}");
        }
    }

    /// A nested object is treated like the root, but for unknown members, which stay.
    #[test]
    fn nesting_changes_nothing((schema, text) in schema_and_text(), by_reference in any::<bool>()) {
        let inner = if by_reference { json!({ "$ref": "#/$defs/Inner" }) } else { schema.clone() };
        let outer = json!({
            "type": "object",
            "properties": { "in": { "type": "array", "items": inner } },
            "$defs": { "Inner": schema, "Colour": schema["$defs"]["Colour"] },
        });
        let (outer, inner) =
            (ArgumentChecker::compile(&outer).unwrap(), ArgumentChecker::compile(&schema).unwrap());
        let nested = format!("{{\"in\":[{text}]}}");
        let expected = inner.check(&text, Strictness::Strict).ok();
        prop_assume!(text.trim_start().starts_with('{'));
        let expected = expected.map(|kept| format!("{{\"in\":[{kept}]}}"));
        let checked = outer.check(&nested, Strictness::Lenient).ok();
        prop_assert_eq!(checked.as_deref(), expected.as_deref());
    }

    #[test]
    fn exactly_what_serde_json_reads_is_json(text in prop_oneof![
        any::<String>(),
        arguments_text(),
        "[\\[\\]{}:,\" 0-9eE.+\\-truefalsn\\\\/ub]{0,40}",
        schema_and_text().prop_map(|(_, text)| text),
    ]) {
        let ours = read(&text);
        let theirs = serde_json::from_str::<Value>(&text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}: {:?} {:?}", text, ours, theirs);
    }

    #[test]
    fn no_text_makes_the_checker_panic(text in any::<String>(), (schema, _) in schema_and_text()) {
        let checker = ArgumentChecker::compile(&schema).unwrap();
        for strictness in [Strictness::Lenient, Strictness::Strict] {
            for text in [&text, &format!("{{{text}}}"), &format!("{{\"a\":{text}}}")] {
                if let Err(error) = checker.check(text, strictness) {
                    prop_assert!(!error.to_string().is_empty());
                }
            }
        }
    }
}

#[test]
fn generators_reach_both_engines() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut counts = [0_usize; 4];
    for _ in 0..1_000 {
        let (schema, text) = schema_and_text().new_tree(&mut runner).unwrap().current();
        let checker = ArgumentChecker::compile(&schema).unwrap();
        let passes = checker.check(&text, Strictness::Lenient).is_ok();
        counts[match (checker.is_streaming(), checker.accepts_streaming(&text)) {
            (true, true) => 0,
            (true, false) if passes => 1,
            (true, false) => 2,
            (false, _) => 3,
        }] += 1;
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}
