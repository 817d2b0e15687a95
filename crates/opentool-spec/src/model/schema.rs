//! The Schema Object of OpenTool.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{builders::described, object::object};

/// The six types a schema may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaType {
    /// `true` or `false`.
    Boolean,
    /// A number without a fraction.
    Integer,
    /// Any number.
    Number,
    /// A text.
    String,
    /// A list, described by `items`.
    Array,
    /// An object, described by `properties`.
    Object,
}

impl SchemaType {
    /// All six, in the order of the spec.
    pub const ALL: [SchemaType; 6] = [
        SchemaType::Boolean,
        SchemaType::Integer,
        SchemaType::Number,
        SchemaType::String,
        SchemaType::Array,
        SchemaType::Object,
    ];

    /// The type's name as a document writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            SchemaType::Boolean => "boolean",
            SchemaType::Integer => "integer",
            SchemaType::Number => "number",
            SchemaType::String => "string",
            SchemaType::Array => "array",
            SchemaType::Object => "object",
        }
    }

    /// The type with its article, for messages.
    pub(crate) const fn described(self) -> &'static str {
        match self {
            SchemaType::Boolean => "a boolean",
            SchemaType::Integer => "an integer",
            SchemaType::Number => "a number",
            SchemaType::String => "a string",
            SchemaType::Array => "an array",
            SchemaType::Object => "an object",
        }
    }

    /// The type with this name, if it is one of the six.
    pub fn from_name(name: &str) -> Option<Self> {
        SchemaType::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The type that real documents mean by a C or Java spelling such as `double`, `int` or `bool`.
    pub fn from_alias(alias: &str) -> Option<Self> {
        match alias {
            "double" | "float" => Some(SchemaType::Number),
            "int" | "long" | "short" => Some(SchemaType::Integer),
            "bool" => Some(SchemaType::Boolean),
            _ => None,
        }
    }
}

impl std::fmt::Display for SchemaType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

object! {
    /// The format of a value.
    ///
    /// ```
    /// use opentool_spec::Schema;
    ///
    /// let place = Schema::object()
    ///     .property("city", Schema::string().described("The name of a city."))
    ///     .optional_property("country", Schema::string());
    /// assert_eq!(place.required.as_deref(), Some(&["city".to_owned()][..]));
    /// ```
    #[derive(Default)]
    pub struct Schema {
        /// The type; absent where the schema is a reference.
        "type" => schema_type: optional SchemaType,
        /// What a reader should know about the value.
        "description" => description: optional String,
        /// The structure of an object, by property name.
        "properties" => properties: optional IndexMap<String, Schema>,
        /// The format of an array's elements.
        "items" => items: optional Box<Schema>,
        /// The allowed values, if limited. The spec has strings; values of the schema's type are read too.
        "enum" => values: optional Vec<Value>,
        /// The properties of an object that must be given.
        "required" => required: optional Vec<String>,
        /// A reference to another schema of the same document, such as `#/schemas/User`.
        "$ref" => reference: optional String,
    }
}

described!(Schema);

impl Schema {
    /// The unknown key by which a schema says, where it is `true`, that null is a value too: the spec has no null.
    pub const NULLABLE: &'static str = "x-nullable";

    /// A schema of the given type and nothing else.
    pub fn new(schema_type: SchemaType) -> Self {
        Schema { schema_type: Some(schema_type), ..Schema::default() }
    }

    /// A truth value.
    pub fn boolean() -> Self {
        Schema::new(SchemaType::Boolean)
    }

    /// A whole number.
    pub fn integer() -> Self {
        Schema::new(SchemaType::Integer)
    }

    /// A number.
    pub fn number() -> Self {
        Schema::new(SchemaType::Number)
    }

    /// A text.
    pub fn string() -> Self {
        Schema::new(SchemaType::String)
    }

    /// A list of `items`.
    pub fn array(items: Schema) -> Self {
        Schema { items: Some(Box::new(items)), ..Schema::new(SchemaType::Array) }
    }

    /// An object without properties; add them with [`Schema::property`].
    pub fn object() -> Self {
        Schema { properties: Some(IndexMap::new()), ..Schema::new(SchemaType::Object) }
    }

    /// A reference to another schema of the document.
    pub fn reference(reference: impl Into<String>) -> Self {
        Schema { reference: Some(reference.into()), ..Schema::default() }
    }

    /// Adds a property that must be given.
    #[must_use]
    pub fn property(mut self, name: impl Into<String>, schema: Schema) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.optional_property(name, schema)
    }

    /// Adds a property that may be left out.
    #[must_use]
    pub fn optional_property(mut self, name: impl Into<String>, schema: Schema) -> Self {
        self.properties.get_or_insert_default().insert(name.into(), schema);
        self
    }

    /// Says that null is a value too, by [`x-nullable`](Self::NULLABLE).
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.extra.insert(Self::NULLABLE.to_owned(), true.into());
        self
    }

    /// Allows only these values.
    #[must_use]
    pub fn one_of<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.values = Some(values.into_iter().map(Into::into).collect());
        self
    }
}
