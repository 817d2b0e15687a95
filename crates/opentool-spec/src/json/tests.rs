//! The layer as a whole against serde_json.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;

/// A text as one value, read by stepping over it.
fn skip(text: &str) -> Result<(), JsonError> {
    let mut lexer = Lexer::new(text);
    lexer.skip_value()?;
    lexer.expect_end()
}

/// A text as a value, read token by token.
fn parse(lexer: &mut Lexer<'_>) -> Result<Value, JsonError> {
    lexer.skip_whitespace();
    match lexer.peek() {
        Some(open @ (b'{' | b'[')) => {
            let mut value = if open == b'{' { json!({}) } else { json!([]) };
            lexer.advance();
            lexer.skip_whitespace();
            if lexer.eat(open + 2) {
                return Ok(value);
            }
            loop {
                match &mut value {
                    Value::Object(members) => {
                        let name = lexer.name()?.decode().into_owned();
                        members.insert(name, parse(lexer)?);
                    }
                    Value::Array(items) => items.push(parse(lexer)?),
                    _ => unreachable!(),
                }
                if lexer.closes(open == b'{')? {
                    return Ok(value);
                }
            }
        }
        Some(b'"') => Ok(Value::from(lexer.string()?.decode())),
        Some(b'-' | b'0'..=b'9') => Ok(serde_json::from_str(lexer.number()?.text).unwrap()),
        Some(b't') => lexer.literal("true").map(|()| json!(true)),
        Some(b'f') => lexer.literal("false").map(|()| json!(false)),
        _ => lexer.literal("null").map(|()| Value::Null),
    }
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| Value::from(text).to_string()),
        select(
            &[
                "true",
                "false",
                "null",
                r#""\ud83d\ude00""#,
                r#""\ud83d""#,
                r#""\u00e9\/\b""#,
                "1e400",
                "-",
                "01",
                "nul"
            ][..]
        )
        .prop_map(str::to_owned),
    ]
}

fn json_text() -> impl Strategy<Value = String> {
    let space = || select(&["", "", " ", "\n\t", "\r "][..]);
    scalar().prop_recursive(5, 40, 4, move |inner| {
        let member = ("\"[a-cé]\"", space(), inner.clone())
            .prop_map(|(name, space, value)| format!("{name}{space}:{space}{value}"));
        prop_oneof![
            (vec(inner, 0..4), space()).prop_map(|(items, space)| format!("[{space}{}{space}]", items.join(","))),
            (vec(member, 0..4), space())
                .prop_map(|(members, space)| format!("{space}{{{}{space}}}", members.join(&format!(",{space}")))),
        ]
    })
}

fn any_text() -> impl Strategy<Value = String> {
    let broken = (
        json_text(),
        any::<prop::sample::Index>(),
        select(&["", "}", "]", "\"", ",", "0", "\\", "é", ":", "\u{1}"][..]),
    )
        .prop_map(|(mut text, index, replacement)| {
            if let Some((at, character)) = text.char_indices().nth(index.index(text.len().max(1))) {
                text.replace_range(at..at + character.len_utf8(), replacement);
            }
            text
        });
    prop_oneof![json_text(), broken, any::<String>(), "[\\[\\]{}:,\" 0-9eE.+\\-truefalsn\\\\/ub]{0,40}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn lexer_reads_exactly_what_serde_json_reads(text in any_text()) {
        let theirs = serde_json::from_str::<Value>(&text);
        let mut lexer = Lexer::new(&text);
        let ours = parse(&mut lexer).and_then(|value| lexer.expect_end().map(|()| value));
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}: {:?} {:?}", text, ours, theirs);
        prop_assert_eq!(skip(&text).err(), ours.as_ref().err().copied());
        if repeated(&text).is_none() {
            prop_assert_eq!(check_unique_names(&text, |_| true), ours.as_ref().map(|_| true).map_err(|error| *error));
        }
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn unique_names_are_those_a_map_keeps_apart(text in json_text()) {
        prop_assume!(serde_json::from_str::<Value>(&text).is_ok());
        prop_assert_eq!(check_unique_names(&text, |_| true), Ok(repeated(&text).is_none()));
    }

    #[test]
    fn layout_changes_nothing_but_layout(text in json_text()) {
        prop_assume!(skip(&text).is_ok());
        let laid_out = indented(&text);
        prop_assert_eq!(canonical(&laid_out), canonical(&text));
        prop_assert_eq!(&indented(&laid_out), &laid_out);
        prop_assert_eq!(skip(&laid_out), Ok(()));
        let value: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<Value>(&canonical(&text)).unwrap(), value.clone());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(indented(&value.to_string()), pretty);
    }

    #[test]
    fn no_text_makes_the_layer_panic(text in any_text()) {
        let _ = (indented(&text), canonical(&text), plain_integers(&text), pointer::find(&text, "/a/0"));
        if let Err(error) = skip(&text) {
            prop_assert!(error.describe(&text).contains("expected"));
        }
    }

    #[test]
    fn plain_integers_change_no_value(text in json_text()) {
        prop_assume!(skip(&text).is_ok());
        let plain = plain_integers(&text);
        prop_assert!(same(&serde_json::from_str(&text).unwrap(), &serde_json::from_str(&plain).unwrap()), "{} {}", text, plain);
    }
}

/// The first object of a text that has a name twice, found the slow way.
fn repeated(text: &str) -> Option<usize> {
    let mut stack: Vec<Vec<String>> = Vec::new();
    let mut lexer = Lexer::new(text);
    loop {
        lexer.skip_whitespace();
        match lexer.peek()? {
            b'{' | b'[' => {
                stack.push(Vec::new());
                lexer.advance();
            }
            b'}' | b']' => {
                stack.pop();
                lexer.advance();
            }
            b'"' => {
                let start = lexer.position();
                let string = lexer.string().ok()?.decode().into_owned();
                lexer.skip_whitespace();
                if lexer.peek() == Some(b':') {
                    let names = stack.last_mut()?;
                    if names.contains(&string) {
                        return Some(start);
                    }
                    names.push(string);
                }
            }
            b',' | b':' => lexer.advance(),
            _ => lexer.skip_scalar().ok()?,
        }
    }
}

/// Equality of values in which `1` and `1.0` are the same.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

#[test]
fn known_scalars_end_where_they_end_when_they_are_checked() {
    let scalars = [
        "0",
        "-1",
        "12.5e-3",
        "1E+2",
        "true",
        "false",
        "null",
        r#""""#,
        r#""a\\\"b é""#,
        r#""a longer text, of words""#,
    ];
    for (scalar, rest) in scalars.into_iter().flat_map(|scalar| ["", ",1", "]", " }"].map(|rest| (scalar, rest))) {
        let text = format!("{scalar}{rest}");
        let (mut known, mut checked) = (Lexer::new(&text), Lexer::new(&text));
        known.skip_known_scalar();
        checked.skip_scalar().unwrap();
        assert_eq!((known.position(), known.position()), (checked.position(), scalar.len()), "{text}");
    }
}

#[test]
fn known_names_are_read_as_checked_ones_are() {
    for text in [r#""":1"#, r#""a" : 1"#, r#""a\\":"b""#, r#""a\"\u0062c"	:	[]"#, r#""a longer name, of words":null"#] {
        let (mut known, mut checked) = (Lexer::new(text), Lexer::new(text));
        assert_eq!(known.known_name(), checked.name().unwrap(), "{text}");
        assert_eq!(known.position(), checked.position(), "{text}");
    }
}

#[test]
fn nesting_is_limited_as_serde_json_limits_it() {
    for levels in [1, 127, 128, 100_000] {
        let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(skip(&text).is_ok(), serde_json::from_str::<Value>(&text).is_ok(), "{levels}");
        assert_eq!(check_unique_names(&text, |_| true).is_ok(), levels <= MAX_DEPTH, "{levels}");
    }
    let error = skip(&"{\"a\":".repeat(1_000)).unwrap_err();
    assert_eq!((error.at, error.kind), (127 * 5, JsonErrorKind::Depth));
}

#[test]
fn errors_are_described_by_line_and_column() {
    let describe = |text: &str| skip(text).unwrap_err().describe(text);
    assert_eq!(describe("{\n  \"é\": x}"), "line 2, column 8: expected a value, found 'x'");
    assert_eq!(describe("[1"), "line 1, column 3: expected `,` or `]`, found the end");
    assert_eq!(skip("[1").unwrap_err().to_string(), "expected `,` or `]` at byte 2");
}

#[test]
fn names_may_be_repeated_in_different_objects_only() {
    let unique = |text: &str| check_unique_names(text, |_| true).unwrap();
    assert!(unique(r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#));
    assert!(!unique(r#"{"a":1,"a":2}"#));
    assert!(!unique(r#"{"a":1,"\u0061":2}"#));
    assert!(!unique(r#"[{"b":{"a":1,"c":[{}],"a":2}}]"#));
    let many = |last: &str| {
        let names: Vec<_> = (0..1_000).map(|index| format!("\"n{index}\":{{\"n0\":0}}")).collect();
        format!("{{{},\"{last}\":0}}", names.join(","))
    };
    assert!(unique(&many("n1000")));
    assert!(!unique(&many("n999")));
    assert!(!unique(&many("n0")));
}

#[test]
fn root_names_can_be_refused() {
    let known = |text: &str| check_unique_names(text, |name| name == "a").unwrap();
    assert!(known(r#"{"a":{"b":1}}"#));
    assert!(!known(r#"{"a":1,"b":1}"#));
}

#[test]
fn layout_grows_linearly_with_nesting() {
    let size = 1 << 20;
    let brackets = "[".repeat(size / 2) + &"]".repeat(size / 2);
    let laid_out = indented(&brackets);
    assert!(laid_out.len() < size + 10_000, "{}", laid_out.len());
    assert_eq!(canonical(&laid_out), brackets);
    let objects = "{\"a\":".repeat(size / 6) + "1" + &"}".repeat(size / 6);
    assert!(indented(&objects).len() < 2 * size);
    // The worst there is: as many elements as fit, on the deepest level that still has lines.
    let elements = format!("{}{}1{}", "[".repeat(MAX_INDENTED), "1,".repeat(size / 2), "]".repeat(MAX_INDENTED));
    assert!(indented(&elements).len() <= elements.len() * (MAX_INDENTED + 2));
}

#[test]
fn layout_is_that_of_serde_json() {
    let value = json!({ "a": [1, { "b": "x\"{}[],:\\" }, [], {}], "c": null, "d": " e \n" });
    let text = value.to_string();
    assert_eq!(indented(&text), serde_json::to_string_pretty(&value).unwrap());
    assert_eq!(indented(r#"[ 12345678901234567890123 , 1.10 ]"#), "[\n  12345678901234567890123,\n  1.10\n]");
    for scalar in [json!("a"), json!(1.5), Value::Null] {
        assert_eq!(indented(&scalar.to_string()), scalar.to_string());
    }
}

#[test]
fn canonical_text_reads_as_what_it_means() {
    let json = r#" { "\u0072m" : [ "\/tmp\/\u002a" , 12345678901234567890123 , 1.10 ], "a": "b\\\" \u001b", "a": "é \ud800" } "#;
    let expected = r#"{"rm":["/tmp/*",12345678901234567890123,1.10],"a":"b\\\" \u001b","a":"é \ud800"}"#;
    assert_eq!(canonical(json), expected);
    assert_eq!(canonical(expected), expected);
    assert_eq!(canonical(r#"{"open": "end"#), r#"{"open":"end"#);
    assert_eq!(canonical("1 2"), "1 2");
}

#[test]
fn integers_are_written_without_fraction_and_exponent() {
    let text = r#"{"a": 1.0, "b": [1e3, -2.50, -0.0, 12], "c": "1.0", "d":1.5}"#;
    assert_eq!(plain_integers(text), r#"{"a": 1, "b": [1000, -2.50, 0, 12], "c": "1.0", "d":1.5}"#);
    assert!(matches!(plain_integers(r#"{"a":1,"b":"1.0"}"#), std::borrow::Cow::Borrowed(_)));
}

#[test]
fn excerpts_are_cut_between_characters() {
    assert_eq!(excerpt("äöü", 3), "äöü");
    assert_eq!(excerpt("äöü", 2), "äö…");
}

#[test]
fn an_unlimited_value_nests_as_deep_as_it_likes_and_its_brackets_match() {
    let skip = |text: &str| {
        let mut lexer = Lexer::new(text);
        lexer.skip_unlimited_value()?;
        lexer.expect_end()
    };
    for depth in [1, 63, 64, 65, 127, 128, 129, 130, 1_000] {
        // Every third level is an object.
        let levels = || (0..depth).map(|level| level % 3 == 0);
        let open: String = levels().map(|is_object| if is_object { r#"{"a":"# } else { "[" }).collect();
        let close: Vec<_> = levels().map(|is_object| if is_object { '}' } else { ']' }).rev().collect();
        let text = |close: &[char]| format!("{open}-1e999{}", close.iter().collect::<String>());
        assert_eq!(skip(&text(&close)), Ok(()), "{depth}");
        assert!(skip(&text(&close[1..])).is_err(), "{depth}");
        for wrong in 0..depth {
            let mut close = close.clone();
            close[wrong] = if close[wrong] == '}' { ']' } else { '}' };
            assert!(skip(&text(&close)).is_err(), "{depth}, {wrong}");
        }
    }
}
