//! The patterns of schemas: which engine runs them, and how much work one may take.

mod bounded;

use std::sync::Arc;

use jsonschema::{Keyword, PatternOptions, Retrieve, ValidationError, ValidationOptions, json::Json};
use serde_json::Value;

use self::bounded::BoundedPattern;
pub(crate) use self::bounded::start_budget;

/// How large a pattern for names may be when compiled, in bytes. Matching takes time in proportion to this and the name.
const MAX_NAME_PATTERN: usize = 128 * 1024;

/// What runs the patterns of a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PatternEngine {
    /// An engine without backtracking, under a budget: for schemas that come from elsewhere.
    #[default]
    Bounded,
    /// One that also knows look-around and back references, and may take exponential time: for the program's own schemas.
    Backtracking,
}

/// How a schema is compiled.
type Options<'i, F> = ValidationOptions<'i, Arc<dyn Retrieve>, F>;

impl PatternEngine {
    /// Options for a validator that fetches no references, with this engine for `pattern` and `patternProperties`.
    pub(crate) fn options<'i, F: Json>(self) -> Options<'i, F>
    where
        BoundedPattern: for<'k> Keyword<'k, F>,
    {
        let options = jsonschema::options_for::<F>().offline();
        match self {
            Self::Backtracking => options,
            Self::Bounded => options
                // Names are matched by the validator itself, so only the size of their patterns can be bounded.
                .with_pattern_options(PatternOptions::regex().size_limit(MAX_NAME_PATTERN))
                .with_keyword("pattern", |_, value, _| match value {
                    Value::String(pattern) => match BoundedPattern::compile(pattern) {
                        Ok(pattern) => Ok(Box::new(pattern) as Box<dyn for<'k> Keyword<'k, F>>),
                        Err(problem) => Err(ValidationError::custom(problem.to_string())),
                    },
                    _ => Err(ValidationError::custom("a pattern must be a string")),
                }),
        }
    }
}
