//! The beginning of a JSON text, as a value: [`partial_value`].

use serde_json::{Map, Value};

use super::lexer::{Lexer, MAX_DEPTH};
use super::string::{JsonString, sound_end};

/// Returns the value that a text is the beginning of, as far as it can be known.
///
/// A string is cut off where the text ends; a number or a name that may go on is left out. None before there is a value.
///
/// ```
/// use opentool_spec::json::partial_value;
/// use serde_json::json;
///
/// assert_eq!(partial_value(r#"{"city": "Par"#), Some(json!({"city": "Par"})));
/// assert_eq!(partial_value(r#"{"city": "Paris", "days": 1"#), Some(json!({"city": "Paris"})));
/// ```
#[must_use]
pub fn partial_value(text: &str) -> Option<Value> {
    PartialReader { text, lexer: Lexer::new(text), is_over: false }.value(0)
}

struct PartialReader<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    /// Whether the text ended, or is no JSON from here on; then nothing more is read.
    is_over: bool,
}

impl PartialReader<'_> {
    /// Reads a value; where there is none, the text is over.
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.lexer.skip_whitespace();
        let value = match self.lexer.peek() {
            Some(b'{') if depth < MAX_DEPTH => Some(Value::Object(self.object(depth))),
            Some(b'[') if depth < MAX_DEPTH => Some(Value::Array(self.array(depth))),
            Some(b'"') => Some(Value::String(self.string())),
            _ => self.scalar(),
        };
        self.is_over |= value.is_none();
        value
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut object = Map::new();
        if self.is_empty(b'}') {
            return object;
        }
        while let Ok(name) = self.lexer.name() {
            let Some(value) = self.value(depth + 1) else { return object };
            object.insert(name.decode().into_owned(), value);
            if self.ends(true) {
                return object;
            }
        }
        self.is_over = true;
        object
    }

    fn array(&mut self, depth: usize) -> Vec<Value> {
        let mut array = Vec::new();
        if self.is_empty(b']') {
            return array;
        }
        while let Some(value) = self.value(depth + 1) {
            array.push(value);
            if self.ends(false) {
                break;
            }
        }
        array
    }

    /// Steps over an opening bracket, and over the closing one where it comes next.
    fn is_empty(&mut self, close: u8) -> bool {
        self.lexer.advance();
        self.lexer.skip_whitespace();
        self.lexer.eat(close)
    }

    /// Says whether an object or array has no more members.
    fn ends(&mut self, is_object: bool) -> bool {
        if !self.is_over
            && let Ok(is_closed) = self.lexer.closes(is_object)
        {
            return is_closed;
        }
        self.is_over = true;
        true
    }

    /// Reads a string, cut off where the text ends or before an escape that is not whole.
    fn string(&mut self) -> String {
        let start = self.lexer.position() + 1;
        let string = self.lexer.string().unwrap_or_else(|_| {
            self.is_over = true;
            let end = sound_end(self.text.as_bytes(), start);
            JsonString { raw: self.text.get(start..end).unwrap_or_default(), escaped: true }
        });
        string.decode().into_owned()
    }

    /// Reads a number or a name; a number at the very end may go on.
    fn scalar(&mut self) -> Option<Value> {
        let start = self.lexer.position();
        let is_number = self.lexer.peek().is_some_and(|byte| byte == b'-' || byte.is_ascii_digit());
        self.lexer.skip_scalar().ok()?;
        let may_go_on = is_number && self.lexer.peek().is_none();
        serde_json::from_str(self.lexer.since(start)).ok().filter(|_| !may_go_on)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_grows_with_its_text() {
        for (text, value) in [
            ("", None),
            ("  ", None),
            ("{", Some(json!({}))),
            (r#"{"na"#, Some(json!({}))),
            (r#"{"name""#, Some(json!({}))),
            (r#"{"name":"#, Some(json!({}))),
            (r#"{"name":"An"#, Some(json!({ "name": "An" }))),
            (r#"{"name":"An\"#, Some(json!({ "name": "An" }))),
            (r#"{"name":"An\u00"#, Some(json!({ "name": "An" }))),
            (r#"{"name":"\ud83d\ude"#, Some(json!({ "name": "" }))),
            (r#"{"name":"Ann","age":4"#, Some(json!({ "name": "Ann" }))),
            (r#"{"name":"Ann","age":42,"#, Some(json!({ "name": "Ann", "age": 42 }))),
            (r#"{"name":"Ann","ok":tr"#, Some(json!({ "name": "Ann" }))),
            (r#"{"name":"Ann","ok":true"#, Some(json!({ "name": "Ann", "ok": true }))),
            (r#"[{"a":[1,2,"#, Some(json!([{ "a": [1, 2] }]))),
            (r#"[{"a":[1,2]},{"#, Some(json!([{ "a": [1, 2] }, {}]))),
            ("[]", Some(json!([]))),
            ("{}", Some(json!({}))),
            ("Sure, ", None),
            (r#"{"a":1} and so on"#, Some(json!({ "a": 1 }))),
        ] {
            assert_eq!(partial_value(text), value, "{text}");
        }
        assert!(partial_value(&"[".repeat(100_000)).is_some(), "a deep text does not overflow the stack");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-zé\"\\\\😀{}\\[\\],:]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[a-z{\"]{0,4}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_beginning_is_read_and_the_whole_is_the_value(value in any_json(), cut in 0usize..200) {
            let wrapped = json!({ "value": value });
            for text in [wrapped.to_string(), serde_json::to_string_pretty(&wrapped).unwrap()] {
                prop_assert_eq!(partial_value(&text), Some(wrapped.clone()));
                let end = (0..=cut.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                let part = partial_value(&text[..end]);
                prop_assert!(part.is_none_or(|part| part.is_object()));
            }
        }
    }
}
