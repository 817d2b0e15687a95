//! The check of any JSON value, of a result for instance: [`ValueChecker`].

use serde_json::Value;

use super::{
    bounded::{BoundedValidator, CheckResult},
    error::SchemaError,
    indexed::{IndexedText, ReadError},
    memory::CheckMemory,
    value::JsonValue,
};
use crate::patterns::PatternEngine;

/// A schema of any kind, compiled to check values.
pub(crate) struct ValueChecker(BoundedValidator);

impl ValueChecker {
    /// Compiles a schema, or says what is wrong with it. References are resolved within the schema only, never fetched.
    pub(crate) fn compile(schema: &Value, patterns: PatternEngine) -> Result<Self, String> {
        BoundedValidator::compile(schema, patterns, false).map(Self).map_err(|error| match error {
            SchemaError::Invalid { message, .. } | SchemaError::Reference { message } => message,
            error @ SchemaError::NotAnObjectSchema { .. } => error.to_string(),
        })
    }

    /// Checks the text of a value, or says what is wrong with it, to be read after a noun.
    pub(crate) fn check(&self, text: &str) -> Result<(), String> {
        let mut document = IndexedText::new(text);
        document.read(&|_| true, &mut CheckMemory::default()).map_err(|error| match error {
            ReadError::Json(error) => format!("cannot be read: {error}"),
            ReadError::OutOfMemory(_) => "is too long to be checked: it has 4 GiB or more".to_owned(),
        })?;
        match self.0.check(&document, &mut CheckMemory::default()) {
            Ok(CheckResult::Satisfied) => return Ok(()),
            Ok(CheckResult::Violated) => {}
            // Without a budget there is no other way to run out.
            Ok(CheckResult::TooMuchWork) | Err(_) => {
                return Err(
                    "takes too much work to check: its schema refers to itself in a way that multiplies with every \
                            level"
                        .to_owned(),
                );
            }
        }
        let Err(error) = self.0.explaining(&document).validate(JsonValue::root(&document)) else {
            return Err("does not fit its schema".to_owned());
        };
        // The error names the place, not the value, which may be large.
        Err(match error.instance_path().as_str() {
            "" => format!("does not fit its schema: {}", error.masked()),
            place => format!("does not fit its schema at {place}: {}", error.masked()),
        })
    }
}
