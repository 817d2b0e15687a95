//! OpenDyn to OpenTool: the functions of a library as their callers see them.

mod structs;

use std::collections::HashMap;

use serde_json::{Value, json};

use self::structs::StructSchemas;
use crate::{
    map::Map,
    model::{
        CTypeName, DynFunction, DynParameter, DynSchema, Function, Info, OpenDyn, OpenTool, Parameter, Return, Schema,
        SchemaType,
    },
};

/// A schema that is referred to is copied for each reference. Descriptions and other texts are copied only up to
/// this many bytes, so that many references to a long text do not blow up the document.
const LARGEST_COPY: usize = 1024;
/// Keys that say how a value crosses the boundary, which callers need not know.
const OF_THE_BOUNDARY: [&str; 13] = [
    "x-callback",
    "x-userData",
    "x-events",
    "x-values",
    "x-flags",
    "x-struct",
    "x-field",
    "x-offset",
    "x-lengthField",
    "x-when",
    "x-indirect",
    "x-byValue",
    "x-review",
];
/// A table of codes is repeated for each function, up to this many bytes.
const LARGEST_TABLE: usize = 2048;

impl OpenDyn {
    /// The same functions as their callers see them: without C types and the calling convention.
    ///
    /// Inputs are parameters. An output is part of the result, together with the return value; an output that is a
    /// number or boolean is also an optional parameter, its initial value. A function that
    /// returns an integer has the table of codes appended to its description. References are resolved, and keys that
    /// the spec does not know, such as `x-handle`, are kept.
    ///
    /// ```
    /// use opentool_spec::{CType, CTypeName, DynFunction, DynInfo, DynParameter, DynReturn, DynSchema, OpenDyn, SchemaType};
    ///
    /// let number = DynSchema::new(SchemaType::Number, CType::value(CTypeName::Double));
    /// let exponent = DynSchema::new(SchemaType::Integer, CType::pointer(CTypeName::Int));
    /// let document = OpenDyn::new(DynInfo::new("libm", "1.0.0")).function(
    ///     DynFunction::new("frexp", "Split a number into fraction and exponent.")
    ///         .parameter(DynParameter::new("x", number.clone()))
    ///         .parameter(DynParameter::new("exponent", exponent).out())
    ///         .returning(DynReturn::new("fraction", number)),
    /// );
    /// let frexp = &document.to_opentool().functions[0];
    /// assert_eq!(frexp.parameters[0].name, "x");
    /// assert!(!frexp.parameters[1].required); // the exponent's initial value
    /// let result = &frexp.returns.as_ref().unwrap().schema;
    /// assert_eq!(result.required.as_ref().unwrap(), &["fraction", "exponent"]);
    /// ```
    pub fn to_opentool(&self) -> OpenTool {
        let mut info = Info::new(&self.info.title, &self.info.version);
        info.description.clone_from(&self.info.description);
        info.extra.clone_from(&self.info.extra);
        let mut document = OpenTool::new(info);
        document.extra.clone_from(&self.extra);
        let structs = StructSchemas::new(self);
        let mut view = View { document: self, ends: HashMap::new(), codes: code_table(self), structs };
        document.functions = self.functions.iter().map(|function| view.function(function)).collect();
        document
    }
}

/// A document as callers see it.
struct View<'a> {
    document: &'a OpenDyn,
    /// Where references end; none where they lead nowhere, or while they are being followed.
    ends: HashMap<&'a str, Option<&'a DynSchema>>,
    /// The table of codes, as a text to follow a description.
    codes: String,
    structs: StructSchemas<'a>,
}

impl<'a> View<'a> {
    fn function(&mut self, function: &'a DynFunction) -> Function {
        let mut seen = Function::new(&function.name, &function.description);
        let returned = function.returns.as_ref().and_then(|returns| self.end(&returns.schema).schema_type);
        if returned == Some(SchemaType::Integer) {
            seen.description.push_str(&self.codes);
        }
        seen.parameters = function.parameters.iter().filter_map(|parameter| self.parameter(parameter)).collect();
        seen.returns = self.result(function);
        seen.extra.clone_from(&function.extra);
        seen
    }

    /// What the caller passes: nothing where the function only writes.
    fn parameter(&mut self, parameter: &'a DynParameter) -> Option<Parameter> {
        if is_set(&parameter.extra, "x-userData") {
            return None;
        }
        let mut seen = Parameter::new(&parameter.name, self.schema(&parameter.schema));
        seen.description.clone_from(&parameter.description);
        seen.required = parameter.required;
        if !parameter.is_in {
            let scalar =
                matches!(seen.schema.schema_type, Some(SchemaType::Boolean | SchemaType::Integer | SchemaType::Number));
            if !scalar || ["x-handle", "x-field"].iter().any(|key| parameter.extra.contains_key(*key)) {
                return None;
            }
            seen.required = false;
            let initial = "Initial value of this output; zero if left out.";
            seen.description = Some(match &parameter.description {
                Some(description) => format!("{description} {initial}"),
                None => initial.to_owned(),
            });
        }
        let values = parameter.extra.get("x-values").or(seen.schema.extra.get("x-values")).cloned();
        if let Some(Value::Object(values)) = values {
            let flags = is_set(&parameter.extra, "x-flags") || is_set(&seen.schema.extra, "x-flags");
            seen.schema = named_values(seen.schema, &values, flags);
        }
        seen.extra.clone_from(&parameter.extra);
        seen.schema.extra.retain(|key, _| !OF_THE_BOUNDARY.contains(&key.as_str()));
        Some(seen)
    }

    /// What the caller gets: a single value by its name, several as one object.
    fn result(&mut self, function: &'a DynFunction) -> Option<Return> {
        let mut results = Vec::new();
        if let Some(returns) = function.returns.as_ref().filter(|returns| !self.is_void(&returns.schema)) {
            results.push(self.output(&returns.name, &returns.description, &returns.schema, &returns.extra));
        }
        for parameter in function.parameters.iter().filter(|parameter| goes_out(parameter)) {
            let DynParameter { name, description, schema, extra, .. } = parameter;
            results.push(self.output(name, description, schema, extra));
        }
        if results.len() < 2 {
            return results.pop();
        }
        let mut all = Schema::object();
        for result in results {
            let mut schema = result.schema;
            schema.description = result.description.or(schema.description);
            schema.extra.extend(result.extra);
            all = all.property(result.name, schema);
        }
        Some(Return::new("result", all))
    }

    fn output(&mut self, name: &str, description: &Option<String>, schema: &'a DynSchema, extra: &Map) -> Return {
        let mut seen = Return::new(name, self.schema(schema));
        seen.description.clone_from(description);
        if let Some(callback) = extra.get("x-callback") {
            seen.schema = structs::of_callback(callback);
        } else if extra.contains_key("x-events") {
            seen.schema = Schema::array(Schema::object());
        }
        let values = extra.get("x-values").or(seen.schema.extra.get("x-values"));
        if let Some(Value::Object(values)) = values {
            seen.description = Some(described_values(seen.description.as_deref(), values));
        }
        seen.extra.clone_from(extra);
        for keys in [&mut seen.extra, &mut seen.schema.extra] {
            keys.retain(|key, _| !OF_THE_BOUNDARY.contains(&key.as_str()));
        }
        seen
    }

    /// The end of a schema's references; itself where they lead nowhere.
    fn end(&mut self, schema: &'a DynSchema) -> &'a DynSchema {
        let mut path = Vec::new();
        let mut at = schema;
        let end = loop {
            let Some(reference) = &at.reference else { break Some(at) };
            if let Some(known) = self.ends.get(reference.as_str()) {
                break *known;
            }
            self.ends.insert(reference, None);
            path.push(reference);
            match self.document.lookup(reference) {
                Ok(next) => at = next,
                Err(_) => break None,
            }
        };
        for reference in path {
            self.ends.insert(reference, end);
        }
        end.unwrap_or(schema)
    }

    fn is_void(&mut self, schema: &'a DynSchema) -> bool {
        let c_type = self.end(schema).c_type.as_ref();
        c_type.is_some_and(|c_type| c_type.name == CTypeName::Void && !c_type.is_pointer)
    }

    fn schema(&mut self, schema: &'a DynSchema) -> Schema {
        let end = self.end(schema);
        if let Some(seen) = self.structs.schema(end) {
            return seen;
        }
        let mut seen = if schema.reference.is_none() || is_small(end) { words_of(end) } else { Schema::default() };
        seen.schema_type = end.schema_type;
        if schema.reference.is_some() && schema.description.is_some() {
            seen.description.clone_from(&schema.description);
        }
        if end.schema_type == Some(SchemaType::Array) && seen.items.is_none() {
            let element = end.c_type.as_ref().map_or(SchemaType::Number, |c_type| element_of(c_type.name));
            seen.items = Some(Box::new(Schema::new(element)));
        }
        seen
    }
}

/// Whether a flag of ours is set.
fn is_set(keys: &Map, key: &str) -> bool {
    keys.get(key) == Some(&Value::Bool(true))
}

/// Whether a parameter is part of the result. What a callback of a handle records comes with `x-events`.
fn goes_out(parameter: &DynParameter) -> bool {
    let is_kept = parameter.extra.contains_key("x-callback") && parameter.extra.contains_key("x-keep");
    (!parameter.is_in && !is_kept) || is_set(&parameter.extra, "x-inOut")
}

/// An integer, or the name of one; of flags also a list.
fn named_values(integer: Schema, values: &Map, flags: bool) -> Schema {
    let names: Vec<&String> = values.keys().collect();
    let mut choices = vec![json!({ "type": "integer" }), json!({ "type": "string", "enum": names })];
    if flags {
        choices.push(json!({ "type": "array", "items": { "anyOf": choices.clone() } }));
    }
    let mut seen = Schema { description: integer.description, extra: integer.extra, ..Schema::default() };
    seen.extra.insert("anyOf".to_owned(), choices.into());
    seen
}

/// A description, with the names of the values behind it.
fn described_values(description: Option<&str>, values: &Map) -> String {
    let mut text = description.map_or_else(String::new, |description| format!("{description} "));
    for (index, (name, value)) in values.iter().enumerate() {
        if text.len() + name.len() > LARGEST_COPY {
            text.push_str(&format!(", … ({} more)", values.len() - index));
            break;
        }
        let comma = if index > 0 { ", " } else { "" };
        text.push_str(&format!("{comma}{name} = {value}"));
    }
    text
}

/// What the codes of a document mean, as a text to follow a description.
fn code_table(document: &OpenDyn) -> String {
    let mut table = String::new();
    let Some(codes) = document.code.as_ref().filter(|codes| !codes.is_empty()) else { return table };
    table.push_str("\n\nCodes:");
    for (index, (code, meaning)) in codes.iter().enumerate() {
        if table.len() + code.len() + meaning.len() > LARGEST_TABLE {
            table.push_str(&format!("\n… and {} more", codes.len() - index));
            break;
        }
        table.push_str(&format!("\n{code}: {meaning}"));
    }
    table
}

/// Everything of a schema but its types.
fn words_of(schema: &DynSchema) -> Schema {
    const KNOWN: [&str; 4] = ["properties", "items", "enum", "required"];
    let (known, unknown): (Map, Map) =
        schema.extra.clone().into_iter().partition(|(key, _)| KNOWN.contains(&key.as_str()));
    // OpenTool has typed fields for these keys, OpenDyn has not.
    let mut seen: Schema = serde_json::from_value(Value::Object(known)).unwrap_or_default();
    seen.description.clone_from(&schema.description);
    seen.extra = unknown;
    seen
}

/// Whether a schema is small enough to be copied wherever it is referred to.
fn is_small(schema: &DynSchema) -> bool {
    fn spend(value: &Value, left: &mut usize) -> bool {
        let own = match value {
            Value::String(text) => text.len(),
            Value::Object(map) => map.keys().take(*left).map(String::len).sum(),
            _ => 0,
        };
        match left.checked_sub(own + 8) {
            Some(rest) => *left = rest,
            None => return false,
        }
        match value {
            Value::Array(list) => list.iter().all(|value| spend(value, left)),
            Value::Object(map) => map.values().all(|value| spend(value, left)),
            _ => true,
        }
    }
    let words = schema.description.as_ref().map_or(0, String::len);
    let Some(mut left) = LARGEST_COPY.checked_sub(words) else { return false };
    schema.extra.iter().all(|(key, value)| {
        left = left.saturating_sub(key.len());
        spend(value, &mut left)
    })
}

/// What the caller sees of an array's elements.
fn element_of(name: CTypeName) -> SchemaType {
    match name {
        CTypeName::Bool => SchemaType::Boolean,
        CTypeName::Float | CTypeName::Double => SchemaType::Number,
        _ => SchemaType::Integer,
    }
}

#[cfg(test)]
mod tests;
