//! JSON that is not whole yet, as a value: [`grown`].

use serde_json::{Map, Value};

/// How deep a value may nest; what is deeper is left out until the answer is whole.
const MAX_DEPTH: usize = 100;

/// Returns the value that a text is the beginning of, as far as it can be known: a text is cut off where it ends, a number or a
/// name that may go on is left out. None before there is a value.
pub(crate) fn grown(text: &str) -> Option<Value> {
    Reader { text: text.as_bytes(), at: 0, is_over: false }.value(0)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    /// Whether the text ended, or is no JSON from here on; then nothing more is read.
    is_over: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let byte = self.text.get(self.at).copied();
        self.is_over |= byte.is_none();
        byte
    }

    fn takes(&mut self, wanted: u8) -> bool {
        let found = self.next() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            self.is_over = true;
            return None;
        }
        match self.next()? {
            b'{' => Some(Value::Object(self.object(depth))),
            b'[' => Some(Value::Array(self.array(depth))),
            b'"' => self.string().map(Value::String),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut object = Map::new();
        self.at += 1;
        if self.takes(b'}') {
            return object;
        }
        while let Some((name, value)) = self.member(depth) {
            object.insert(name, value);
            if self.is_over || self.takes(b'}') {
                return object;
            }
            if !self.takes(b',') {
                break;
            }
        }
        self.is_over = true;
        object
    }

    fn member(&mut self, depth: usize) -> Option<(String, Value)> {
        if self.next()? != b'"' {
            return None;
        }
        let name = self.string()?;
        if self.is_over || !self.takes(b':') {
            return None;
        }
        Some((name, self.value(depth + 1)?))
    }

    fn array(&mut self, depth: usize) -> Vec<Value> {
        let mut array = Vec::new();
        self.at += 1;
        if self.takes(b']') {
            return array;
        }
        while let Some(value) = self.value(depth + 1) {
            array.push(value);
            if self.is_over || self.takes(b']') {
                return array;
            }
            if !self.takes(b',') {
                break;
            }
        }
        self.is_over = true;
        array
    }

    /// Reads a string, cut off where the text ends.
    fn string(&mut self) -> Option<String> {
        let from = self.at;
        self.at += 1;
        loop {
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return serde_json::from_slice(&self.text[from..self.at]).ok();
                }
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => break,
            }
        }
        self.is_over = true;
        // The end may be within an escape or within a pair of them: at most `\ud83d\ude0` is left out.
        let whole = self.text.len();
        (0..=12).find_map(|cut| {
            let end = whole.checked_sub(cut).filter(|end| *end > from)?;
            let closed = [&self.text[from..end], b"\""].concat();
            serde_json::from_slice(&closed).ok()
        })
    }

    /// Reads a number or a name; one at the very end may go on, unless it is a whole name.
    fn scalar(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        let length = rest.iter().take_while(|byte| goes_on(byte)).count();
        let word = &rest[..length];
        self.at += length;
        self.is_over |= length == rest.len() || length == 0;
        let is_number = word.first().is_some_and(|byte| !byte.is_ascii_alphabetic());
        let value = serde_json::from_slice(word).ok().filter(|_| !(self.is_over && is_number));
        self.is_over |= value.is_none();
        value
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
            assert_eq!(grown(text), value, "{text}");
        }
        assert!(grown(&"[".repeat(100_000)).is_some(), "a deep text does not overflow the stack");
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
                prop_assert_eq!(grown(&text), Some(wrapped.clone()));
                let end = (0..=cut.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
                let part = grown(&text[..end]);
                prop_assert!(part.is_none_or(|part| part.is_object()));
            }
        }
    }
}
