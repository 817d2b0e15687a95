//! From a function of a document to JSON Schema.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::depth::MAX_SCHEMA_DEPTH;
use super::dropped::Dropped;
use super::error::NormaliseError;
use super::keyword::{self, Holds};
use super::losses::Losses;
use super::normalise::{normalise, normalise_output};
use super::{depth, nullable};
use crate::json::pointer;
use crate::model::{Function, OpenTool, Schema, SchemaType};
use crate::reference::{SchemaPath, SchemaRoot};
use crate::strict::typed;

impl OpenTool {
    /// Writes the parameters of a function of this document as a JSON Schema in the form of
    /// [`normalise`](crate::schema::normalise()).
    ///
    /// The schemas of the document that the parameters refer to, directly or through each other, are in `$defs`.
    /// Unknown keys of a schema, such as `minimum` or `format`, are carried over; allowed values are typed like the
    /// schema's type; a parameter's description overrides that of its schema; what is
    /// `x-nullable` is a union with null.
    ///
    /// ```
    /// use opentool_spec::{Function, Info, OpenTool, Parameter, Schema};
    ///
    /// let document = OpenTool::new(Info::new("Calculator", "1.0.0")).function(
    ///     Function::new("add", "Add two integers.")
    ///         .parameter(Parameter::new("a", Schema::integer()).described("The first."))
    ///         .parameter(Parameter::new("b", Schema::integer()).optional()),
    /// );
    /// assert_eq!(
    ///     document.input_schema(&document.functions[0])?.to_string(),
    ///     r#"{"type":"object","properties":{"a":{"type":"integer","description":"The first."},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#,
    /// );
    /// # Ok::<(), opentool_spec::schema::NormaliseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`NormaliseError::Unresolved`] where the document has no schema for a reference, [`NormaliseError::TooDeep`] where
    /// a schema is nested deeper than [`MAX_SCHEMA_DEPTH`].
    pub fn input_schema(&self, function: &Function) -> Result<Value, NormaliseError> {
        self.input_schema_and_losses(function).map(|(schema, _)| schema)
    }

    /// The same with what the document says and the schema does not.
    pub(super) fn input_schema_and_losses(&self, function: &Function) -> Result<(Value, Vec<Dropped>), NormaliseError> {
        let mut exporter = Exporter::new(self);
        exporter.losses.of_function(function);
        let mut properties = Map::new();
        let mut required = Vec::new();
        for parameter in &function.parameters {
            let outer = exporter.losses.enter("properties");
            let inner = exporter.losses.enter(&parameter.name);
            exporter.losses.of_value(parameter.description.as_deref(), &parameter.schema, &parameter.extra);
            let mut property = exporter.write(&parameter.schema, 0)?;
            exporter.losses.leave(inner);
            exporter.losses.leave(outer);
            describe(&mut property, parameter.description.as_deref());
            if parameter.required {
                required.push(parameter.name.as_str());
            }
            properties.entry(parameter.name.as_str()).or_insert(property);
        }
        let mut schema = json!({ "type": "object", "properties": properties, "required": required });
        let losses = exporter.write_definitions(&mut schema)?;
        keeping_null(&mut schema, normalise)?;
        Ok((schema, losses))
    }

    /// Writes the return value of a function of this document as a JSON Schema; none where it returns nothing.
    ///
    /// # Errors
    ///
    /// As [`OpenTool::input_schema`].
    pub fn output_schema(&self, function: &Function) -> Result<Option<Value>, NormaliseError> {
        Ok(self.output_schema_and_losses(function)?.map(|(schema, _)| schema))
    }

    /// The same with what the document says and the schema does not.
    pub(super) fn output_schema_and_losses(
        &self,
        function: &Function,
    ) -> Result<Option<(Value, Vec<Dropped>)>, NormaliseError> {
        let Some(returns) = &function.returns else { return Ok(None) };
        let mut exporter = Exporter::new(self);
        let mark = exporter.losses.enter("return");
        exporter.losses.of_value(returns.description.as_deref(), &returns.schema, &returns.extra);
        let mut schema = exporter.write(&returns.schema, 0)?;
        exporter.losses.leave(mark);
        describe(&mut schema, returns.description.as_deref());
        let losses = exporter.write_definitions(&mut schema)?;
        keeping_null(&mut schema, normalise_output)?;
        Ok(Some((schema, losses)))
    }
}

/// Normalises a schema of others without taking null out of optional properties: they may mean something by it.
fn keeping_null(
    schema: &mut Value,
    normalise: fn(&mut Value) -> Result<(), NormaliseError>,
) -> Result<(), NormaliseError> {
    depth::check(schema)?;
    nullable::mark(schema);
    normalise(schema)?;
    nullable::unmark(schema);
    Ok(())
}

fn describe(schema: &mut Value, description: Option<&str>) {
    if let Some(description) = description.filter(|description| !description.is_empty()) {
        schema["description"] = description.into();
    }
}

struct Exporter<'a> {
    document: &'a OpenTool,
    /// The schemas of the document that have been referred to, by name, and those of them yet to be written.
    used: HashSet<String>,
    open: Vec<(String, &'a Schema)>,
    losses: Losses,
}

impl<'a> Exporter<'a> {
    fn new(document: &'a OpenTool) -> Self {
        Self { document, used: HashSet::new(), open: Vec::new(), losses: Losses::default() }
    }

    fn write(&mut self, schema: &Schema, depth: usize) -> Result<Value, NormaliseError> {
        if depth > MAX_SCHEMA_DEPTH {
            return Err(NormaliseError::TooDeep { limit: MAX_SCHEMA_DEPTH });
        }
        self.losses.of_schema(schema);
        let mut written = Map::new();
        if let Some(reference) = &schema.reference {
            written.insert("$ref".into(), self.refer(reference)?.into());
        }
        if let Some(kind) = kind_of(schema) {
            written.insert("type".into(), kind.as_str().into());
        }
        if let Some(description) = schema.description.as_deref().filter(|description| !description.is_empty()) {
            written.insert("description".into(), description.into());
        }
        if let Some(values) = &schema.values {
            written.insert(
                "enum".into(),
                values
                    .iter()
                    .map(|value| schema.schema_type.map_or_else(|| value.clone(), |kind| typed(value, kind)))
                    .collect(),
            );
        }
        if let Some(properties) = &schema.properties {
            let mut named = Map::new();
            let outer = self.losses.enter("properties");
            for (name, property) in properties {
                let inner = self.losses.enter(name);
                named.insert(name.clone(), self.write(property, depth + 1)?);
                self.losses.leave(inner);
            }
            self.losses.leave(outer);
            written.insert("properties".into(), named.into());
        }
        if let Some(items) = &schema.items {
            let mark = self.losses.enter("items");
            written.insert("items".into(), self.write(items, depth + 1)?);
            self.losses.leave(mark);
        }
        if let Some(required) = schema.required.as_ref().filter(|required| !required.is_empty()) {
            written.insert("required".into(), required.as_slice().into());
        }
        for (key, value) in &schema.extra {
            if !value.is_null() {
                let mut value = value.clone();
                self.refer_inside(key, &mut value)?;
                written.entry(key.as_str()).or_insert(value);
            }
        }
        Ok(Value::Object(written))
    }

    /// Records the target of a reference, and rewrites the reference.
    fn refer(&mut self, reference: &str) -> Result<String, NormaliseError> {
        let unresolved = || NormaliseError::Unresolved { reference: reference.to_owned() };
        let path = SchemaPath::parse(reference).map_err(|_| unresolved())?;
        let (name, schema, rest) = match path.root {
            SchemaRoot::Named(name) => {
                let schema = self.document.schemas.as_ref().and_then(|schemas| schemas.get(&name));
                (name, schema.ok_or_else(unresolved)?, path.rest)
            }
            // A schema of a function has no name of its own: its path is one.
            SchemaRoot::Parameter(..) | SchemaRoot::Return(_) => (
                reference.trim_start_matches("#/").to_owned(),
                self.document.lookup(reference).map_err(|_| unresolved())?,
                Vec::new(),
            ),
        };
        let mut written = "#/$defs".to_owned();
        pointer::push(&mut written, &name);
        rest.iter().for_each(|step| pointer::push(&mut written, step));
        if self.used.insert(name.clone()) {
            self.open.push((name, schema));
        }
        Ok(written)
    }

    /// Rewrites the references in a keyword that only JSON Schema knows.
    fn refer_inside(&mut self, keyword: &str, value: &mut Value) -> Result<(), NormaliseError> {
        match (keyword::holds(keyword), value) {
            (Holds::Schema | Holds::List, Value::Array(list)) => {
                list.iter_mut().try_for_each(|child| self.refer_inside_schema(child))
            }
            (Holds::Schema, child) => self.refer_inside_schema(child),
            (Holds::Named, Value::Object(named)) => {
                named.values_mut().try_for_each(|child| self.refer_inside_schema(child))
            }
            _ => Ok(()),
        }
    }

    fn refer_inside_schema(&mut self, schema: &mut Value) -> Result<(), NormaliseError> {
        let Value::Object(schema) = schema else { return Ok(()) };
        for (keyword, value) in schema {
            match value {
                Value::String(reference) if keyword == "$ref" => *reference = self.refer(reference)?,
                value => self.refer_inside(keyword, value)?,
            }
        }
        Ok(())
    }

    /// Writes all schemas referred to into `$defs`, and returns what was lost.
    fn write_definitions(mut self, root: &mut Value) -> Result<Vec<Dropped>, NormaliseError> {
        let mut definitions = Map::new();
        let outer = self.losses.enter("$defs");
        while let Some((name, schema)) = self.open.pop() {
            let inner = self.losses.enter(&name);
            definitions.insert(name, self.write(schema, 0)?);
            self.losses.leave(inner);
        }
        self.losses.leave(outer);
        if !definitions.is_empty() {
            root["$defs"] = definitions.into();
        }
        Ok(self.losses.into_dropped())
    }
}

/// The type of a schema, also where only its members show it.
fn kind_of(schema: &Schema) -> Option<SchemaType> {
    schema.schema_type.or_else(|| {
        if schema.reference.is_some() {
            None
        } else if schema.properties.is_some() {
            Some(SchemaType::Object)
        } else if schema.items.is_some() {
            Some(SchemaType::Array)
        } else {
            None
        }
    })
}
