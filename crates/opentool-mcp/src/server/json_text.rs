//! A JSON value as its text: [`JsonText`].

use std::borrow::Cow;

use opentool_spec::json::{JsonString, Lexer};
use serde::ser::{Error, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON value as its text, which was read before: nothing of it is lost, however large a number or deep its nesting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonText<'a>(&'a str);

impl<'a> JsonText<'a> {
    /// Takes a text that is known to be JSON, without white space around it.
    pub(crate) fn known(text: &'a str) -> Self {
        Self(text)
    }

    pub(crate) fn get(self) -> &'a str {
        self.0
    }

    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }

    pub(crate) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Says whether it is a string or an integer, which ids and tokens are.
    pub(crate) fn is_id(self) -> bool {
        match self.0.as_bytes() {
            [b'"', ..] => true,
            number @ [b'-' | b'0'..=b'9', ..] => !number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')),
            _ => false,
        }
    }

    /// Returns the content of a string, borrowed where nothing in it is escaped.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        if self.0.starts_with('"') { Lexer::new(self.0).string().ok().map(JsonString::decode) } else { None }
    }
}

impl Serialize for JsonText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}
