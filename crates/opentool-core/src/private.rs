//! What the code that the attributes generate needs; not part of the public interface.

use std::marker::PhantomData;

use opentool_spec::schema::NormaliseError;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::returns::{IntoToolError, into_output};
use crate::{ToolError, ToolOutput, output_schema};

pub use crate::function::{Declaration, Declarations, read};
pub use crate::{Concurrency, Invocation, ToolMetadata};
pub use schemars;
pub use serde;

/// Chosen for a returned `Result`: `(&returned).kind()` finds this impl before the one for every type.
pub trait ResultReturn {
    /// Names the conversion.
    fn kind(&self) -> ResultKind {
        ResultKind
    }
}

impl<T, E> ResultReturn for Result<T, E> {}

/// Chosen for everything else, one reference further away.
pub trait ValueReturn {
    /// Names the conversion.
    fn kind(&self) -> ValueKind {
        ValueKind
    }
}

impl<T> ValueReturn for &T {}

/// Converts a `Result`. The bounds are here and not on the trait that chooses, so that a type without them gets their error message.
#[derive(Debug)]
pub struct ResultKind;

impl ResultKind {
    /// Converts what was returned.
    pub fn convert<T: ToolResult, E: IntoToolError>(self, returned: Result<T, E>) -> Result<ToolOutput, ToolError> {
        into_output(returned.map_err(E::into_tool_error)?)
    }
}

/// Converts a value.
#[derive(Debug)]
pub struct ValueKind;

impl ValueKind {
    /// Converts what was returned.
    pub fn convert<T: ToolResult>(self, returned: T) -> Result<ToolOutput, ToolError> {
        into_output(returned)
    }
}

/// A type that can be the result of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "this type cannot be written for a model",
    note = "derive `serde::Serialize` for it; of something that prints return a `Text`"
)]
pub trait ToolResult: Serialize + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + 'static> ToolResult for T {}

type OutputSchema = Option<Result<Value, NormaliseError>>;

/// Asks a type for its schema, where it has one: `(&&&&SchemaProbe::<T>::new()).schema()`.
#[derive(Debug)]
pub struct SchemaProbe<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized> SchemaProbe<T> {
    /// Makes the probe.
    #[expect(clippy::new_without_default, reason = "only emitted code makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Chosen first: a `Result` inside an `Option` or a `Result` becomes its content, which its own schema does not describe.
pub trait NestedResult {
    /// Returns none.
    fn schema(&self) -> OutputSchema {
        None
    }
}

impl<T, E> NestedResult for &&&SchemaProbe<Option<Result<T, E>>> {}
impl<T, E> NestedResult for &&&SchemaProbe<Option<Option<Result<T, E>>>> {}
impl<T, E, F> NestedResult for &&&SchemaProbe<Result<Result<T, E>, F>> {}
impl<T, E, F> NestedResult for &&&SchemaProbe<Result<Option<Result<T, E>>, F>> {}

/// Chosen next: of a `Result` the schema of its value.
pub trait ResultSchema {
    /// Returns the schema.
    fn schema(&self) -> OutputSchema;
}

impl<T: JsonSchema, E> ResultSchema for &&SchemaProbe<Result<T, E>> {
    fn schema(&self) -> OutputSchema {
        schema_of::<T>()
    }
}

/// Chosen then: the schema of a value.
pub trait ValueSchema {
    /// Returns the schema.
    fn schema(&self) -> OutputSchema;
}

impl<T: JsonSchema> ValueSchema for &SchemaProbe<T> {
    fn schema(&self) -> OutputSchema {
        schema_of::<T>()
    }
}

/// Chosen last: a type without a schema.
pub trait NoSchema {
    /// Returns none.
    fn schema(&self) -> OutputSchema {
        None
    }
}

impl<T: ?Sized> NoSchema for SchemaProbe<T> {}

/// `()` and free JSON say nothing about a result.
fn schema_of<T: JsonSchema>() -> OutputSchema {
    let schema = output_schema::<T>();
    match &schema {
        Ok(Value::Object(known)) if known.is_empty() || known.get("type").is_some_and(|kind| kind == "null") => None,
        _ => Some(schema),
    }
}

/// A type that can be read from a model's arguments and described to it.
///
/// The lifetime means nothing: a condition that has one may stand in the `where` clause of what is generated, also for a type
/// that does not fulfil it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "this type cannot be read from a model's arguments",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it; of a type of another crate see whether schemars or that crate has a feature for it"
)]
pub trait ToolParameter<'call>: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> ToolParameter<'_> for T {}

/// What `#[param(required = false)]` puts in the place of an argument that is not there.
pub fn default_parameter<T: ParameterDefault>() -> T {
    T::default_parameter()
}

/// A type that has a value for an argument that is left out.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value for an argument that is left out",
    label = "`required = false` needs a default",
    note = "take an `Option<{Self}>`, give `#[param(default = …)]`, or implement `Default` for the type"
)]
pub trait ParameterDefault {
    /// Makes the value.
    fn default_parameter() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> ParameterDefault for T {
    fn default_parameter() -> Self {
        T::default()
    }
}
