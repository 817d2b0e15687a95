//! Why a schema cannot be normalised.

use thiserror::Error;

/// Why a schema cannot be normalised.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NormaliseError {
    /// The arguments of a tool are an object, so the root of its schema must describe one.
    #[error("schema root is not an object but {found}")]
    NotAnObject {
        /// What the root describes instead, in words.
        found: String,
    },
    /// A schema is an object or a boolean.
    #[error("a schema is an object or a boolean, not {found}")]
    NotASchema {
        /// The JSON that was found instead.
        found: String,
    },
    /// A reference points into the schema, but there is no schema at its end.
    #[error("schema refers to {reference:?}, which it does not have")]
    Unresolved {
        /// The reference as it is written.
        reference: String,
    },
    /// The schema is nested so deep that readers of it, ours included, could run out of stack.
    #[error("schema is nested deeper than {limit} levels")]
    TooDeep {
        /// The deepest nesting that is accepted.
        limit: usize,
    },
}
