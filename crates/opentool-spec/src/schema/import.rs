//! From JSON Schema to functions of a document.

use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::dropped::{DropLog, Dropped};
use super::error::NormaliseError;
use super::normalise::{normalise, normalise_output};
use super::{depth, keyword, nullable};
use crate::model::{Function, Info, OpenTool, Parameter, Return, Schema, SchemaType};

/// A tool as JSON Schema describes it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SchemaTool<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// What the tool does.
    pub description: &'a str,
    /// The schema of the arguments.
    pub input: &'a Value,
    /// The name of the result and its schema, where there is a result.
    pub output: Option<(&'a str, &'a Value)>,
}

impl<'a> SchemaTool<'a> {
    /// A tool whose result is not described.
    pub fn new(name: &'a str, description: &'a str, input: &'a Value) -> Self {
        Self { name, description, input, output: None }
    }

    /// Names and describes the result.
    #[must_use]
    pub fn output(mut self, name: &'a str, schema: &'a Value) -> Self {
        self.output = Some((name, schema));
        self
    }
}

/// Functions made from JSON Schema, the schemas they refer to, and what could not be kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The functions, one for each tool, in order.
    pub functions: Vec<Function>,
    /// The schemas that the functions refer to, for the document that will hold the functions.
    pub schemas: IndexMap<String, Schema>,
    /// What a document cannot express, with pointers into a document of these functions and schemas.
    pub dropped: Vec<Dropped>,
}

impl Imported {
    /// A document of the functions and the schemas.
    pub fn into_document(self, info: Info) -> OpenTool {
        let mut document = OpenTool::new(info);
        document.functions = self.functions;
        document.schemas = Some(self.schemas).filter(|schemas| !schemas.is_empty());
        document
    }
}

/// Writes tools that JSON Schema describes as functions of one document.
///
/// A document's schema has a type, a description, properties, items, an enum, required names and references; bounds,
/// `pattern`, `format`, `default`, `examples`, `additionalProperties` and `x-…` are carried as unknown keys. Everything else
/// is dropped and reported: of several types the first stays, free JSON becomes an object. A union with null becomes its other
/// branch with `x-nullable: true`. [`OpenTool::input_schema`] is the reverse, exact where nothing was dropped, but for the way in
/// which a union with null is written.
///
/// ```
/// use opentool_spec::schema::{SchemaTool, functions_from_schemas};
///
/// let input = serde_json::json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
/// let imported = functions_from_schemas([SchemaTool::new("weather", "Tell the weather.", &input)])?;
/// assert_eq!(imported.functions[0].parameters[0].name, "city");
/// assert!(imported.dropped.is_empty());
/// # Ok::<(), opentool_spec::schema::NormaliseError>(())
/// ```
///
/// # Errors
///
/// As [`normalise`](super::normalise()), for the first tool whose schemas cannot be used.
pub fn functions_from_schemas<'a>(tools: impl IntoIterator<Item = SchemaTool<'a>>) -> Result<Imported, NormaliseError> {
    let tools: Vec<SchemaTool<'a>> = tools.into_iter().collect();
    let mut whole = put_together(&tools)?;
    let definitions = match whole.as_object_mut().and_then(|whole| whole.shift_remove("$defs")) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut parts = match whole.as_object_mut().and_then(|whole| whole.shift_remove("properties")) {
        Some(Value::Object(parts)) => parts,
        _ => Map::new(),
    };

    let mut dropped = Vec::new();
    let mut references = Vec::new();
    let mut functions = Vec::with_capacity(tools.len());
    for (index, tool) in tools.iter().enumerate() {
        let mut reader = Reader::at(format!("/functions/{index}"));
        let mut function = Function::new(tool.name, tool.description);
        if let Some(Value::Object(input)) = parts.get_mut(&input_part(index)).map(Value::take) {
            function.parameters = reader.parameters(input);
        }
        if let Some((name, _)) = tool.output
            && let Some(output) = parts.get_mut(&output_part(index)).map(Value::take)
            && !nullable::is_null(&output)
        {
            function.returns = Some(reader.returns(name, output));
        }
        dropped.append(&mut reader.report.dropped);
        references.append(&mut reader.references);
        functions.push(function);
    }
    let (schemas, mut dropped_in_schemas) = read_definitions(definitions, references);
    dropped.append(&mut dropped_in_schemas);
    Ok(Imported { functions, schemas, dropped })
}

/// Reads the definitions that are still referred to, which may be fewer than there were, in their order.
fn read_definitions(
    definitions: Map<String, Value>,
    mut open: Vec<String>,
) -> (IndexMap<String, Schema>, Vec<Dropped>) {
    let mut read: Vec<_> = definitions
        .into_iter()
        .map(|(name, definition)| {
            let mut reader = Reader::at("/schemas".to_owned());
            reader.report.enter(&name);
            let schema = reader.schema(definition);
            (name, schema, reader)
        })
        .collect();
    let index: HashMap<String, usize> = read.iter().enumerate().map(|(at, (name, ..))| (name.clone(), at)).collect();
    let mut used = HashSet::new();
    while let Some(name) = open.pop() {
        if let Some(&at) = index.get(&name)
            && used.insert(at)
        {
            open.append(&mut read[at].2.references);
        }
    }
    let mut dropped = Vec::new();
    let mut schemas = IndexMap::new();
    for (at, (name, schema, mut reader)) in read.into_iter().enumerate() {
        if used.contains(&at) {
            dropped.append(&mut reader.report.dropped);
            schemas.insert(name, schema);
        }
    }
    (schemas, dropped)
}

/// One schema with all inputs and outputs as properties, so that their definitions are shared and named together.
fn put_together(tools: &[SchemaTool<'_>]) -> Result<Value, NormaliseError> {
    let mut parts = Map::new();
    for (index, tool) in tools.iter().enumerate() {
        let mut input = nullable_marked(tool.input)?;
        if let Value::Object(root) = &mut input {
            // The arguments as a whole are an object, never null.
            root.shift_remove(Schema::NULLABLE);
        }
        normalise(&mut input)?;
        parts.insert(input_part(index), input);
        if let Some((_, output)) = tool.output {
            let mut output = nullable_marked(output)?;
            normalise_output(&mut output)?;
            parts.insert(output_part(index), output);
        }
    }
    let required: Vec<_> = parts.keys().cloned().collect();
    let mut whole = json!({ "type": "object", "properties": parts, "required": required });
    normalise_output(&mut whole)?;
    Ok(whole)
}

/// A copy that says `x-nullable` instead of a union with null, as documents do.
fn nullable_marked(schema: &Value) -> Result<Value, NormaliseError> {
    depth::check(schema)?;
    let mut marked = schema.clone();
    nullable::mark(&mut marked);
    Ok(marked)
}

fn input_part(index: usize) -> String {
    format!("{index}/input")
}

fn output_part(index: usize) -> String {
    format!("{index}/output")
}

/// The keywords under which a value has several schemas.
const UNIONS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// Reads JSON Schema into the schemas of a document.
struct Reader {
    report: DropLog,
    /// The names of the schemas that were referred to.
    references: Vec<String>,
}

impl Reader {
    fn at(pointer: String) -> Self {
        Self { report: DropLog::at(pointer), references: Vec::new() }
    }

    fn parameters(&mut self, mut input: Map<String, Value>) -> Vec<Parameter> {
        let required = names(input.shift_remove("required"));
        let properties = match input.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        for (keyword, value) in input {
            match (keyword.as_str(), value) {
                ("type", _) | ("additionalProperties", Value::Bool(false)) => {}
                ("additionalProperties", _) => {
                    self.report.drop(&keyword, "a function has the parameters that it names")
                }
                _ => self.report.drop(&keyword, "a function says nothing about its parameters as a whole"),
            }
        }
        let outer = self.report.enter("parameters");
        let parameters = properties
            .into_iter()
            .enumerate()
            .map(|(index, (name, property))| {
                let mark = self.report.enter(&index.to_string());
                let inner = self.report.enter("schema");
                let mut schema = self.schema(property);
                self.report.leave(inner);
                self.report.leave(mark);
                let mut parameter = Parameter::new(name, Schema::default());
                parameter.description = schema.description.take();
                parameter.required = required.contains(&parameter.name);
                parameter.schema = schema;
                parameter
            })
            .collect();
        self.report.leave(outer);
        parameters
    }

    fn returns(&mut self, name: &str, output: Value) -> Return {
        let outer = self.report.enter("return");
        let inner = self.report.enter("schema");
        let mut schema = self.schema(output);
        self.report.leave(inner);
        self.report.leave(outer);
        let mut returns = Return::new(name, Schema::default());
        returns.description = schema.description.take();
        returns.schema = schema;
        returns
    }

    fn schema(&mut self, schema: Value) -> Schema {
        let mut source = match schema {
            Value::Object(source) => source,
            Value::Bool(_) => {
                self.report.drop("false", "no value fits, which a document cannot express; written as an object");
                return Schema::object();
            }
            other => {
                self.report.drop("type", format!("{other} is not a schema; written as an object"));
                return Schema::object();
            }
        };
        let mut schema = Schema { reference: self.reference(&mut source), ..Schema::default() };
        if schema.reference.is_none() {
            schema.schema_type = Some(self.kind(&mut source));
        } else if let Some(kind) = source.shift_remove("type") {
            schema.schema_type = kind.as_str().and_then(SchemaType::from_name);
        }
        if schema.schema_type == Some(SchemaType::Array) {
            schema.items = Some(Box::new(self.items(&mut source)));
        }
        for (keyword, value) in source {
            match (keyword.as_str(), value) {
                ("description", Value::String(description)) => schema.description = Some(description),
                ("enum", Value::Array(values)) => schema.values = self.values(values, schema.schema_type),
                ("properties", Value::Object(properties)) => schema.properties = Some(self.properties(properties)),
                ("required", required) => schema.required = Some(names(Some(required)).into_iter().collect()),
                (_, mut value) if is_carried(&keyword) => {
                    if keyword == "additionalProperties" {
                        self.refer_to_document(&mut value);
                    }
                    schema.extra.insert(keyword, value);
                }
                ("items", _) => self.report.drop(&keyword, "only an array has items"),
                _ => self.report.drop(&keyword, "a document cannot express this"),
            }
        }
        if schema.schema_type == Some(SchemaType::Object) {
            schema.properties.get_or_insert_default();
        }
        schema
    }

    fn reference(&mut self, source: &mut Map<String, Value>) -> Option<String> {
        let reference = source.shift_remove("$ref")?;
        let Some(name) = reference.as_str().and_then(|reference| reference.strip_prefix("#/$defs/")) else {
            self.report.drop("$ref", format!("{reference} is not in the schema"));
            return None;
        };
        self.references.push(name.to_owned());
        Some(format!("#/schemas/{name}"))
    }

    /// The one type of a schema: its own, else that of all its branches, else object.
    fn kind(&mut self, source: &mut Map<String, Value>) -> SchemaType {
        let declared = source.shift_remove("type");
        let several = declared.as_ref().is_some_and(Value::is_array);
        let named = match &declared {
            Some(Value::String(kind)) => SchemaType::from_name(kind),
            Some(Value::Array(kinds)) => kinds.iter().find_map(|kind| kind.as_str().and_then(SchemaType::from_name)),
            _ => None,
        };
        match (named, declared) {
            (Some(kind), Some(declared)) if several => {
                self.report.drop("type", format!("a document has one type, not {declared}; {kind} stays"));
                kind
            }
            (Some(kind), _) => kind,
            (None, Some(declared)) => {
                self.report.drop("type", format!("a document has no type {declared}; written as an object"));
                SchemaType::Object
            }
            (None, None) => kind_of_branches(source).unwrap_or_else(|| {
                let is_union = UNIONS.iter().any(|union| source.contains_key(*union));
                let what = if is_union { "a value of several types" } else { "free JSON" };
                let kind = first_scalar(source).unwrap_or(SchemaType::Object);
                let article = if matches!(kind, SchemaType::Object | SchemaType::Integer) { "an" } else { "a" };
                self.report.drop("type", format!("{what} is written as {article} {kind}"));
                kind
            }),
        }
    }

    fn items(&mut self, source: &mut Map<String, Value>) -> Schema {
        match source.shift_remove("items") {
            Some(items @ Value::Object(_)) => {
                let mark = self.report.enter("items");
                let items = self.schema(items);
                self.report.leave(mark);
                items
            }
            _ => {
                self.report.drop("items", "items of any kind are written as objects");
                Schema::object()
            }
        }
    }

    fn properties(&mut self, properties: Map<String, Value>) -> IndexMap<String, Schema> {
        let outer = self.report.enter("properties");
        let read = properties
            .into_iter()
            .map(|(name, property)| {
                let mark = self.report.enter(&name);
                let schema = self.schema(property);
                self.report.leave(mark);
                (name, schema)
            })
            .collect();
        self.report.leave(outer);
        read
    }

    /// Rewrites the references in a schema that is carried as it is.
    fn refer_to_document(&mut self, schema: &mut Value) {
        let Value::Object(schema) = schema else { return };
        if let Some(reference) = self.reference(schema) {
            schema.insert("$ref".into(), reference.into());
            keyword::order(schema);
        }
        keyword::children_mut(schema, |_, child| self.refer_to_document(child));
    }

    /// The values that fit the type; none where there are none.
    fn values(&mut self, mut values: Vec<Value>, kind: Option<SchemaType>) -> Option<Vec<Value>> {
        let before = values.len();
        values.retain(|value| match kind {
            Some(SchemaType::String) => value.is_string(),
            Some(SchemaType::Boolean) => value.is_boolean(),
            Some(SchemaType::Number) => value.is_number(),
            Some(SchemaType::Integer) => value.is_i64() || value.is_u64(),
            Some(SchemaType::Array | SchemaType::Object) => false,
            None => true,
        });
        if values.len() < before {
            self.report.drop("enum", "values of another type than the schema's are left out");
        }
        (!values.is_empty()).then_some(values)
    }
}

fn names(list: Option<Value>) -> IndexSet<String> {
    match list {
        Some(Value::Array(names)) => names
            .into_iter()
            .filter_map(|name| match name {
                Value::String(name) => Some(name),
                _ => None,
            })
            .collect(),
        _ => IndexSet::new(),
    }
}

/// The type that all branches of a union have.
fn kind_of_branches(source: &Map<String, Value>) -> Option<SchemaType> {
    let branches = UNIONS.iter().find_map(|union| source.get(*union)).and_then(Value::as_array)?;
    let kinds: HashSet<Option<&str>> =
        branches.iter().map(|branch| branch.get("type").and_then(Value::as_str)).collect();
    let mut kinds = kinds.into_iter();
    match (kinds.next(), kinds.next()) {
        (Some(Some(kind)), None) => SchemaType::from_name(kind),
        _ => None,
    }
}

/// The first scalar type of a union in which nothing is an object, so that a client which checks arguments can send some of
/// them at least.
fn first_scalar(source: &Map<String, Value>) -> Option<SchemaType> {
    let branches = ["oneOf", "anyOf"].iter().find_map(|union| source.get(*union)).and_then(Value::as_array)?;
    let kinds: Option<Vec<SchemaType>> = branches
        .iter()
        .map(|branch| SchemaType::from_name(branch.get("type")?.as_str()?).filter(|kind| *kind != SchemaType::Object))
        .collect();
    kinds?.into_iter().find(|kind| *kind != SchemaType::Array)
}

/// Whether a document carries `keyword` as a key that its spec does not know.
fn is_carried(keyword: &str) -> bool {
    matches!(
        keyword,
        "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "minLength"
            | "maxLength"
            | "pattern"
            | "format"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "minProperties"
            | "maxProperties"
            | "additionalProperties"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
    ) || keyword.starts_with("x-")
}
