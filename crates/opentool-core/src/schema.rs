//! Schemas of Rust types, by the rules that every published schema follows.

use std::time::Duration;

use opentool_spec::schema::{NormaliseError, normalise, normalise_output};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the JSON Schema of a type's fields as a tool's arguments.
///
/// This is what `#[tool]` and [`FnTool`](crate::FnTool) publish: no `title`, no `$schema`, an optional field is
/// absent from `required` instead of a union with null, properties are in the order of the declaration,
/// shared or recursive types are in `$defs`, and a [`Duration`] is a string such as `PT1H30M`.
///
/// ```
/// use opentool_core::input_schema;
/// use serde_json::json;
///
/// #[derive(schemars::JsonSchema)]
/// struct Search {
///     /// What to look for.
///     query: String,
///     limit: Option<u8>,
/// }
///
/// assert_eq!(
///     input_schema::<Search>()?,
///     json!({
///         "type": "object",
///         "properties": {
///             "query": { "description": "What to look for.", "type": "string" },
///             "limit": { "type": "integer", "minimum": 0, "maximum": 255 },
///         },
///         "required": ["query"],
///         "additionalProperties": false,
///     })
/// );
/// assert!(input_schema::<i64>().is_err(), "arguments have names");
/// # Ok::<(), opentool_core::spec::schema::NormaliseError>(())
/// ```
///
/// # Errors
///
/// Where the type is not written as an object, or nests deeper than any provider accepts.
pub fn input_schema<T: JsonSchema + ?Sized>() -> Result<Value, NormaliseError> {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_deserialize());
    normalise(&mut schema)?;
    Ok(schema)
}

/// Returns the JSON Schema of a type as a tool's result.
///
/// ```
/// use opentool_core::output_schema;
///
/// assert_eq!(output_schema::<Vec<bool>>()?, serde_json::json!({ "type": "array", "items": { "type": "boolean" } }));
/// # Ok::<(), opentool_core::spec::schema::NormaliseError>(())
/// ```
///
/// # Errors
///
/// Where the type nests deeper than any provider accepts.
pub fn output_schema<T: JsonSchema + ?Sized>() -> Result<Value, NormaliseError> {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_serialize());
    normalise_output(&mut schema)?;
    Ok(schema)
}

/// The name of [`Duration`]'s definition, which no other type can have since it is given away first.
const DURATION: &str = "Duration";

fn generate<T: JsonSchema + ?Sized>(settings: SchemaSettings) -> Value {
    let arguments = settings.contract.is_deserialize();
    let mut generator = settings.into_generator();
    if arguments {
        // Models write durations as strings, and so they are read; results are written as serde does it. A
        // type of the same shape, or of the same name, is what its author says it is.
        generator.subschema_for::<Duration>();
        generator.definitions_mut().insert(DURATION.into(), json!({ "type": "string", "format": "duration" }));
    }
    generator.into_root_schema_for::<T>().to_value()
}
