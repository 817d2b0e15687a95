//! The validator, within a bound on the work and the memory that references cost: [`BoundedValidator`].

use jsonschema::Validator;
use serde_json::Value;

use super::{
    error::{ArgumentError, SchemaError},
    explain,
    indexed::IndexedText,
    instance::TextJson,
    memory::{CheckMemory, OutOfMemory},
    references::count_references,
    value::JsonValue,
};
use crate::patterns::{self, PatternEngine};

/// A compiled schema, and how many references it has, which can multiply the work.
pub(super) struct BoundedValidator {
    validator: Validator<TextJson>,
    references: usize,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckResult {
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
        Ok(Self { validator, references: count_references(schema)? })
    }

    /// Whether a text satisfies the schema.
    pub(super) fn check(
        &self,
        document: &IndexedText<'_>,
        memory: &mut CheckMemory,
    ) -> Result<CheckResult, OutOfMemory> {
        patterns::start_budget();
        if self.references > 0 {
            memory.grow(document.limit_steps(self.references))?;
        }
        let is_valid = self.validator.is_valid(JsonValue::root(document));
        Ok(match is_valid {
            _ if document.is_cut_short() => CheckResult::TooMuchWork,
            true => CheckResult::Satisfied,
            false => CheckResult::Violated,
        })
    }

    /// The validator itself, to say what is wrong with a text of which it was said that something is.
    pub(super) fn explaining(&self, document: &IndexedText<'_>) -> &Validator<TextJson> {
        patterns::start_budget();
        if self.references > 0 {
            document.limit_steps(self.references);
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
