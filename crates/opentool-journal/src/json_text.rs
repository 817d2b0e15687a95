//! JSON as text, member by member: a detour over values would round large numbers.

use std::borrow::Cow;
use std::fmt;

use opentool_core::spec::json::{Lexer, MAX_DEPTH, quoted};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of an object, in order.
struct Members<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

/// A name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// A value, one level of it.
pub(crate) enum Layer<'t> {
    Object(Vec<(Cow<'t, str>, &'t str)>),
    Array(Vec<&'t str>),
    Text(Cow<'t, str>),
    /// A number, `true`, `false` or `null`.
    Word(&'t str),
}

/// Reads one level of a value; none where the text is no JSON.
pub(crate) fn layer(json: &str) -> Option<Layer<'_>> {
    let json = json.trim();
    match json.as_bytes().first()? {
        b'{' => {
            let Members(members) = serde_json::from_str(json).ok()?;
            Some(Layer::Object(members.into_iter().map(|(name, value)| (name, value.get())).collect()))
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            Some(Layer::Array(items.into_iter().map(RawValue::get).collect()))
        }
        b'"' => {
            let mut lexer = Lexer::new(json);
            let text = lexer.string().ok()?.decode();
            lexer.expect_end().ok()?;
            Some(Layer::Text(text))
        }
        _ => serde_json::from_str::<&RawValue>(json).ok().map(|word| Layer::Word(word.get())),
    }
}

/// Says whether a text is an object or an array of JSON.
pub(crate) fn is_nested(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Writes an object of members, whose values are JSON already.
pub(crate) fn write_object<'t>(members: impl IntoIterator<Item = (Cow<'t, str>, String)>) -> String {
    let members = members.into_iter().map(|(name, value)| format!("{}:{value}", quoted(&name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Writes an array of items that are JSON already.
pub(crate) fn write_array(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

/// How deep values are read; checked arguments are no deeper.
pub(crate) const MAX_LAYERS: usize = MAX_DEPTH + 1;

/// Changes every text in a JSON text, the names of members among them. What is nested too deep stays as it is.
pub(crate) fn map_texts(json: &str, depth: usize, change: &mut dyn FnMut(&str, Part) -> Option<String>) -> String {
    let Some(depth) = depth.checked_sub(1) else { return json.to_owned() };
    match layer(json) {
        Some(Layer::Object(members)) => write_object(members.into_iter().map(|(name, value)| {
            let name = change(&name, Part::Text).map_or(name, Cow::Owned);
            (name, map_texts(value, depth, change))
        })),
        Some(Layer::Array(items)) => write_array(items.into_iter().map(|item| map_texts(item, depth, change))),
        Some(Layer::Text(text)) => {
            change(&text, Part::Text).map_or_else(|| json.to_owned(), |changed| quoted(&changed))
        }
        Some(Layer::Word(word)) => change(word, Part::Word).unwrap_or_else(|| json.to_owned()),
        None => json.to_owned(),
    }
}

/// What is changed: the content of a text, or another word as it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Text,
    Word,
}
