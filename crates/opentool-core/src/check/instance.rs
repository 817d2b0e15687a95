//! How the validator crate sees an [`ArgumentTree`](super::tree::ArgumentTree): its own representation of JSON, so
//! that arguments need not become a `serde_json::Value` first.

use std::borrow::Cow;

use jsonschema::{
    JsonType,
    json::{Array, Json, JsonNumber, Node, NodeIdentity, Object, cmp},
};
use opentool_spec::json::{Number, Quantity};
use serde_json::Value;

use super::tree::{Item, ItemKind, Member, Members};

/// The representation: JSON text that was parsed to [`Item`]s.
pub(super) struct ItemJson;

impl Json for ItemJson {
    type Node<'a> = &'a Item<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = Item<'static>;

    // A look-up compares with every member, so one pass over the members is as good.
    const KEYS_PER_LOOKUP: usize = 2;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>(buffer: &mut Item<'static>, string: &str, f: impl for<'a> FnOnce(&'a Item<'a>) -> T) -> T {
        buffer.kind = ItemKind::String(Cow::Owned(string.to_owned()));
        f(buffer)
    }
}

impl<'a> Node<'a, ItemJson> for &'a Item<'a> {
    type Object = &'a Members<'a>;
    type Array = &'a [Item<'a>];
    type Number = ItemNumber<'a>;

    fn as_object(&self) -> Option<&'a Members<'a>> {
        match &self.kind {
            ItemKind::Object(members) => Some(members),
            _ => None,
        }
    }

    fn as_array(&self) -> Option<&'a [Item<'a>]> {
        match &self.kind {
            ItemKind::Array(items) => Some(items),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match &self.kind {
            ItemKind::String(string) => Some(Cow::Borrowed(string)),
            _ => None,
        }
    }

    fn as_number(&self) -> Option<ItemNumber<'a>> {
        match self.kind {
            ItemKind::Number(number) => Some(ItemNumber(number)),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.kind {
            ItemKind::Bool(boolean) => Some(boolean),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self.kind, ItemKind::Null)
    }

    fn is_number(&self) -> bool {
        matches!(self.kind, ItemKind::Number(_))
    }

    fn json_type(&self) -> JsonType {
        match self.kind {
            ItemKind::Null => JsonType::Null,
            ItemKind::Bool(_) => JsonType::Boolean,
            ItemKind::Number(_) => JsonType::Number,
            ItemKind::String(_) => JsonType::String,
            ItemKind::Array(_) => JsonType::Array,
            ItemKind::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        equal(self, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(to_value(self))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Item<'_>>(self) as usize))
    }
}

impl<'a> Object<'a, ItemJson> for &'a Members<'a> {
    type Node = &'a Item<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        Members::len(self)
    }

    fn get(&self, key: &Box<str>) -> Option<&'a Item<'a>> {
        Members::get(self, key)
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter(self.iter())
    }
}

/// The members of an object as the validator wants them.
pub(super) struct MembersIter<'a>(std::slice::Iter<'a, Member<'a>>);

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, &'a Item<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|member| (&*member.name, &member.value))
    }
}

impl<'a> Array<'a, ItemJson> for &'a [Item<'a>] {
    type Node = &'a Item<'a>;
    type ElementsIter = std::slice::Iter<'a, Item<'a>>;

    fn len(&self) -> usize {
        <[Item<'_>]>::len(self)
    }

    fn elements(&self) -> std::slice::Iter<'a, Item<'a>> {
        self.iter()
    }
}

/// A number as the validator wants it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemNumber<'a>(Number<'a>);

impl JsonNumber for ItemNumber<'_> {
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

fn to_value(item: &Item<'_>) -> Value {
    match &item.kind {
        ItemKind::Null => Value::Null,
        ItemKind::Bool(boolean) => Value::Bool(*boolean),
        ItemKind::Number(number) => Value::Number(to_number(number.quantity)),
        ItemKind::String(string) => Value::String(string.clone().into_owned()),
        ItemKind::Array(items) => items.iter().map(to_value).collect(),
        ItemKind::Object(members) => {
            members.iter().map(|member| (member.name.clone().into_owned(), to_value(&member.value))).collect()
        }
    }
}

/// Equality with a value of the schema, without building a value of our own.
pub(super) fn equal(item: &Item<'_>, expected: &Value) -> bool {
    match (&item.kind, expected) {
        (ItemKind::Null, Value::Null) => true,
        (ItemKind::Bool(left), Value::Bool(right)) => left == right,
        (ItemKind::Number(left), Value::Number(right)) => cmp::equal_numbers(&ItemNumber(*left), right),
        (ItemKind::String(left), Value::String(right)) => left == right,
        (ItemKind::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (ItemKind::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|member| right.get(&*member.name).is_some_and(|right| equal(&member.value, right)))
        }
        _ => false,
    }
}
