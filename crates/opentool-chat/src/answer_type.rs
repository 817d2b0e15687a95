//! The types that answers can have: [`AnswerType`].

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// A type that an answer can be returned as, which is every type with serde's `Deserialize` and schemars' `JsonSchema`.
///
/// ```compile_fail,E0277
/// struct City {
///     name: String,
/// }
///
/// # async fn ask(client: opentool_chat::ChatClient) -> Result<(), opentool_chat::ChatError> {
/// // `City` cannot be the type of an answer: derive `serde::Deserialize` and `schemars::JsonSchema` for it
/// let city = client.prompt("Where was Einstein born?").call_as::<City>().await?;
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of an answer",
    label = "this type cannot be described to a model and read from its answer",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it; of a type of another crate see whether schemars or that crate has a feature for it"
)]
pub trait AnswerType: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> AnswerType for T {}
