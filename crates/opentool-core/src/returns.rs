//! What a function returns, as a [`ToolOutput`]: text or JSON, decided by the type and never by the content.

mod intercept;

use std::any::{Any, type_name};
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::{Failure, ToolError, ToolOutput};

pub(crate) use intercept::TEXT;

/// Text by way of [`Display`](fmt::Display): what it wraps becomes text as it prints, not JSON.
///
/// Strings are text anyway; this is for everything else that is meant to be read.
///
/// ```
/// use opentool_core::{FnTool, Text};
///
/// let tool = FnTool::new("localhost", || Text(std::net::Ipv4Addr::LOCALHOST));
/// # let _ = tool;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text<T>(pub T);

impl<T: fmt::Display> fmt::Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A string wherever it is nested; as a tool's whole result it is known by its name and becomes text.
impl<T: fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(TEXT, &self.0.to_string())
    }
}

impl<T> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Converts what a function returned.
///
/// # Errors
///
/// Where the value cannot be serialised.
pub(crate) fn into_output<T: Serialize + 'static>(value: T) -> Result<ToolOutput, ToolError> {
    let mut slot = Some(value);
    // Every branch but one is gone after monomorphisation.
    if let Some(output) = take_known(&mut slot) {
        return Ok(output);
    }
    match &slot {
        Some(value) => intercept::serialize(value),
        None => Ok(ToolOutput::Empty),
    }
}

/// Takes the value out where its type needs no serialising.
///
/// It is generic, and inlined, so that the compiler knows the type and asks none of the questions at run time.
#[inline]
fn take_known<T: 'static>(slot: &mut Option<T>) -> Option<ToolOutput> {
    let slot: &mut dyn Any = slot;
    macro_rules! text {
        ($($type:ty),+) => {$(
            if let Some(value) = slot.downcast_mut::<Option<$type>>() {
                return value.take().map(|text| ToolOutput::Text(text.into()));
            }
            if let Some(value) = slot.downcast_mut::<Option<Option<$type>>>() {
                return value.take().map(|text| match text {
                    Some(text) => ToolOutput::Text(text.into()),
                    None => ToolOutput::Empty,
                });
            }
        )+};
    }
    text!(String, &'static str, Cow<'static, str>, Box<str>);
    if let Some(value) = slot.downcast_mut::<Option<Arc<str>>>() {
        return value.take().map(|text| ToolOutput::Text(text.as_ref().to_owned()));
    }
    if let Some(value) = slot.downcast_mut::<Option<Option<Arc<str>>>>() {
        return value
            .take()
            .map(|text| text.map_or(ToolOutput::Empty, |text| ToolOutput::Text(text.as_ref().to_owned())));
    }
    if slot.is::<Option<()>>() {
        return Some(ToolOutput::Empty);
    }
    if let Some(value) = slot.downcast_mut::<Option<Option<ToolOutput>>>() {
        return value.take().map(Option::unwrap_or_default);
    }
    slot.downcast_mut::<Option<ToolOutput>>()?.take()
}

/// What the error of a fallible tool can be: whatever becomes a `Box<dyn Error + Send + Sync>`.
///
/// That is every [`std::error::Error`], [`ToolError`], [`Failure`], `String`, `&str`, such a box itself, and the like of
/// `anyhow::Error`. A `ToolError`, also one inside a box, arrives as it is; of everything else the model sees the text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "this error has no text for a model",
    note = "implement `std::error::Error` for it, whose text the model then sees; or return `ToolError`, `Failure`, `String` or `Box<dyn Error + Send + Sync>`"
)]
pub trait IntoToolError {
    /// Converts the error.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn Error + Send + Sync>>> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        let error: Box<dyn Error + Send + Sync> = self.into();
        if error.is::<ToolError>() {
            return ToolError::from_error(error);
        }
        ToolError::from_error(error).or_source_type(type_name::<E>())
    }
}

impl From<Failure> for Box<dyn Error + Send + Sync> {
    fn from(failure: Failure) -> Self {
        Box::new(failure.into_error())
    }
}

#[cfg(test)]
mod tests;
