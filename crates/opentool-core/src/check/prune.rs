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

use std::ops::Range;

use serde_json::Value;

use super::{
    instance,
    schema::{self, MAX_INDIRECTION},
    value::{JsonKind, JsonValue},
};

/// What to cut out of arguments: the root members that `is_known` does not know and, where there is any `null`, the optional
/// members at every depth that are `null` and must not be.
pub(super) fn find_cuts(
    root: JsonValue<'_>,
    is_known: &dyn Fn(&str) -> bool,
    has_nulls: bool,
    document: &Value,
) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    if has_nulls {
        drop_below(root, is_known, &[document], document, &mut cuts);
        return cuts;
    }
    let mut dropped = DroppedMembers::default();
    for member in root.members() {
        let stays = is_known(&member.name);
        dropped.note(member.start..member.value.end(), stays, &mut cuts);
    }
    dropped.finish(&mut cuts);
    cuts
}

/// Finds what to cut for the members of an object that do not stay, so that the rest stays JSON: each run of them with the
/// comma after it, and at the end with the comma before it.
#[derive(Default)]
struct DroppedMembers {
    last_kept_end: Option<usize>,
    /// The members since the last one that stays.
    run: Option<Range<usize>>,
}

impl DroppedMembers {
    /// Takes the members in their order.
    fn note(&mut self, place: Range<usize>, stays: bool, cuts: &mut Vec<Range<usize>>) {
        if stays {
            if let Some(run) = self.run.take() {
                cuts.push(run.start..place.start);
            }
            self.last_kept_end = Some(place.end);
        } else {
            let start = self.run.as_ref().map_or(place.start, |run| run.start);
            self.run = Some(start..place.end);
        }
    }

    fn finish(self, cuts: &mut Vec<Range<usize>>) {
        if let Some(run) = self.run {
            cuts.push(self.last_kept_end.unwrap_or(run.start)..run.end);
        }
    }
}

/// What is left of a text between the places to cut.
pub(super) fn kept(text: &str, mut cuts: Vec<Range<usize>>) -> Vec<&str> {
    cuts.sort_unstable_by_key(|cut| cut.start);
    let mut kept = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for cut in cuts {
        // Cuts may overlap, in which case there is nothing between them.
        kept.push(text.get(from..cut.start).unwrap_or_default());
        from = from.max(cut.end);
    }
    kept.push(text.get(from..).unwrap_or_default());
    kept
}

fn drop_below<'s>(
    value: JsonValue<'_>,
    is_known: &dyn Fn(&str) -> bool,
    schemas: &[&'s Value],
    document: &'s Value,
    cuts: &mut Vec<Range<usize>>,
) {
    let kind = value.kind();
    if !matches!(kind, JsonKind::Object | JsonKind::Array) {
        return;
    }
    let mut applicable = Vec::new();
    for schema in schemas {
        collect(schema, value, document, &mut applicable, 0);
    }
    if applicable.is_empty() {
        return;
    }
    if kind == JsonKind::Array {
        for (index, element) in value.elements().enumerate() {
            let children: Vec<_> = applicable.iter().filter_map(|schema| schema::of_item(schema, index)).collect();
            drop_below(element, &|_| true, &children, document, cuts);
        }
        return;
    }
    let mut dropped = DroppedMembers::default();
    for member in value.members() {
        let (is_known, is_null) = (is_known(&member.name), member.value.is(JsonKind::Null));
        let stays = is_known && !(is_null && is_droppable(&member.name, &applicable, document));
        if is_known && !is_null {
            let children: Vec<_> =
                applicable.iter().filter_map(|schema| schema::of_member(schema, &member.name)).collect();
            drop_below(member.value, &|_| true, &children, document, cuts);
        }
        dropped.note(member.start..member.value.end(), stays, cuts);
    }
    dropped.finish(cuts);
}

/// Collects `schema` and every schema that it applies to the same value.
fn collect<'s>(
    schema: &'s Value,
    item: JsonValue<'_>,
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
fn lacks_member<'s>(schema: &'s Value, item: JsonValue<'_>, document: &'s Value, seen: &mut Vec<&'s Value>) -> bool {
    if !item.is(JsonKind::Object) {
        return false;
    }
    if seen.len() > MAX_INDIRECTION || seen.iter().any(|seen| std::ptr::eq(*seen, schema)) {
        return false;
    }
    seen.push(schema);
    let lacks = |name: &str| match item.get(name) {
        None => true,
        Some(value) if value.is(JsonKind::Null) => {
            schema::property(schema, name).is_some_and(|property| !schema::admits_null(property, document))
        }
        Some(_) => false,
    };
    is_ruled_out(schema, item)
        || schema::required(schema).any(lacks)
        || schema::parts(schema, document).any(|part| lacks_member(part, item, document, seen))
}

/// Whether a schema cannot be meant for an object because a constant that it asks for differs.
fn is_ruled_out(schema: &Value, item: JsonValue<'_>) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|_| item.is(JsonKind::Object))
    else {
        return false;
    };
    properties.iter().any(|(name, property)| {
        let constant =
            property.get("const").or_else(|| match property.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
                Some([only]) => Some(only),
                _ => None,
            });
        match constant.and_then(|constant| Some((constant, item.get(name)?))) {
            Some((constant, value)) => !value.is(JsonKind::Null) && !instance::equal(value, constant),
            None => false,
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
