//! The names under which a message keeps the provider's own data.

/// The provider's name.
pub(super) const NAME: &str = "openai";
/// The field in which the model's reasoning came.
pub(super) const REASONING_FIELD: &str = "reasoning_field";
/// What came with a call and must be sent back with it, by the index of the call: Gemini signs its calls there, and refuses
/// them without.
pub(super) const EXTRA_CONTENT: &str = "extra_content";
