//! How the validator crate sees arguments: its own representation of JSON, so that they need not become a
//! `serde_json::Value` first.

use std::borrow::Cow;

use jsonschema::{
    JsonType,
    json::{Array, Json, JsonNumber, Node, NodeIdentity, Object, cmp},
};
use opentool_spec::json::{Number, Quantity};
use serde_json::Value;

use super::value::{Elements, JsonKind, JsonValue, Members};

/// Of longer values the validator's errors keep nothing: a refusal of ours quotes the text itself.
const MAX_KEPT: usize = 200;

/// The representation: values that are places in a text.
pub(super) struct TextJson;

impl Json for TextJson {
    type Node<'a> = JsonValue<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    // A look-up compares with every member, so one pass over the members is as good.
    const KEYS_PER_LOOKUP: usize = 2;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl for<'a> FnOnce(JsonValue<'a>) -> T) -> T {
        f(JsonValue::Name(string))
    }
}

impl<'a> Node<'a, TextJson> for JsonValue<'a> {
    type Object = ObjectValue<'a>;
    type Array = ArrayValue<'a>;
    type Number = TextNumber<'a>;

    fn as_object(&self) -> Option<ObjectValue<'a>> {
        self.note_step();
        self.is(JsonKind::Object).then_some(ObjectValue(*self))
    }

    fn as_array(&self) -> Option<ArrayValue<'a>> {
        self.note_step();
        self.is(JsonKind::Array).then_some(ArrayValue(*self))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.note_step();
        self.string()
    }

    fn as_number(&self) -> Option<TextNumber<'a>> {
        self.note_step();
        self.number().map(TextNumber)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.boolean()
    }

    fn is_null(&self) -> bool {
        self.is(JsonKind::Null)
    }

    fn is_number(&self) -> bool {
        self.is(JsonKind::Number)
    }

    fn json_type(&self) -> JsonType {
        self.note_step();
        match self.kind() {
            JsonKind::Null => JsonType::Null,
            JsonKind::Bool => JsonType::Boolean,
            JsonKind::Number => JsonType::Number,
            JsonKind::String => JsonType::String,
            JsonKind::Array => JsonType::Array,
            JsonKind::Object => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equal(*self, expected)
    }

    /// The validator asks for this where it has found an error, and keeps it. So it is where errors are counted, and where
    /// one is marked that was found in a part of the text only.
    fn to_value(&self) -> Cow<'a, Value> {
        let JsonValue::Placed { document, .. } = self else { return Cow::Owned(Value::Null) };
        if document.is_cut_short() {
            return Cow::Owned(cut_short());
        }
        document.note_error();
        let text = self.text();
        Cow::Owned(match self.kind() {
            _ if text.len() > MAX_KEPT => Value::Null,
            // As its text: as a value it would take a hundred times as much.
            JsonKind::Array | JsonKind::Object => Value::String(text.to_owned()),
            _ => serde_json::from_str(text).unwrap_or_default(),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(match self {
            Self::Placed { document, start } => document.text().as_ptr() as usize + start,
            Self::Name(name) => name.as_ptr() as usize,
        }))
    }

    /// The validator remembers its result for what has one, in memory of its own. So only some have, and the steps are counted
    /// for the others.
    fn container_identity(&self) -> Option<NodeIdentity> {
        match self {
            Self::Placed { document, start }
                if matches!(self.kind(), JsonKind::Object | JsonKind::Array) && document.may_remember(*start) =>
            {
                self.identity()
            }
            _ => None,
        }
    }
}

/// The value of an error that was found in a part of the text only: longer than any that is kept, so never one of the text.
fn cut_short() -> Value {
    Value::String(" ".repeat(MAX_KEPT + 1))
}

/// Whether an error was found in a part of the text only, and may not be one.
pub(super) fn is_cut_short(error: &jsonschema::ValidationError<'_>) -> bool {
    **error.instance() == cut_short()
}

/// An object as the validator wants it.
pub(super) struct ObjectValue<'a>(JsonValue<'a>);

impl<'a> Object<'a, TextJson> for ObjectValue<'a> {
    type Node = JsonValue<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = NamedMembers<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.members().next().is_none()
    }

    fn get(&self, key: &Box<str>) -> Option<JsonValue<'a>> {
        self.0.note_step().then(|| self.0.get(key)).flatten()
    }

    fn members(&self) -> NamedMembers<'a> {
        NamedMembers(self.0.members())
    }
}

/// The members of an object as the validator wants them.
pub(super) struct NamedMembers<'a>(Members<'a>);

impl<'a> Iterator for NamedMembers<'a> {
    type Item = (Cow<'a, str>, JsonValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let member = self.0.next()?;
        member.value.note_read().then_some((member.name, member.value))
    }
}

/// The elements of an array as the validator wants them.
pub(super) struct NotedElements<'a>(Elements<'a>);

impl<'a> Iterator for NotedElements<'a> {
    type Item = JsonValue<'a>;

    fn next(&mut self) -> Option<JsonValue<'a>> {
        self.0.next().filter(|element| element.note_read())
    }
}

/// An array as the validator wants it.
pub(super) struct ArrayValue<'a>(JsonValue<'a>);

impl<'a> Array<'a, TextJson> for ArrayValue<'a> {
    type Node = JsonValue<'a>;
    type ElementsIter = NotedElements<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> NotedElements<'a> {
        NotedElements(self.0.elements())
    }

    fn is_unique(&self) -> bool {
        self.0.has_unique_elements()
    }
}

/// A number as the validator wants it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextNumber<'a>(Number<'a>);

impl JsonNumber for TextNumber<'_> {
    fn as_u64(&self) -> Option<u64> {
        match self.0.quantity {
            Quantity::Unsigned(integer) => Some(integer),
            _ => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match self.0.quantity {
            Quantity::Unsigned(integer) => i64::try_from(integer).ok(),
            Quantity::Signed(integer) => Some(integer),
            Quantity::Double(_) => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.0.quantity.to_f64())
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self.0.quantity {
            // A fraction too small for the doubles is zero to every reader, so it is here.
            Quantity::Double(0.0) => Cow::Borrowed("0"),
            _ => Cow::Borrowed(self.0.text),
        }
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(to_number(self.0.quantity))
    }

    fn is_integer(&self) -> bool {
        self.0.quantity.is_integer()
    }
}

fn to_number(quantity: Quantity) -> serde_json::Number {
    match quantity {
        Quantity::Unsigned(integer) => integer.into(),
        Quantity::Signed(integer) => integer.into(),
        // Every double here is finite, so the fallback is never taken.
        Quantity::Double(double) => serde_json::Number::from_f64(double).unwrap_or_else(|| 0.into()),
    }
}

/// Equality with a value of the schema, without building a value of our own.
pub(super) fn equal(value: JsonValue<'_>, expected: &Value) -> bool {
    match (value.kind(), expected) {
        (JsonKind::Null, Value::Null) => true,
        (JsonKind::Bool, Value::Bool(right)) => value.boolean() == Some(*right),
        (JsonKind::Number, Value::Number(right)) => {
            value.number().is_some_and(|left| cmp::equal_numbers(&TextNumber(left), right))
        }
        (JsonKind::String, Value::String(right)) => value.string().is_some_and(|left| left == *right),
        (JsonKind::Array, Value::Array(right)) => {
            let mut left = value.elements();
            right.iter().all(|right| left.next().is_some_and(|left| equal(left, right))) && left.next().is_none()
        }
        (JsonKind::Object, Value::Object(right)) => {
            let mut members = 0;
            value.members().all(|member| {
                members += 1;
                right.get(&*member.name).is_some_and(|right| equal(member.value, right))
            }) && members == right.len()
        }
        _ => false,
    }
}
