//! What counts as JSON, before any schema has a say.

use serde_json::{Value, json};

use super::{accepted, checker, passes, refused};
use crate::check::Strictness;

fn add() -> Value {
    json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
        "additionalProperties": false,
    })
}

fn nested() -> Value {
    json!({ "type": "object", "properties": { "value": {} }, "additionalProperties": false })
}

#[test]
fn blank_and_null_arguments_count_as_an_empty_object() {
    for nothing in ["", " ", "\n\t ", "null", " null\n"] {
        assert_eq!(accepted(&add(), nothing), "{}", "{nothing:?}");
        assert!(!passes(&add(), nothing), "borrowed would mean that {nothing:?} may go on");
    }
    let needy = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] });
    assert_eq!(refused(&needy, ""), "missing required argument \"a\"");
}

#[test]
fn the_text_comes_back_untouched_with_its_whitespace() {
    let text = " {\r\n\t\"b\" : 2 ,\"a\":1 } \n";
    assert!(passes(&add(), text));
    assert_eq!(accepted(&add(), text), text);
}

#[test]
fn malformed_json_is_reported_with_line_and_column() {
    for (text, message) in [
        ("{\"a\":1", "line 1, column 7: expected `,` or `}`, found the end"),
        ("{\"a\":1,}", "line 1, column 8: expected a name in double quotes, found '}'"),
        ("{'a':1}", "line 1, column 2: expected a name in double quotes, found '\\''"),
        ("{\n  \"é\": x}", "line 2, column 8: expected a value, found 'x'"),
        ("{\"a\" 1}", "line 1, column 6: expected `:`, found '1'"),
        ("{\"a\":01}", "line 1, column 6: expected a number without leading zeros, found '0'"),
        ("{\"a\":1.}", "line 1, column 8: expected a digit, found '}'"),
        ("{\"a\":-}", "line 1, column 7: expected a digit, found '}'"),
        ("{\"a\":NaN}", "line 1, column 6: expected a value, found 'N'"),
        ("{\"a\":-Infinity}", "line 1, column 7: expected a digit, found 'I'"),
        ("{\"a\":nul}", "line 1, column 6: expected a value, found 'n'"),
        ("{\"a\":1} x", "line 1, column 9: expected nothing after the value, found 'x'"),
        ("{\"a\":\"\n\"}", "column 7: expected control characters in a string to be escaped, found '\\n'"),
        ("{\"a\":\"\\x\"}", "column 7: expected an escape that JSON has, found '\\\\'"),
        ("{\"a\":\"\\ud800\"}", "column 7: expected surrogates to come in pairs, found '\\\\'"),
        ("{\"a\":\"\\u12g4\"}", "column 11: expected four hexadecimal digits, found 'g'"),
        ("{\"a\":\"x}", "column 9: expected the closing quote of a string, found the end"),
        ("{\"a\":[1 2]}", "column 9: expected `,` or `]`, found '2'"),
        ("{\"a\":1e400}", "column 6: expected a number of at most 1.8e308, found '1'"),
    ] {
        let refusal = refused(&add(), text);
        assert!(refusal.starts_with("malformed JSON at line "), "{refusal}");
        assert!(refusal.ends_with(message), "{text}: {refusal}");
    }
}

#[test]
fn a_root_that_is_not_an_object_is_refused() {
    for (text, found) in [("[1]", "array"), ("3", "integer 3"), ("\"{}\"", "string \"{}\""), ("true", "boolean true")] {
        let refusal = refused(&add(), text);
        assert_eq!(refusal, format!("expected the arguments as a JSON object, got {found}"));
    }
}

#[test]
fn duplicate_names_are_refused_at_every_depth_however_escaped() {
    assert_eq!(refused(&add(), r#"{"a":1,"a":1}"#), r#"/a: the name "a" is there more than once"#);
    assert_eq!(refused(&add(), r#"{"a":1,"\u0061":1}"#), r#"/a: the name "a" is there more than once"#);
    assert_eq!(
        refused(&nested(), r#"{"value":[0,{"x/y":{"k":1,"j":2,"k":3}}]}"#),
        r#"/value/1/x~1y/k: the name "k" is there more than once"#
    );
    assert_eq!(
        refused(&nested(), r#"{"dropped":{"k":1,"k":1}}"#),
        r#"/dropped/k: the name "k" is there more than once"#
    );
}

#[test]
fn duplicate_names_are_found_among_many_and_reported_a_few_at_a_time() {
    let member = |index: usize| format!("\"k{}\":{index}", index % 60);
    let members: Vec<_> = (0..100).map(member).collect();
    let text = format!("{{\"value\":{{{}}}}}", members.join(","));
    let error = checker(&nested()).check(&text, Strictness::Lenient).unwrap_err();
    assert_eq!(error.pointer(), "/value/k0");
    assert_eq!((error.problems().len(), error.omitted()), (10, 30));
    assert!(error.to_string().ends_with("; and 30 more"));
}

#[test]
fn nesting_is_limited_like_serde_json_limits_it() {
    for levels in [1, 100, 126, 127, 128, 100_000] {
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        let text = format!("{{\"value\":{open}{close}}}");
        let text = if levels == 1 { "{}".to_owned() } else { text };
        let parsed = serde_json::from_str::<Value>(&text).is_ok();
        assert_eq!(passes(&nested(), &text), parsed, "{levels} levels");
        assert_eq!(parsed, levels < 128);
    }
    let refusal = refused(&nested(), &"{\"value\":".repeat(100_000));
    assert!(refusal.contains("expected at most 127 levels of nesting"), "{refusal}");
}

#[test]
fn escaped_names_are_the_names_they_mean() {
    assert!(passes(&add(), r#"{"\u0061":1,"\u0062":2}"#));
    assert_eq!(refused(&add(), r#"{"\u0061":"x"}"#), "/a: expected integer, got string \"x\"");
    let smile = json!({ "type": "object", "properties": { "😀": { "type": "null" } }, "required": ["😀"] });
    assert!(passes(&smile, r#"{"\ud83d\uDE00":null}"#));
}

#[test]
fn large_integers_are_compared_digit_by_digit() {
    let bounded = |low: Value, high: Value| {
        json!({
            "type": "object",
            "properties": { "n": { "type": "integer", "minimum": low, "maximum": high } },
        })
    };
    let exact = bounded(json!(-9_007_199_254_740_993_i64), json!(9_007_199_254_740_993_i64));
    assert!(passes(&exact, r#"{"n":9007199254740993}"#));
    assert!(passes(&exact, r#"{"n":-9007199254740993}"#));
    assert!(!passes(&exact, r#"{"n":9007199254740994}"#));
    assert!(!passes(&exact, r#"{"n":-9007199254740994}"#));

    let unsigned = bounded(json!(0), json!(u64::MAX));
    assert!(passes(&unsigned, r#"{"n":18446744073709551615}"#));
    assert!(!passes(&unsigned, r#"{"n":18446744073709551616}"#));

    let signed = bounded(json!(i64::MIN), json!(i64::MAX));
    assert!(passes(&signed, r#"{"n":-9223372036854775808}"#));
    assert!(passes(&signed, r#"{"n":9223372036854775807}"#));
    assert!(!passes(&signed, r#"{"n":9223372036854775808}"#));
    assert_eq!(
        refused(&signed, r#"{"n":-9223372036854775809}"#),
        "/n: expected at least -9223372036854775808, got integer -9223372036854775809"
    );
}

#[test]
fn an_unbounded_integer_beyond_u64_keeps_its_text() {
    let text = r#"{"a":12345678901234567890123}"#;
    assert_eq!(accepted(&add(), text), text);
    assert_eq!(accepted(&add(), r#"{"b":null,"a":12345678901234567890123}"#), text);
}

#[test]
fn multiples_beyond_u64_are_reported_by_their_digits() {
    let even = json!({ "type": "integer", "multipleOf": 2 });
    let even = json!({ "type": "object", "properties": { "n": even } });
    assert!(passes(&even, r#"{"n":12345678901234567890124}"#));
    assert_eq!(
        refused(&even, r#"{"n":12345678901234567890123}"#),
        "/n: expected a multiple of 2, got integer 12345678901234567890123"
    );
    assert!(passes(&even, r#"{"n":1e-400}"#));
}

#[test]
fn integers_may_be_written_as_floats() {
    for number in ["1.0", "1e2", "-0", "-0.0", "1E+2", "100e-2"] {
        assert!(passes(&add(), &format!("{{\"a\":{number}}}")), "{number}");
    }
    assert_eq!(refused(&add(), r#"{"a":1.5}"#), "/a: expected integer, got number 1.5");
}

/// The agreement tests cannot cover this: their oracle is a `Value`, which has rounded such a number.
#[test]
fn integers_written_as_floats_are_compared_exactly() {
    let below = |limit: i64| json!({ "type": "object", "properties": { "n": { "type": "integer", "exclusiveMaximum": limit } } });
    for (limit, fits) in [(9_007_199_254_740_993, false), (9_007_199_254_740_994, true)] {
        let checker = checker(&below(limit));
        for text in [r#"{"n":9007199254740993}"#, r#"{"n":9007199254740993.0}"#, r#"{"n":9007199254740993e0}"#] {
            assert_eq!(checker.accepts_streaming(text), fits, "{text} below {limit}");
            assert_eq!(checker.check_by_validator(text, Strictness::Lenient).is_ok(), fits, "{text} below {limit}");
        }
    }
}
