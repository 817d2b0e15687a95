//! JSON as text: what reads, compares and rewrites it without building values.
//!
//! A parsed [`serde_json::Value`] has merged equal names and rounded large integers, and forgets where things stood.
//! Everything in the workspace that needs the text itself stands on this module: the diagnostics of documents, the
//! checker of arguments, the reader of OpenDyn arguments, and the command line.
//!
//! - [`Lexer`] reads tokens and steps over values; what it accepts is what `serde_json` accepts.
//! - [`Number`] and [`Quantity`] say what a number literal amounts to, and whether JSON Schema counts it as an integer.
//! - [`mod@pointer`] escapes, splits and follows JSON pointers.
//! - [`near`] finds the names that a wrong one was probably meant to be.
//! - [`partial_value`] reads the beginning of a text, such as an answer that is still being streamed.
//! - [`indented`], [`canonical`] and [`plain_integers`] rewrite a text, digit by digit as it came.
//!
//! The lexer is our own because it has to serve all of these at once: the raw text and the span of every token (to cut,
//! quote and repair), errors by kind (each user words them for its reader), numbers undamaged, no allocation, and
//! resuming at any byte after a fault. The parsers on crates.io each lack some of it.
//!
//! ```
//! use opentool_spec::json::{Lexer, Quantity};
//!
//! let mut lexer = Lexer::new("1e3 ");
//! assert_eq!(lexer.number()?.quantity, Quantity::Unsigned(1000));
//! lexer.expect_end()?;
//! # Ok::<(), opentool_spec::json::JsonError>(())
//! ```

mod error;
mod excerpt;
mod lexer;
pub mod near;
mod number;
mod partial;
pub mod pointer;
mod rewrite;
mod string;
mod unique;

pub use error::{JsonError, JsonErrorKind};
pub use excerpt::excerpt;
pub use lexer::{Lexer, MAX_DEPTH};
pub use number::{Number, NumberLiteral, Quantity};
pub use partial::partial_value;
pub use rewrite::{MAX_INDENTED, canonical, indented, plain_integers};
pub use string::{JsonString, quoted};
pub use unique::{OpenNames, check_unique_names};

#[cfg(test)]
mod tests;
