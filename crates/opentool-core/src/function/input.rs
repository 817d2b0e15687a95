//! The input of a closure: [`ToolInput`].

use opentool_spec::schema::NormaliseError;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::read::read;
use crate::{Arguments, ToolError, input_schema};

/// What a closure may take as its input: a type with serde's `Deserialize` and schemars' `JsonSchema`, or
/// [`Arguments`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the input of a tool",
    label = "this input cannot be read from a model's arguments",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it",
    note = "a closure takes an input, a `ToolContext` (by value), both in this order, or nothing"
)]
pub trait ToolInput: Sized + Send {
    /// Reads the input from the text of a call.
    ///
    /// # Errors
    ///
    /// Where the text does not fit the type.
    fn read(arguments: &Arguments) -> Result<Self, ToolError>;

    /// Returns the schema of the input.
    ///
    /// # Errors
    ///
    /// Where the type cannot be a tool's input, for instance because it is not written as an object.
    fn schema() -> Result<Value, NormaliseError>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send> ToolInput for T {
    #[inline]
    fn read(arguments: &Arguments) -> Result<Self, ToolError> {
        read(arguments)
    }

    fn schema() -> Result<Value, NormaliseError> {
        input_schema::<T>()
    }
}

impl ToolInput for Arguments {
    fn read(arguments: &Arguments) -> Result<Self, ToolError> {
        Ok(arguments.clone())
    }

    /// Anything, until a schema is given.
    fn schema() -> Result<Value, NormaliseError> {
        Ok(json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": {} }))
    }
}
