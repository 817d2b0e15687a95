//! Structs and callbacks as their callers see them.

use serde_json::Value;

use crate::{
    map::Map,
    model::{CTypeName, DynSchema, OpenDyn, Schema, SchemaType},
};

/// How deep structs may lie within structs.
const DEEPEST: usize = 10;
/// How many fields are written out, for all values of a document.
const MOST_FIELDS: usize = 65_536;

/// Writes the schemas of structs, within a budget.
pub(super) struct StructSchemas<'a> {
    document: &'a OpenDyn,
    left: usize,
}

impl<'a> StructSchemas<'a> {
    pub(super) fn new(document: &'a OpenDyn) -> Self {
        StructSchemas { document, left: MOST_FIELDS }
    }

    /// The schema of a struct or of an array of structs; none for anything else.
    pub(super) fn schema(&mut self, schema: &'a DynSchema) -> Option<Schema> {
        let mut seen = if schema.extra.contains_key("x-struct") {
            self.object(&schema.extra, 0)
        } else if schema.schema_type == Some(SchemaType::Array) && schema.c_type.is_none() {
            let reference = schema.extra.get("items")?.get("$ref")?.as_str()?;
            let element = self.document.resolve(reference).ok()?;
            let mut seen = Schema::array(self.schema_of(element, 0));
            // A function that reads a fixed number of structs must not be given fewer.
            let bounds = ["minItems", "maxItems"].into_iter();
            seen.extra.extend(bounds.filter_map(|key| Some((key.to_owned(), schema.extra.get(key)?.clone()))));
            seen
        } else {
            return None;
        };
        seen.description.clone_from(&schema.description);
        Some(seen)
    }

    fn schema_of(&mut self, schema: &'a DynSchema, depth: usize) -> Schema {
        let mut seen = if schema.extra.contains_key("x-struct") {
            self.object(&schema.extra, depth)
        } else {
            let name = schema.c_type.as_ref().map(|c_type| c_type.name);
            self.value(schema.schema_type, name, &schema.extra, depth)
        };
        seen.description.clone_from(&schema.description);
        seen
    }

    fn object(&mut self, schema: &'a Map, depth: usize) -> Schema {
        let mut seen = Schema::object();
        let Some(Value::Object(properties)) = schema.get("properties").filter(|_| depth <= DEEPEST) else {
            return seen;
        };
        for (name, property) in properties {
            let Some(left) = self.left.checked_sub(1) else { break };
            self.left = left;
            seen = seen.property(name.as_str(), self.field(property, depth));
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &&String| required.is_some_and(|all| all.iter().any(|other| other == *name));
        seen.required = Some(properties.keys().filter(is_required).cloned().collect());
        seen
    }

    fn field(&mut self, field: &'a Value, depth: usize) -> Schema {
        let Value::Object(map) = field else { return Schema::default() };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            return match self.document.resolve(reference) {
                Ok(schema) => self.schema_of(schema, depth + 1),
                Err(_) => Schema::default(),
            };
        }
        let mut seen = if map.contains_key("x-struct") {
            self.object(map, depth + 1)
        } else {
            let named = |key: &str| map.get(key).and_then(Value::as_str);
            let schema_type =
                named("type").and_then(|name| SchemaType::from_name(name).or_else(|| SchemaType::from_alias(name)));
            let c_type = map.get("cType").and_then(|c_type| c_type.get("type")).and_then(Value::as_str);
            self.value(schema_type, c_type.and_then(CTypeName::from_name), map, depth)
        };
        seen.description = map.get("description").and_then(Value::as_str).map(str::to_owned);
        seen
    }

    fn value(
        &mut self,
        schema_type: Option<SchemaType>,
        name: Option<CTypeName>,
        keys: &'a Map,
        depth: usize,
    ) -> Schema {
        if schema_type != Some(SchemaType::Array) {
            return schema_type.map_or_else(Schema::default, Schema::new);
        }
        let element = match (name, keys.get("items")) {
            (None, Some(items)) if depth <= DEEPEST => self.field(items, depth + 1),
            (name, _) => Schema::new(name.map_or(SchemaType::Number, visible_type)),
        };
        let mut seen = Schema::array(element);
        seen.extra.extend(keys.get("maxItems").map(|most| ("maxItems".to_owned(), most.clone())));
        seen
    }
}

/// What a callback collects: an array of its arguments by name.
pub(super) fn of_callback(callback: &Value) -> Schema {
    let mut object = Schema::object();
    let user_data = callback.get("userData").and_then(Value::as_u64);
    let parameters = callback.get("parameters").and_then(Value::as_array);
    for (index, parameter) in parameters.into_iter().flatten().enumerate() {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let Some(name) = text(parameter.get("name")).filter(|_| user_data != Some(index as u64)) else { continue };
        let c_type = parameter.get("cType");
        let c_name = text(c_type.and_then(|c_type| c_type.get("type"))).and_then(|name| CTypeName::from_name(&name));
        let is_pointer = c_type.and_then(|c_type| c_type.get("isPointer")).and_then(Value::as_bool) == Some(true);
        let is_char = matches!(c_name, Some(CTypeName::Char | CTypeName::UnsignedChar));
        let seen = match c_name {
            None | Some(CTypeName::Void) => continue,
            Some(_) if is_char && is_pointer && parameter.get("texts") == Some(&Value::Bool(true)) => {
                Schema::array(Schema::new(SchemaType::String))
            }
            Some(_) if is_char && is_pointer => Schema::new(SchemaType::String),
            Some(name) => Schema::new(visible_type(name)),
        };
        object = object.property(name, seen);
    }
    Schema::array(object)
}

/// The type that callers see of a scalar.
fn visible_type(name: CTypeName) -> SchemaType {
    match name {
        CTypeName::Bool => SchemaType::Boolean,
        CTypeName::Float | CTypeName::Double => SchemaType::Number,
        _ => SchemaType::Integer,
    }
}
