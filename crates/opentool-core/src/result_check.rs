//! The check of a result against the output schema of its tool: [`ResultChecker`].

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::check::ValueChecker;
use crate::error::ToolError;
use crate::output::ToolOutput;
use crate::patterns::PatternEngine;

/// A tool's output schema, compiled to check the results of its calls.
#[derive(Clone)]
pub(crate) struct ResultChecker(Arc<ValueChecker>);

impl ResultChecker {
    /// Compiles a schema, or says what is wrong with it. References are resolved within the schema only, never fetched.
    pub(crate) fn compile(schema: &Value, patterns: PatternEngine) -> Result<Self, String> {
        ValueChecker::compile(schema, patterns).map(|checker| Self(Arc::new(checker)))
    }

    /// Checks the value of an output: its JSON, its text as a string, and null where there is none.
    pub(crate) fn check(&self, output: &ToolOutput) -> Result<(), ToolError> {
        let text = match output {
            ToolOutput::Empty => Cow::Borrowed("null"),
            ToolOutput::Text(text) => Cow::Owned(Value::from(text.as_str()).to_string()),
            output => match output.structured() {
                Some(json) => Cow::Owned(json.get().to_owned()),
                None => {
                    return Err(ToolError::invalid_result("the result has parts, but no value that fits its schema"));
                }
            },
        };
        self.0.check(&text).map_err(|fault| ToolError::invalid_result(format!("the result {fault}")))
    }
}

impl fmt::Debug for ResultChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResultChecker")
    }
}
