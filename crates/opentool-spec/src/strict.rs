//! The strict form of a document: what `/load` sends, so that old clients can read it.

use indexmap::IndexMap;
use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    map::Map,
    model::{Function, Info, OpenTool, Parameter, Return, Schema, SchemaType, ServerObject, object::Layout},
    reference::schema_reference,
};

/// How many schemas may be produced by inlining references, in one document.
const BUDGET: usize = 100_000;
/// How deep schemas may nest after inlining: each level is two of JSON, and common readers stop at 128.
const DEPTH: usize = 56;

/// A document in its strict form.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StrictDocument {
    /// The document, free of references.
    pub document: OpenTool,
    /// The references that could not be inlined.
    pub cuts: Vec<CutReference>,
}

/// A reference that the strict form replaces by a plain object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutReference {
    /// The reference.
    pub reference: String,
    /// Why it was cut.
    pub reason: CutReason,
}

/// Why a reference was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CutReason {
    /// It is inside the schema it refers to.
    Recursive,
    /// Inlining has produced as much as one document may hold.
    TooLarge,
    /// It is nested too deep.
    TooDeep,
    /// It leads to no schema.
    Unresolved,
    /// It is in a keyword that OpenTool does not have, which is left out.
    Unknown,
}

impl std::fmt::Display for CutReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.reason == CutReason::Unknown {
            return write!(f, "`{}` is in a keyword that OpenTool does not have, which is left out", self.reference);
        }
        let reason = match self.reason {
            CutReason::Recursive => "it contains itself",
            CutReason::TooLarge => "the document would grow too large",
            CutReason::TooDeep => "the document would nest too deep",
            CutReason::Unresolved | CutReason::Unknown => "it leads to no schema",
        };
        write!(f, "`{}` is replaced by a plain object: {reason}", self.reference)
    }
}

impl OpenTool {
    /// The form that every client can read: version 1.1.0, no references, every schema with a type, every object with
    /// properties, every array with items, and allowed values typed like their schema.
    ///
    /// ```
    /// use opentool_spec::{Function, Info, OpenTool, Parameter, Schema};
    ///
    /// let document = OpenTool::new(Info::new("Tree", "1.0.0"))
    ///     .function(Function::new("plant", "Plant.").parameter(Parameter::new("tree", Schema::reference("#/schemas/Tree"))))
    ///     .schema("Tree", Schema::object().property("child", Schema::reference("#/schemas/Tree")));
    /// let strict = document.to_strict();
    /// assert!(!serde_json::to_string(&strict.document).unwrap().contains("$ref"));
    /// assert_eq!(strict.cuts.len(), 2); // in the function, and in `schemas`
    /// ```
    pub fn to_strict(&self) -> StrictDocument {
        let mut inliner = Inliner { source: self, open: Vec::new(), inlining: 0, produced: 0, cuts: Vec::new() };
        let functions = self.functions.iter().map(|function| inliner.function(function)).collect();
        let schemas = self.schemas.as_ref().map(|schemas| {
            let entry = |(name, schema): (&String, &Schema)| {
                // An entry is not inside itself yet, but a reference to it from below is.
                inliner.open.push(schema_reference(name));
                let schema = inliner.schema(schema, 0);
                inliner.open.pop();
                (name.clone(), schema)
            };
            schemas.iter().map(entry).collect()
        });
        let mut extra = reference_free(&self.extra);
        extra.retain(|key, _| !matches!(key.as_str(), "components" | "definitions" | "$defs"));
        let document = OpenTool {
            opentool: OpenTool::VERSION.to_owned(),
            info: Info { layout: Layout::default(), extra: reference_free(&self.info.extra), ..self.info.clone() },
            server: self.server.clone().map(|server| ServerObject {
                layout: Layout::default(),
                extra: reference_free(&server.extra),
                ..server
            }),
            functions,
            schemas,
            extra,
            layout: Layout::default(),
        };
        StrictDocument { document, cuts: inliner.cuts }
    }
}

struct Inliner<'a> {
    source: &'a OpenTool,
    /// The references that are being inlined, outermost first.
    open: Vec<String>,
    /// How many of them are nested, not counting the entry of `schemas` around them.
    inlining: usize,
    /// What inlining has produced: schemas, allowed values, and text by the kilobyte.
    produced: usize,
    cuts: Vec<CutReference>,
}

impl Inliner<'_> {
    fn function(&mut self, function: &Function) -> Function {
        let parameters = function.parameters.iter().map(|parameter| Parameter {
            schema: self.schema(&parameter.schema, 0),
            layout: Layout::default(),
            extra: reference_free(&parameter.extra),
            ..parameter.clone()
        });
        let parameters = parameters.collect();
        let returns = function.returns.as_ref().map(|returns| Return {
            schema: self.schema(&returns.schema, 0),
            layout: Layout::default(),
            extra: reference_free(&returns.extra),
            ..returns.clone()
        });
        Function {
            name: function.name.clone(),
            description: function.description.clone(),
            parameters,
            returns,
            extra: reference_free(&function.extra),
            layout: Layout::default(),
        }
    }

    fn schema(&mut self, schema: &Schema, depth: usize) -> Schema {
        if let Some(reference) = &schema.reference {
            let mut inlined = self.inlined(reference, schema.description.as_deref(), depth);
            self.narrow(&mut inlined, schema, depth);
            return inlined;
        }
        if self.inlining > 0 {
            let text = schema.description.as_ref().map_or(0, String::len) / 1024;
            self.produced += 1 + text + schema.values.as_ref().map_or(0, Vec::len);
            if depth > DEPTH {
                let within = self.open.last().cloned().unwrap_or_default();
                return self.cut(&within, None, CutReason::TooDeep);
            }
        }
        let schema_type = schema.schema_type.unwrap_or_else(|| implied_type(schema));
        let properties = schema.properties.as_ref().map(|properties| {
            let inlined = properties.iter().map(|(name, property)| (name.clone(), self.schema(property, depth + 1)));
            inlined.collect::<IndexMap<_, _>>()
        });
        let items = schema.items.as_ref().map(|items| Box::new(self.schema(items, depth + 1)));
        let known = |name: &&String| properties.as_ref().is_some_and(|properties| properties.contains_key(*name));
        let required = schema.required.as_ref().map(|names| names.iter().filter(known).cloned().collect());
        Schema {
            schema_type: Some(schema_type),
            description: schema.description.clone(),
            properties: if schema_type == SchemaType::Object {
                Some(properties.unwrap_or_default())
            } else {
                properties
            },
            items: items.or_else(|| (schema_type == SchemaType::Array).then(|| Box::new(Schema::string()))),
            values: schema.values.as_ref().map(|values| values.iter().map(|value| typed(value, schema_type)).collect()),
            required,
            reference: None,
            extra: self.extra(&schema.extra, depth),
            layout: Layout::default(),
        }
    }

    /// Applies what stands beside a reference to the schema that has taken its place.
    fn narrow(&mut self, inlined: &mut Schema, beside: &Schema, depth: usize) {
        let is_alone = beside.values.is_none()
            && beside.properties.is_none()
            && beside.required.is_none()
            && beside.extra.is_empty();
        if is_alone {
            return;
        }
        let schema_type = inlined.schema_type.unwrap_or(SchemaType::Object);
        if let Some(values) = beside.values.as_ref().filter(|values| !values.is_empty()) {
            inlined.values = Some(values.iter().map(|value| typed(value, schema_type)).collect());
        }
        if schema_type == SchemaType::Object {
            for (name, property) in beside.properties.iter().flatten() {
                let property = self.schema(property, depth + 1);
                inlined.properties.get_or_insert_default().insert(name.clone(), property);
            }
            let known = inlined.properties.as_ref();
            let is_known = |name: &&String| known.is_some_and(|known| known.contains_key(*name));
            let names: Vec<String> = beside.required.iter().flatten().filter(is_known).cloned().collect();
            let required = inlined.required.get_or_insert_default();
            for name in names {
                if !required.contains(&name) {
                    required.push(name);
                }
            }
            if required.is_empty() {
                inlined.required = None;
            }
        }
        inlined.extra.extend(self.extra(&beside.extra, depth));
    }

    /// Unknown keys without references. The values of a map are a schema like any other.
    fn extra(&mut self, extra: &Map, depth: usize) -> Map {
        let mut extra = extra.clone();
        if let Some(values) = extra.get_mut("additionalProperties").filter(|values| values.is_object())
            && let Ok(schema) = Schema::deserialize(&*values)
            && schema.reference.is_some()
            && let Ok(inlined) = serde_json::to_value(self.schema(&schema, depth + 1))
        {
            *values = inlined;
        }
        for value in extra.values() {
            if let Some(reference) = reference_in(value) {
                self.cuts.push(CutReference { reference: reference.to_owned(), reason: CutReason::Unknown });
            }
        }
        reference_free(&extra)
    }

    fn inlined(&mut self, reference: &str, description: Option<&str>, depth: usize) -> Schema {
        let target = self.source.lookup(reference);
        let reason = match &target {
            Err(_) => Some(CutReason::Unresolved),
            Ok(_) if self.open.iter().any(|open| open == reference) => Some(CutReason::Recursive),
            Ok(_) if self.produced >= BUDGET => Some(CutReason::TooLarge),
            Ok(_) if depth >= DEPTH || self.open.len() >= DEPTH => Some(CutReason::TooDeep),
            Ok(_) => None,
        };
        let (Ok(target), None) = (target, reason) else {
            return self.cut(reference, description, reason.unwrap_or(CutReason::Unresolved));
        };
        self.open.push(reference.to_owned());
        self.inlining += 1;
        let mut schema = self.schema(target, depth);
        self.inlining -= 1;
        self.open.pop();
        if let Some(description) = description {
            schema.description = Some(description.to_owned());
        }
        schema
    }

    fn cut(&mut self, reference: &str, description: Option<&str>, reason: CutReason) -> Schema {
        self.produced += 1;
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let why = match reason {
            CutReason::Recursive => format!("Another {name}, of the same form."),
            CutReason::Unresolved | CutReason::Unknown => format!("A {name}, which this document does not describe."),
            CutReason::TooLarge | CutReason::TooDeep => format!("A {name}; its form is under `schemas`."),
        };
        self.cuts.push(CutReference { reference: reference.to_owned(), reason });
        Schema::object().described(match description {
            Some(description) => format!("{description} ({why})"),
            None => why,
        })
    }
}

/// The type of a schema without one; free JSON is an object.
fn implied_type(schema: &Schema) -> SchemaType {
    let strings = |values: &Vec<Value>| !values.is_empty() && values.iter().all(Value::is_string);
    if schema.items.is_some() {
        SchemaType::Array
    } else if schema.properties.is_none() && schema.values.as_ref().is_some_and(strings) {
        SchemaType::String
    } else {
        SchemaType::Object
    }
}

/// An allowed value of the declared type, where the document has it as a string or the other way round.
pub(crate) fn typed(value: &Value, schema_type: SchemaType) -> Value {
    match (value, schema_type) {
        (Value::String(text), SchemaType::Boolean | SchemaType::Integer | SchemaType::Number) => {
            match serde_json::from_str(text) {
                Ok(parsed @ (Value::Bool(_) | Value::Number(_))) => parsed,
                _ => value.clone(),
            }
        }
        (Value::Bool(_) | Value::Number(_), SchemaType::String) => Value::String(value.to_string()),
        _ => value.clone(),
    }
}

/// Unknown keys without those that hold references, which have no target in the strict form.
fn reference_free(extra: &Map) -> Map {
    extra
        .iter()
        .filter(|(_, value)| reference_in(value).is_none())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The first reference in any JSON value.
fn reference_in(value: &Value) -> Option<&str> {
    match value {
        Value::Object(map) => match map.get("$ref") {
            Some(Value::String(reference)) => Some(reference),
            _ => map.values().find_map(reference_in),
        },
        Value::Array(list) => list.iter().find_map(reference_in),
        _ => None,
    }
}
