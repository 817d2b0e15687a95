//! The name under which a message keeps the provider's own data.

/// The provider's name.
pub(super) const NAME: &str = "anthropic";
