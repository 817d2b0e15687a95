//! Schemas that refer to themselves: they are checked in bounded time, whatever they multiply.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{accepted, checker, passes, refused};
use crate::MemoryBudget;
use crate::check::{ArgumentChecker, Strictness, Unchecked};

/// What a check may take in a debug build on a busy machine. What it prevents would take years.
const SOON: Duration = Duration::from_secs(120);

fn soon<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    assert!(start.elapsed() < SOON, "{what} took {:?}", start.elapsed());
    result
}

fn with(x: Value, definitions: Value) -> Value {
    json!({ "type": "object", "properties": { "x": x }, "$defs": definitions })
}

/// Objects or arrays, one in the other, with a value in the innermost.
fn nested(open: &str, close: &str, levels: usize, inner: &str) -> String {
    format!(r#"{{"x":{}{inner}{}}}"#, open.repeat(levels), close.repeat(levels))
}

/// A schema that asks twice for the same schema of every member.
fn doubling() -> Value {
    let member = json!({ "properties": { "a": { "$ref": "#/$defs/n" } } });
    with(json!({ "$ref": "#/$defs/n" }), json!({ "n": { "type": "object", "allOf": [member, member] } }))
}

#[test]
fn a_schema_that_doubles_with_each_level_is_checked_soon() {
    for levels in [1, 20, 100] {
        let right = nested(r#"{"a":"#, "}", levels, "{}");
        assert!(soon("the right one", || passes(&doubling(), &right)), "{levels} levels");
        let wrong = nested(r#"{"a":"#, "}", levels, "1");
        let message = soon("the wrong one", || refused(&doubling(), &wrong));
        assert!(message.contains("expected object") || message.contains("too long to say where"), "{message}");
    }
    assert_eq!(refused(&doubling(), r#"{"x":{"a":{"a":1}}}"#).matches("/x/a/a: expected object").count(), 4);
}

#[test]
fn work_that_multiplies_beyond_the_bound_is_refused_in_plain_words() {
    // Too long for the validator to remember short objects, so that each of these is checked a million times.
    let objects = vec![format!("{}1{}", r#"{"a":"#.repeat(40), "}".repeat(40)); 300];
    let member = json!({ "properties": { "a": { "anyOf": [{ "$ref": "#/$defs/n" }, { "type": "integer" }] } } });
    let schema = with(
        json!({ "items": { "$ref": "#/$defs/n" } }),
        json!({ "n": { "type": "object", "allOf": [member, member, member] } }),
    );
    let message = soon("the check", || refused(&schema, &format!(r#"{{"x":[{}]}}"#, objects.join(","))));
    assert_eq!(
        message,
        "checking the arguments takes too much work: the input schema refers to itself in a way that multiplies with every \
         level; expected arguments with fewer levels"
    );
}

#[test]
fn references_that_multiply_are_refused_at_compilation() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let mut definitions = json!({ "d14": { "type": "integer" } });
        for level in 0..14 {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            definitions[format!("d{level}")] = json!({ keyword: [next, next, next] });
        }
        let schema = with(json!({ "$ref": "#/$defs/d0" }), definitions);
        let error = soon("compiling", || ArgumentChecker::compile(&schema)).unwrap_err().to_string();
        assert!(error.contains("one value would be checked against more than 10000 schemas"), "{error}");
    }
    // The same by names instead of pointers.
    let mut definitions = json!({ "d14": { "$anchor": "d14" } });
    for level in 0..14 {
        let next = json!({ "$ref": format!("#d{}", level + 1) });
        definitions[format!("d{level}")] = json!({ "$anchor": format!("d{level}"), "allOf": [next, next, next] });
    }
    let error = ArgumentChecker::compile(&with(json!({ "$ref": "#d0" }), definitions)).unwrap_err().to_string();
    assert!(error.starts_with("invalid input schema at /") && error.contains("its references multiply"), "{error}");
    // And among schemas that all refer to each other for the same value.
    let all: Vec<_> = (0..12).map(|index| json!({ "$ref": format!("#/$defs/d{index}") })).collect();
    let definitions: serde_json::Map<_, _> =
        (0..12).map(|index| (format!("d{index}"), json!({ "allOf": all }))).collect();
    let schema = with(json!({ "$ref": "#/$defs/d0" }), definitions.into());
    let error = soon("compiling", || ArgumentChecker::compile(&schema)).unwrap_err().to_string();
    assert!(error.contains("multiply"), "{error}");
}

#[test]
fn references_for_one_value_that_lead_far_do_not_end_the_process() {
    let chain = |length: usize| {
        let mut definitions = json!({});
        for level in 0..length {
            let next = if level + 1 == length {
                json!({ "properties": { "a": { "$ref": "#/$defs/d0" } } })
            } else {
                json!({ "allOf": [{ "$ref": format!("#/$defs/d{}", level + 1) }] })
            };
            definitions[format!("d{level}")] = next;
        }
        with(json!({ "$ref": "#/$defs/d0" }), definitions)
    };
    let error = ArgumentChecker::compile(&chain(1000)).unwrap_err().to_string();
    assert!(error.contains("more than 32 schemas for the same value lead one into the other"), "{error}");
    // The longest chain, on the stack of an async thread, with as many levels as there may be.
    let deepest = nested(r#"{"a":"#, "}", 125, "{}");
    let checked = std::thread::Builder::new().stack_size(2 << 20).spawn(move || passes(&chain(15), &deepest)).unwrap();
    assert!(checked.join().unwrap());
}

#[test]
fn ordinary_recursive_schemas_are_checked_as_ever() {
    let tree = with(
        json!({ "$ref": "#/$defs/node" }),
        json!({ "node": {
            "type": "object",
            "properties": { "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/node" } } },
            "required": ["name"],
            "additionalProperties": false,
        } }),
    );
    let leaf = r#"{"name":"leaf"}"#;
    let row = format!(r#"{{"name":"row","children":[{}]}}"#, vec![leaf; 1000].join(","));
    let long = format!(r#"{{"x":{{"name":"root","children":[{}]}}}}"#, vec![row; 20].join(","));
    assert_eq!(accepted(&tree, &long), long);
    let wrong = long.replacen(leaf, r#"{"nome":"leaf"}"#, 1);
    let message = refused(&tree, &wrong);
    assert!(
        message.contains(r#"/x/children/0/children/0/nome: unknown property "nome", did you mean "name"?"#),
        "{message}"
    );

    // An expression whose kind stands last, so that every alternative reads the operands before it fails.
    let operation = |name: &str| {
        json!({
            "type": "object",
            "properties": { "left": { "$ref": "#/$defs/e" }, "right": { "$ref": "#/$defs/e" }, "op": { "const": name } },
            "required": ["left", "right", "op"],
        })
    };
    let expression =
        json!({ "e": { "anyOf": [operation("+"), operation("-"), operation("*"), { "type": "number" }] } });
    let schema = with(json!({ "$ref": "#/$defs/e" }), expression);
    let mut value = "1".to_owned();
    for _ in 0..12 {
        value = format!(r#"{{"left":{value},"right":{value},"op":"*"}}"#);
    }
    let text = format!(r#"{{"x":{value}}}"#);
    assert!(text.len() > 64 << 10);
    assert!(soon("the expression", || passes(&schema, &text)));
}

#[test]
fn what_the_validator_remembers_is_counted_in_the_budget() {
    let schema = with(
        json!({ "$ref": "#/$defs/l" }),
        json!({ "l": { "type": ["array", "number"], "items": { "$ref": "#/$defs/l" } } }),
    );
    // Few long lists: all of them are remembered, and take more than the index.
    let list = format!("[{}]", vec!["1"; 100].join(","));
    let text = format!(r#"{{"x":[{}]}}"#, vec![list; 2000].join(","));
    let enough = MemoryBudget::new(text.len());
    assert!(checker(&schema).check_within(&text, Strictness::Lenient, Some(&enough)).is_ok());
    assert_eq!(enough.held(), 0);
    let little = MemoryBudget::new(text.len() * 3 / 10);
    let checked = checker(&schema).check_within(&text, Strictness::Lenient, Some(&little));
    assert!(matches!(checked, Err(Unchecked::OutOfMemory)), "{checked:?}");
    assert_eq!(little.held(), 0);
    // The index alone would fit.
    let plain = with(json!({ "anyOf": [{ "type": "array" }, { "type": "null" }] }), json!({}));
    assert!(checker(&plain).check_within(&text, Strictness::Lenient, Some(&little)).is_ok());
    // Many deep lists: only as many are remembered as fit beside the index.
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    let text = format!(r#"{{"x":[{}]}}"#, vec![deep; 1000].join(","));
    let enough = MemoryBudget::new(3 * text.len());
    assert!(checker(&schema).check_within(&text, Strictness::Lenient, Some(&enough)).is_ok());
}

#[test]
fn an_optional_null_under_references_that_multiply_is_judged_soon() {
    let mut definitions = json!({ "d12": { "type": "string" } });
    for level in 0..12 {
        let next = format!("#/$defs/d{}", level + 1);
        definitions[format!("d{level}")] = json!({ "allOf": [{ "$ref": next }, { "$ref": next }] });
    }
    let cycle = json!({ "allOf": [{ "$ref": "#/$defs/c" }, { "$ref": "#/$defs/c" }] });
    definitions["c"] = cycle;
    let schema = with(json!({ "$ref": "#/$defs/c" }), definitions);
    soon("the check", || passes(&schema, r#"{"x":null}"#));
}
