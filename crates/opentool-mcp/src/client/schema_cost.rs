//! How much work a server's schema can cause: [`check_cost`].

use std::collections::HashMap;

use serde_json::Value;

/// How many schemas one value may have to fit.
const MAX_SCHEMAS: u64 = 10_000;

/// How many schemas may stand within each other, references followed.
const MAX_DEPTH: usize = 128;

/// Keywords whose schema, or schemas, hold for the same value.
const SAME_VALUE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
const SAME_VALUE_BY_NAME: &str = "dependentSchemas";
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
const ANCHORS: [&str; 2] = ["$anchor", "$dynamicAnchor"];

/// Refuses a schema by which the check of one small value takes for ever: a few references that each lead to two others are
/// millions of schemas for the same value, and a reference to itself never ends.
pub(crate) fn check_cost(schema: &Value) -> Result<(), &'static str> {
    let mut costs = Costs { root: schema, anchors: HashMap::new(), ids: HashMap::new(), known: HashMap::new() };
    costs.collect(schema);
    costs.check_all(schema)
}

struct Costs<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    ids: HashMap<&'a str, &'a Value>,
    /// The cost of each schema by its address; none while it is computed.
    known: HashMap<*const Value, Option<u64>>,
}

impl<'a> Costs<'a> {
    /// Finds what references can lead to by name.
    fn collect(&mut self, value: &'a Value) {
        match value {
            Value::Object(members) => {
                for anchor in ANCHORS.iter().filter_map(|key| members.get(*key)?.as_str()) {
                    self.anchors.insert(anchor, value);
                }
                if let Some(id) = members.get("$id").and_then(Value::as_str) {
                    self.ids.insert(id.trim_end_matches('#'), value);
                }
                members.values().for_each(|member| self.collect(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item)),
            _ => {}
        }
    }

    /// Checks everything that may be a schema.
    fn check_all(&mut self, value: &'a Value) -> Result<(), &'static str> {
        match value {
            Value::Object(members) => {
                self.cost(value, 0)?;
                members.values().try_for_each(|member| self.check_all(member))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.check_all(item)),
            _ => Ok(()),
        }
    }

    /// How many schemas a value has to fit that has to fit this one.
    fn cost(&mut self, schema: &'a Value, depth: usize) -> Result<u64, &'static str> {
        let Value::Object(members) = schema else { return Ok(1) };
        if depth > MAX_DEPTH {
            return Err("its schema has too many schemas within each other");
        }
        match self.known.insert(schema, None) {
            Some(None) => return Err("its schema leads back to itself for the same value"),
            Some(Some(cost)) => {
                self.known.insert(schema, Some(cost));
                return Ok(cost);
            }
            None => {}
        }
        let mut cost = 1_u64;
        let in_place = SAME_VALUE.iter().filter_map(|key| members.get(*key)).flat_map(|value| match value {
            Value::Array(schemas) => schemas.iter().collect(),
            schema => vec![schema],
        });
        let by_name = members.get(SAME_VALUE_BY_NAME).and_then(Value::as_object);
        for schema in in_place.chain(by_name.into_iter().flat_map(|schemas| schemas.values())) {
            cost = cost.saturating_add(self.cost(schema, depth + 1)?);
        }
        for reference in REFERENCES.iter().filter_map(|key| members.get(*key)?.as_str()) {
            // What leads nowhere is refused where the schema is compiled.
            if let Some(schema) = self.find(reference) {
                cost = cost.saturating_add(self.cost(schema, depth + 1)?);
            }
        }
        if cost > MAX_SCHEMAS {
            return Err("its schema multiplies: one value would have to fit more than 10,000 schemas");
        }
        self.known.insert(schema, Some(cost));
        Ok(cost)
    }

    fn find(&self, reference: &str) -> Option<&'a Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base =
            if base.is_empty() { self.root } else { self.ids.get(base).copied().or_else(|| self.id_ending(base))? };
        match fragment {
            "" => Some(base),
            pointer if pointer.starts_with('/') => base.pointer(&decoded(pointer)),
            anchor => self.anchors.get(anchor).copied(),
        }
    }

    /// The schema whose id ends with a relative reference.
    fn id_ending(&self, base: &str) -> Option<&'a Value> {
        let base = base.trim_start_matches(['.', '/']);
        self.ids.iter().find(|(id, _)| id.ends_with(base)).map(|(_, schema)| *schema)
    }
}

/// A pointer in a reference may be percent-encoded.
fn decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_that_multiply_or_go_round_are_refused() {
        let doubling = |reference: fn(usize) -> Value, named: fn(usize) -> Value| {
            let mut levels = serde_json::Map::new();
            for level in 0..40 {
                let (next, mut name) = (reference(level + 1), named(level));
                name["allOf"] = json!([next, next]);
                levels.insert(format!("l{level}"), name);
            }
            levels.insert("l40".to_owned(), named(40));
            json!({ "properties": { "a": reference(0) }, "$defs": levels })
        };
        let by_pointer = doubling(|level| json!({ "$ref": format!("#/%24defs/l{level}") }), |_| json!({}));
        let by_anchor = doubling(
            |level| json!({ "$dynamicRef": format!("#a{level}") }),
            |level| json!({ "$dynamicAnchor": format!("a{level}") }),
        );
        let by_id = doubling(
            |level| json!({ "$ref": format!("./s{level}.json") }),
            |level| json!({ "$id": format!("https://a.example/s{level}.json") }),
        );
        for schema in [by_pointer, by_anchor, by_id] {
            assert!(check_cost(&schema).is_err_and(|reason| reason.contains("multiplies")), "{schema}");
        }
        for schema in
            [json!({ "$ref": "#" }), json!({ "allOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "$ref": "#" } } })]
        {
            assert!(check_cost(&schema).is_err_and(|reason| reason.contains("leads back to itself")), "{schema}");
        }
        let deep = (0..200).fold(json!({}), |inner, _| json!({ "not": inner }));
        assert!(check_cost(&deep).is_err());
    }

    #[test]
    fn schemas_of_trees_are_fine() {
        let node = json!({ "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/node" }] });
        let tree = json!({ "type": "object", "properties": { "left": { "$ref": "#" }, "root": { "$ref": "#/$defs/node" } },
            "$defs": { "node": { "type": "object", "properties": { "children": { "type": "array", "items": node } } } } });
        assert_eq!(check_cost(&tree), Ok(()));
        // `$ref` is also a name that a property may have.
        assert_eq!(check_cost(&json!({ "properties": { "$ref": { "type": "string" } } })), Ok(()));
    }
}
