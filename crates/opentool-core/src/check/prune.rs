//! What is dropped from arguments before they are checked: `null` for what is optional, and
//! arguments that no schema names.
//!
//! Models write `null` where they mean "not given", so a `null` member goes where a schema declares
//! the property, does not require it and does not admit `null`. Only declared `properties` count:
//! a `null` in a map or in a list is data. The schemas that apply to a value are followed through
//! local `$ref`, `allOf`, `anyOf` and `oneOf`. An alternative that the value cannot be meant for has
//! no say: a constant member rules it out (the tag of an enum), or it requires a member that is not
//! there. Nor has a declaration without any condition, where another one has some. Where schemas
//! disagree, the `null` stays and the validator decides.

use std::{borrow::Cow, ops::Range};

use serde_json::Value;

use super::{
    instance,
    schema::{self, MAX_INDIRECTION},
    tree::{Item, ItemKind, Members},
};

/// Removes optional `null` members at every depth and adds their places to `cuts`.
pub(super) fn drop_nulls(root: &mut Item<'_>, document: &Value, cuts: &mut Vec<Range<usize>>) {
    drop_below(root, &[document], document, cuts);
}

/// Removes the root members that `is_known` does not know and adds their places to `cuts`.
pub(super) fn drop_unknown(root: &mut Members<'_>, is_known: impl Fn(&str) -> bool, cuts: &mut Vec<Range<usize>>) {
    root.retain(cuts, |member, _| is_known(&member.name));
}

/// The text without the places to cut.
pub(super) fn cut(text: &str, mut cuts: Vec<Range<usize>>) -> Cow<'_, str> {
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    cuts.sort_unstable_by_key(|cut| cut.start);
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        // Cuts may overlap, in which case there is nothing between them.
        kept.push_str(text.get(from..cut.start).unwrap_or_default());
        from = from.max(cut.end);
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(kept)
}

fn drop_below<'s>(item: &mut Item<'_>, schemas: &[&'s Value], document: &'s Value, cuts: &mut Vec<Range<usize>>) {
    if !matches!(item.kind, ItemKind::Object(_) | ItemKind::Array(_)) {
        return;
    }
    let mut applicable = Vec::new();
    for schema in schemas {
        collect(schema, item, document, &mut applicable, 0);
    }
    if applicable.is_empty() {
        return;
    }
    match &mut item.kind {
        ItemKind::Object(members) => members.retain(cuts, |member, cuts| {
            if matches!(member.value.kind, ItemKind::Null) {
                return !is_droppable(&member.name, &applicable, document);
            }
            let children: Vec<_> =
                applicable.iter().filter_map(|schema| schema::of_member(schema, &member.name)).collect();
            drop_below(&mut member.value, &children, document, cuts);
            true
        }),
        ItemKind::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let children: Vec<_> = applicable.iter().filter_map(|schema| schema::of_item(schema, index)).collect();
                drop_below(item, &children, document, cuts);
            }
        }
        _ => {}
    }
}

/// Collects `schema` and every schema that it applies to the same value.
fn collect<'s>(
    schema: &'s Value,
    item: &Item<'_>,
    document: &'s Value,
    applicable: &mut Vec<&'s Value>,
    indirection: usize,
) {
    let known = applicable.iter().any(|known| std::ptr::eq(*known, schema));
    if known || indirection > MAX_INDIRECTION || (indirection > 0 && is_ruled_out(schema, item)) {
        return;
    }
    applicable.push(schema);
    for part in schema::parts(schema, document) {
        collect(part, item, document, applicable, indirection + 1);
    }
    for alternatives in schema::alternatives(schema) {
        // Where nothing is complete, all of them are asked: the refusal is then not about a `null` that means nothing.
        let complete: Vec<_> =
            alternatives.iter().filter(|schema| !lacks_member(schema, item, document, &mut Vec::new())).collect();
        let asked = if complete.is_empty() { alternatives.iter().collect() } else { complete };
        for alternative in asked {
            collect(alternative, item, document, applicable, indirection + 1);
        }
    }
}

/// Whether a schema requires a member of an object that is not there, or is `null` and must not be.
///
/// Every schema is looked at once, however it refers to itself.
fn lacks_member<'s>(schema: &'s Value, item: &Item<'_>, document: &'s Value, seen: &mut Vec<&'s Value>) -> bool {
    let ItemKind::Object(members) = &item.kind else { return false };
    if seen.len() > MAX_INDIRECTION || seen.iter().any(|seen| std::ptr::eq(*seen, schema)) {
        return false;
    }
    seen.push(schema);
    let lacks = |name: &str| match members.get(name) {
        None => true,
        Some(value) if matches!(value.kind, ItemKind::Null) => {
            schema::property(schema, name).is_some_and(|property| !schema::admits_null(property, document))
        }
        Some(_) => false,
    };
    is_ruled_out(schema, item)
        || schema::required(schema).any(lacks)
        || schema::parts(schema, document).any(|part| lacks_member(part, item, document, seen))
}

/// Whether a schema cannot be meant for an object because a constant that it asks for differs.
fn is_ruled_out(schema: &Value, item: &Item<'_>) -> bool {
    let (ItemKind::Object(members), Some(properties)) =
        (&item.kind, schema.get("properties").and_then(Value::as_object))
    else {
        return false;
    };
    properties.iter().any(|(name, property)| {
        let constant =
            property.get("const").or_else(|| match property.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
                Some([only]) => Some(only),
                _ => None,
            });
        match (constant, members.get(name)) {
            (Some(constant), Some(value)) => !matches!(value.kind, ItemKind::Null) && !instance::equal(value, constant),
            _ => false,
        }
    })
}

fn is_droppable(name: &str, applicable: &[&Value], document: &Value) -> bool {
    if applicable.iter().any(|schema| schema::required(schema).any(|required| required == name)) {
        return false;
    }
    let mut declared = false;
    for property in applicable.iter().filter_map(|schema| schema::property(schema, name)) {
        if schema::is_unconditional(property) {
            continue;
        }
        if schema::admits_null(property, document) {
            return false;
        }
        declared = true;
    }
    declared
}
