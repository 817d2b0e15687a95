//! The check of a result against the output schema of its tool: [`ResultChecker`].

use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::error::ToolError;
use crate::output::ToolOutput;
use crate::patterns::{self, PatternEngine};

/// A tool's output schema, compiled to check the results of its calls.
#[derive(Clone)]
pub(crate) struct ResultChecker(Arc<Validator>);

impl ResultChecker {
    /// Compiles a schema, or says what is wrong with it. References are resolved within the schema only, never fetched.
    pub(crate) fn compile(schema: &Value, patterns: PatternEngine) -> Result<Self, String> {
        let validator = patterns.options().should_validate_formats(false).build(schema);
        validator.map(|validator| Self(Arc::new(validator))).map_err(|error| error.to_string())
    }

    /// Checks the value of an output: its JSON, its text as a string, and null where there is none.
    pub(crate) fn check(&self, output: &ToolOutput) -> Result<(), ToolError> {
        let value = match output {
            ToolOutput::Empty => Value::Null,
            ToolOutput::Text(text) => Value::String(text.clone()),
            output => match output.structured() {
                Some(json) => serde_json::from_str(json.get()).map_err(unreadable)?,
                None => {
                    return Err(ToolError::invalid_result("the result has parts, but no value that fits its schema"));
                }
            },
        };
        patterns::start_budget();
        // The error names the place, not the value, which may be large.
        self.0.validate(&value).map_err(|error| match error.instance_path().as_str() {
            "" => ToolError::invalid_result(format!("the result does not fit its schema: {}", error.masked())),
            place => {
                ToolError::invalid_result(format!("the result does not fit its schema at {place}: {}", error.masked()))
            }
        })
    }
}

fn unreadable(error: serde_json::Error) -> ToolError {
    ToolError::invalid_result(format!("the result cannot be read: {error}")).with_source(error)
}

impl fmt::Debug for ResultChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResultChecker")
    }
}
