//! What words mean that people write for the values of the specs.

use crate::{json::near::misspelt, model::SchemaType};

/// The type that a name means, misspelt or in the words of another language.
pub(super) fn type_meant(name: &str) -> Option<&'static str> {
    SchemaType::from_name(name).or_else(|| SchemaType::from_alias(name)).map(SchemaType::as_str).or_else(
        || match name {
            "str" | "text" | "char" | "date" | "datetime" | "uuid" => Some("string"),
            "list" | "tuple" | "set" | "vec" | "[]" => Some("array"),
            "dict" | "map" | "struct" | "json" | "any" => Some("object"),
            "i32" | "i64" | "u32" | "u64" | "uint" | "int32" | "int64" | "byte" => Some("integer"),
            "f32" | "f64" | "decimal" | "real" => Some("number"),
            _ => misspelt(name, SchemaType::ALL.map(SchemaType::as_str)),
        },
    )
}

/// The truth value that the text of a JSON value means: `true` itself, `"yes"`, `0` and the like.
pub(super) fn said_boolean(raw: &str) -> Option<bool> {
    const LONGEST: usize = 16;
    if raw.len() > LONGEST {
        return None;
    }
    let word = raw.trim_matches('"').trim().to_ascii_lowercase();
    match word.as_str() {
        "true" | "yes" | "on" | "y" | "1" => Some(true),
        "false" | "no" | "off" | "n" | "0" => Some(false),
        _ => None,
    }
}
