//! Values written as JSON, with a [`ToolError`] where that cannot be: [`ToolOutput::json`] and [`Part::json`].

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ToolError;
use crate::output::{Part, ToolOutput};

impl ToolOutput {
    /// Makes an output of a value, serialised as JSON.
    ///
    /// # Errors
    ///
    /// Where the value cannot be serialised, for instance a map whose keys are no strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        write_json(value).map(Self::Json)
    }
}

impl Part {
    /// Makes a part of a value, serialised as JSON.
    ///
    /// # Errors
    ///
    /// Where the value cannot be serialised, for instance a map whose keys are no strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        write_json(value).map(Self::raw_json)
    }
}

/// Writes a value as JSON.
pub(crate) fn write_json<T: Serialize + ?Sized>(value: &T) -> Result<Box<RawValue>, ToolError> {
    to_raw_value(value).map_err(unwritten)
}

#[cold]
fn unwritten(error: serde_json::Error) -> ToolError {
    ToolError::invalid_result(format!("the result cannot be written as JSON: {error}")).with_source(error)
}

/// A result as it is stored: the output as one JSON text, so that every digit is kept wherever the text stands.
///
/// JSON that serde has parsed already, as it does within tagged enums and flattened fields, has lost large integers.
pub(crate) mod stored_result {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::error::ToolError;
    use crate::output::ToolOutput;

    pub(crate) fn serialize<S: Serializer>(
        result: &Result<ToolOutput, ToolError>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let result = match result {
            Ok(output) => Ok(serde_json::to_string(output).map_err(S::Error::custom)?),
            Err(error) => Err(error),
        };
        result.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<ToolOutput, ToolError>, D::Error> {
        match Result::<String, ToolError>::deserialize(deserializer)? {
            Ok(text) => ToolOutput::parse(&text).map(Ok).map_err(D::Error::custom),
            Err(error) => Ok(Err(error)),
        }
    }
}
