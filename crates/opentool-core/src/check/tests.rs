//! Behaviour of the checker as its callers see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::borrow::Cow;

use serde_json::Value;

use super::{ArgumentChecker, Strictness};

mod agreement;
mod dropping;
mod memory;
mod recursion;
mod refusals;
mod schemas;
mod text;

fn checker(schema: &Value) -> ArgumentChecker {
    ArgumentChecker::compile(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// The text that a tool would get.
fn accepted(schema: &Value, arguments: &str) -> String {
    match checker(schema).check(arguments, Strictness::Lenient) {
        Ok(text) => text.into_owned(),
        Err(error) => panic!("{arguments} refused: {error}"),
    }
}

/// Whether the arguments pass as they stand.
fn passes(schema: &Value, arguments: &str) -> bool {
    matches!(checker(schema).check(arguments, Strictness::Lenient), Ok(Cow::Borrowed(_)))
}

/// What a model would read.
fn refused(schema: &Value, arguments: &str) -> String {
    match checker(schema).check(arguments, Strictness::Lenient) {
        Ok(text) => panic!("{arguments} accepted as {text}"),
        Err(error) => error.to_string(),
    }
}
