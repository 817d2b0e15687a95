//! The validator, within a bound on the work and the memory that references cost: [`BoundedValidator`].

use jsonschema::Validator;
use serde_json::Value;

use super::{
    error::{ArgumentError, SchemaError},
    explain,
    indexed::IndexedText,
    instance::TextJson,
    memory::{CheckMemory, OutOfMemory},
    references::has_references,
    value::JsonValue,
};
use crate::patterns::{self, PatternEngine};

/// What the validator takes for a result that it remembers, at most: an entry of a hash table that doubles as it grows.
const REMEMBERED: usize = 96;

/// A compiled schema, and whether its references can multiply the work.
pub(super) struct BoundedValidator {
    validator: Validator<TextJson>,
    has_references: bool,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Satisfied,
    Violated,
    /// The references of the schema multiply with the nesting of the text.
    TooMuchWork,
}

impl BoundedValidator {
    /// Compiles a schema. References are resolved within it only.
    pub(super) fn compile(schema: &Value, patterns: PatternEngine, formats: bool) -> Result<Self, SchemaError> {
        let options = patterns.options().should_validate_formats(formats);
        let validator = options.build(schema).map_err(|error| explain::schema_error(&error))?;
        Ok(Self { validator, has_references: has_references(schema)? })
    }

    /// Whether a text satisfies the schema.
    pub(super) fn check(&self, document: &IndexedText<'_>, memory: &mut CheckMemory) -> Result<Verdict, OutOfMemory> {
        patterns::start_budget();
        if self.has_references {
            memory.grow(document.limit_steps() * REMEMBERED)?;
        }
        let is_valid = self.validator.is_valid(JsonValue::root(document));
        Ok(match is_valid {
            _ if document.is_cut_short() => Verdict::TooMuchWork,
            true => Verdict::Satisfied,
            false => Verdict::Violated,
        })
    }

    /// The validator itself, to say what is wrong with a text of which it was said that something is.
    pub(super) fn explaining(&self, document: &IndexedText<'_>) -> &Validator<TextJson> {
        patterns::start_budget();
        if self.has_references {
            document.limit_steps();
        }
        &self.validator
    }
}

/// The refusal of arguments that take too much work.
pub(super) fn too_much_work() -> ArgumentError {
    let message = "checking the arguments takes too much work: the input schema refers to itself in a way that multiplies \
                   with every level; expected arguments with fewer levels";
    ArgumentError::new("", message)
}
