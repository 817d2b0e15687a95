//! What a comment says: [`Comment`].

use std::collections::HashMap;

/// What a comment says about a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) text: String,
    /// All that it says, which `text` is the beginning of.
    pub(crate) full: String,
    pub(crate) parameters: HashMap<String, ParameterComment>,
    pub(crate) returns: Option<String>,
    /// Whether it stands above another function, which this one follows.
    pub(crate) is_shared: bool,
}

/// What a comment says about a parameter (`@param[out] length How much was written.`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParameterComment {
    pub(crate) text: String,
    /// Whether data goes in and out, where it is said.
    pub(crate) direction: Option<(bool, bool)>,
}
