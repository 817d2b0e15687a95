//! The name under which a message keeps the provider's own data.

/// The provider's name: OpenAI has two interfaces.
pub(super) const NAME: &str = "openai";
