#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn tokens_are_escaped_and_unescaped() {
    assert_eq!(to_member("a/b~c"), "/a~1b~0c");
    assert_eq!(unescape("~01"), "~1", "what is unescaped is not unescaped again");
    assert_eq!(tokens("").count(), 0);
    assert_eq!(tokens("/a~1b//0").collect::<Vec<_>>(), ["a/b", "", "0"]);
}

#[test]
fn references_are_percent_decoded() {
    let tokens = |reference| reference_tokens(reference).map(|tokens| tokens.collect::<Vec<_>>());
    assert_eq!(tokens("#/$defs/Page%3CA~1B%3E").unwrap(), ["$defs", "Page<A/B>"]);
    assert_eq!(tokens("#/a%2").unwrap(), ["a%2"]);
    assert_eq!(tokens("#/%ff").unwrap(), ["%ff"], "not UTF-8");
    assert!(tokens("other.json#/a").is_none());
}

#[test]
fn values_are_found_in_the_text() {
    let text = r#" { "a/b" : [ 1 , { "\u0063" : "x" } ], "d": 1, "d": 2, "e": {}, "f": [] } "#;
    let found = |pointer| find(text, pointer).map(|range| &text[range]);
    assert_eq!(found("/a~1b/0"), Some("1"));
    assert_eq!(found("/a~1b/1/c"), Some("\"x\""));
    assert_eq!(found("/d"), Some("2"));
    assert_eq!(found(""), Some(text.trim()));
    for missing in ["/x", "/a~1b/2", "/a~1b/x", "/d/0", "/e/0", "/f/0"] {
        assert_eq!(found(missing), None, "{missing}");
    }
    assert_eq!(find("[1, x]", "/1"), None);
}

fn value() -> impl Strategy<Value = Value> {
    let scalar =
        prop_oneof![Just(json!(null)), any::<i64>().prop_map(Value::from), "[a~/é\"]{0,3}".prop_map(Value::from)];
    scalar.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a~/é\"]{0,3}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// All pointers of a value, with what they lead to.
fn collect<'v>(value: &'v Value, pointer: &str, found: &mut Vec<(String, &'v Value)>) {
    found.push((pointer.to_owned(), value));
    let below = |name: &str| {
        let mut below = pointer.to_owned();
        push(&mut below, name);
        below
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| collect(value, &below(name), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| collect(value, &below(&index.to_string()), found));
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn every_pointer_leads_to_its_value(value in value()) {
        let (compact, pretty) = (value.to_string(), format!("{value:#}"));
        let mut pointers = Vec::new();
        collect(&value, "", &mut pointers);
        for (pointer, expected) in pointers {
            prop_assert_eq!(value.pointer(&pointer), Some(expected));
            for text in [&compact, &pretty] {
                let found = find(text, &pointer).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Value>(&text[found]).unwrap(), expected);
            }
        }
    }
}
