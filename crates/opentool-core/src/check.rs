//! Checks arguments against the schema before a tool runs: [`ArgumentChecker`].

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use thiserror::Error;

/// An input schema, compiled once.
pub struct ArgumentChecker {
    validator: jsonschema::Validator,
    schema: Value,
}

/// What happens to arguments at the root that the schema does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// They are dropped.
    #[default]
    Lenient,
    /// They are refused.
    Strict,
}

/// Why an input schema cannot be used.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct SchemaError {
    message: String,
}

/// Why arguments were refused.
#[derive(Clone, Debug, Error)]
#[error("{message}")]
pub struct ArgumentError {
    message: String,
    pointer: String,
    problems: Vec<Problem>,
}

/// One thing that is wrong with arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Where the problem is, as a JSON pointer.
    pub pointer: String,
    /// What was expected there.
    pub message: String,
}

impl ArgumentError {
    fn new(problems: Vec<Problem>) -> Self {
        let message = problems
            .iter()
            .map(|problem| {
                if problem.pointer.is_empty() {
                    problem.message.clone()
                } else {
                    format!("at {}: {}", problem.pointer, problem.message)
                }
            })
            .collect::<Vec<_>>()
            .join("; ");
        let pointer = problems.first().map(|problem| problem.pointer.clone()).unwrap_or_default();
        Self { message, pointer, problems }
    }

    /// Returns every problem in one text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns where the first problem is.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Returns the problems one by one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl ArgumentChecker {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// Where the schema does not compile or its root is not an object.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if schema.get("type") != Some(&Value::from("object")) {
            return Err(SchemaError { message: "the root must have \"type\": \"object\"".into() });
        }
        let validator =
            jsonschema::validator_for(schema).map_err(|error| SchemaError { message: error.to_string() })?;
        Ok(Self { validator, schema: schema.clone() })
    }

    /// Checks arguments; borrowed where nothing had to be dropped.
    ///
    /// # Errors
    ///
    /// Where the arguments are no JSON object or break the schema.
    pub fn check<'a>(&self, arguments: &'a str, strictness: Strictness) -> Result<Cow<'a, str>, ArgumentError> {
        let problem = |pointer: String, message: String| Problem { pointer, message };
        let mut value: Value = serde_json::from_str(arguments)
            .map_err(|error| ArgumentError::new(vec![problem(String::new(), error.to_string())]))?;
        let mut changed = false;
        if let (Some(map), Some(properties)) =
            (value.as_object_mut(), self.schema.get("properties").and_then(Value::as_object))
        {
            let required = self.schema.get("required").and_then(Value::as_array);
            let before = map.len();
            map.retain(|key, value| {
                let optional = !required.is_some_and(|names| names.iter().any(|name| name == key.as_str()));
                let known = properties.contains_key(key);
                let unknown = !known && strictness == Strictness::Lenient;
                !(unknown || (known && optional && value.is_null()))
            });
            changed = map.len() != before;
        }
        let problems: Vec<_> = self
            .validator
            .iter_errors(&value)
            .map(|error| problem(error.instance_path().to_string(), error.to_string()))
            .collect();
        if !problems.is_empty() {
            return Err(ArgumentError::new(problems));
        }
        Ok(if changed { Cow::Owned(value.to_string()) } else { Cow::Borrowed(arguments) })
    }
}

impl fmt::Debug for ArgumentChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentChecker").finish_non_exhaustive()
    }
}
