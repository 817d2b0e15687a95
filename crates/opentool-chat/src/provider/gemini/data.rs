//! The names under which a message keeps the provider's own data.

/// The provider's name.
pub(super) const NAME: &str = "gcp.gemini";
/// The signatures of calls, by the index of the call: Gemini refuses its calls without them.
pub(super) const CALL_SIGNATURES: &str = "call_signatures";
/// The signature of the text.
pub(super) const TEXT_SIGNATURE: &str = "text_signature";
