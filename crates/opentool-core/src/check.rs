//! The argument checker, between a model's JSON text and a tool.
//!
//! A tool's input schema is compiled once, by [`ArgumentChecker::compile`]. Every call's arguments
//! are then checked by [`ArgumentChecker::check`], in this order:
//!
//! 1. Blank text and `null` count as `{}`.
//! 2. The text must be JSON, its root an object, nested at most 127 levels deep. `NaN` and
//!    `Infinity` are not JSON, and a number beyond the doubles (`1e400`) is refused, since no
//!    tool could read it.
//! 3. No object, at any depth, may have two members of one name, however they are escaped.
//! 4. `null` is dropped from optional properties that do not admit it, at any depth.
//! 5. Root arguments that the schema does not allow (`"additionalProperties": false`) are
//!    dropped, or with [`Strictness::Strict`] refused. Deeper ones are as the schema says.
//! 6. What is left must satisfy the schema. Integers are never rounded on the way; `1.0` is an
//!    integer, as JSON Schema has it. `format` is an annotation: the tool's own type decides what
//!    it can read, and says so in the same kind of error. [`ArgumentChecker::check_formats`] asserts
//!    it all the same. Patterns are matched without backtracking and under a budget.
//!
//! What comes back is the text itself, or where something was dropped a copy without it, every
//! number as it was written.
//!
//! Two engines do this. The streaming checker reads the text once, without allocating, where the
//! schema is made of objects, lists and scalars. The validator crate does the rest, and has the last
//! word on every refusal: it says what is wrong where, so that a model can correct it. It reads the
//! text too, over an index of where values end, so that a check takes at most 2.2 times the memory
//! of the text, whatever is in it, and where the schema has references at most 2.7 times.
//!
//! References can multiply the work. A schema in which they do so for a single value is refused; what they multiply with the
//! nesting of the arguments is bounded in proportion to the text, and arguments that take more are refused.
//!
//! ```
//! use opentool_core::check::{ArgumentChecker, Strictness};
//! use serde_json::json;
//!
//! let checker = ArgumentChecker::compile(&json!({
//!     "type": "object",
//!     "properties": { "city": { "type": "string" }, "days": { "type": "integer", "maximum": 14 } },
//!     "required": ["city"],
//!     "additionalProperties": false,
//! }))?;
//! let check = |arguments| checker.check(arguments, Strictness::Lenient);
//!
//! assert_eq!(check(r#"{"city": "Bern", "days": 3}"#)?, r#"{"city": "Bern", "days": 3}"#);
//! assert_eq!(check(r#"{"city": "Bern", "days": null, "mood": 1}"#)?, r#"{"city": "Bern"}"#);
//! assert_eq!(
//!     check(r#"{"days": "3"}"#).unwrap_err().to_string(),
//!     r#"/days: expected integer, got string "3"; missing required argument "city" (string)"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alternatives;
mod bounded;
mod checker;
mod error;
mod explain;
mod indexed;
mod instance;
mod memory;
mod prune;
mod references;
mod schema;
mod simple;
mod streaming;
mod subject;
mod value;
mod violation;
mod whole;

#[cfg(test)]
mod tests;

pub(crate) use checker::Unchecked;
pub use checker::{ArgumentChecker, Strictness};
pub use error::{ArgumentError, Problem, SchemaError};
pub(crate) use whole::ValueChecker;
