//! A JSON text as a tree that remembers where everything stands, for diagnostics and repairs.
//!
//! Nodes are stored in one vector in the order of the text, so a subtree is a range and walking it touches memory in
//! order. Strings and numbers stay in the text until they are asked for.

mod edit;
mod layout;
mod node;
mod parse;
mod quote;
mod repair;

pub use edit::Edit;
pub(crate) use edit::apply;
pub(crate) use layout::NewValue;
pub(crate) use node::{Kind, NodeId, Tree};
pub(crate) use parse::{FaultKind, Parsed, SyntaxFault, parse};
pub(crate) use quote::quote;

pub(crate) use crate::json::quoted as json_string;
