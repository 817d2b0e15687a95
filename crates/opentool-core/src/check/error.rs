//! Why schemas and arguments are refused.

use std::fmt;

use opentool_spec::json::excerpt;

/// How many problems an [`ArgumentError`] lists; a model corrects a few at a time.
pub(super) const MAX_PROBLEMS: usize = 10;

/// How many characters of a JSON pointer an error's text shows.
const MAX_POINTER: usize = 120;

/// A schema that arguments cannot be checked against.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The root of the schema is not an object schema.
    #[error("the root of an input schema must be {{\"type\": \"object\", …}}, not {found}")]
    NotAnObjectSchema {
        /// What the root is instead.
        found: String,
    },
    /// The schema breaks the rules of JSON Schema.
    #[error("invalid input schema at {}: {message}", pointer_or_root(.pointer))]
    Invalid {
        /// The JSON pointer into the schema.
        pointer: String,
        /// What is wrong there.
        message: String,
    },
    /// A reference in the schema leads nowhere within it; others are never followed.
    #[error("unresolvable reference in the input schema: {message}")]
    Reference {
        /// Which reference, and why.
        message: String,
    },
}

fn pointer_or_root(pointer: &str) -> &str {
    if pointer.is_empty() { "its root" } else { pointer }
}

/// Arguments that were refused, described so that a model can correct itself.
///
/// Its text lists the problems, each led by the JSON pointer of the value concerned unless that is
/// the root: `/a: expected integer, got string "x"; missing required argument "b"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError {
    problems: Vec<Problem>,
    omitted: usize,
}

/// One thing that is wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The JSON pointer of the value concerned; empty for the arguments as a whole.
    pub pointer: String,
    /// What is wrong with it and what is expected instead.
    pub message: String,
}

impl Problem {
    /// Says what is wrong with the value that the JSON pointer names; empty for the arguments as a whole.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

impl ArgumentError {
    /// Makes an error of one problem, for arguments that turn out to be wrong after the check.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::from_problems([Problem::new(pointer, message)])
    }

    /// Makes an error of all problems, of which there is at least one.
    #[must_use]
    pub fn from_problems(problems: impl IntoIterator<Item = Problem>) -> Self {
        let mut problems = problems.into_iter();
        Self { problems: problems.by_ref().take(MAX_PROBLEMS).collect(), omitted: problems.count() }
    }

    /// Counts problems that were found and not even described.
    pub(super) fn with_omitted(mut self, omitted: usize) -> Self {
        self.omitted += omitted;
        self
    }

    /// The JSON pointer of the first problem; empty for the arguments as a whole.
    #[must_use]
    pub fn pointer(&self) -> &str {
        self.problems.first().map_or("", |problem| &problem.pointer)
    }

    /// The problems listed, ten at most.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many problems were found beyond those listed.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.omitted
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "; " })?;
            problem.fmt(f)?;
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(f, "; and {omitted} more"),
        }
    }
}

impl std::error::Error for ArgumentError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", excerpt(&self.pointer, MAX_POINTER), self.message)
        }
    }
}
