//! Schemas of Rust types, by the rules that every published schema follows.

use opentool_spec::schema::{SchemaError, normalise, normalise_output};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the JSON Schema of a type's fields as a tool's arguments.
///
/// This is what `#[tool]` and [`FnTool`](crate::FnTool) publish: no `title`, no `$schema`, an optional field is
/// absent from `required` instead of a union with null, properties stand in the order of the declaration, and
/// shared or recursive types are in `$defs`.
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
/// # Ok::<(), opentool_core::spec::schema::SchemaError>(())
/// ```
///
/// # Errors
///
/// Where the type is not written as an object, or nests deeper than any provider accepts.
pub fn input_schema<T: JsonSchema + ?Sized>() -> Result<Value, SchemaError> {
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
/// # Ok::<(), opentool_core::spec::schema::SchemaError>(())
/// ```
///
/// # Errors
///
/// Where the type nests deeper than any provider accepts.
pub fn output_schema<T: JsonSchema + ?Sized>() -> Result<Value, SchemaError> {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_serialize());
    keep_durations(&mut schema);
    normalise_output(&mut schema)?;
    Ok(schema)
}

fn generate<T: JsonSchema + ?Sized>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Arguments that are durations are read from strings, but results that are durations are written as serde does it,
/// so that the normaliser must not take them for strings.
fn keep_durations(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(keep_durations),
        Value::Object(object) => {
            let is_duration = object
                .get("properties")
                .and_then(Value::as_object)
                .is_some_and(|parts| parts.len() == 2 && parts.contains_key("secs") && parts.contains_key("nanos"));
            if is_duration && let Some(Value::Array(required)) = object.get_mut("required") {
                required.retain(|name| name != "nanos");
            }
            object.values_mut().for_each(keep_durations);
        }
        _ => {}
    }
}
