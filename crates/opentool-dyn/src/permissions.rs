//! What the operator lets a library do: [`Permissions`].

/// What the operator lets a library do in its worker process; nothing by default.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Permissions {}
