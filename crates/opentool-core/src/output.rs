//! What a tool answers: [`ToolOutput`], and the [parts](Part) that one may have.

mod annotations;
mod json;
mod part;
mod rich;
mod tool_output;

pub use self::annotations::Annotations;
pub use self::part::{Link, Part, PartContent, Resource, ResourceContent};
pub use self::rich::RichOutput;
pub use self::tool_output::ToolOutput;
