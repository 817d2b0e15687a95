//! A model that a provider has: [`ModelInfo`].

use serde::Serialize;

/// A model that a provider has, as far as the provider tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The name by which it is asked.
    pub id: String,
    /// The name for people, where it has another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many tokens it can read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// How many tokens it can write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl ModelInfo {
    /// Makes one of the name by which it is asked.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}
