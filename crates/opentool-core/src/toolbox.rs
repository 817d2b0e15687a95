//! An ordered set of tools with unique names: [`Toolbox`], and its way to and from a document.

mod document;
mod renamed;
mod set;

pub use self::document::ToolboxDocument;
pub use self::set::{Toolbox, ToolboxError};
