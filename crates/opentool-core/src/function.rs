//! Functions and closures as tools: [`FnTool`], the builder under `#[tool]` and `#[toolbox]`.

mod body;
mod closure;
mod declaration;
mod fn_tool;
mod input;
mod methods;
mod read;
mod recipe;

pub use closure::{FallibleToolFunction, ToolFunction};
pub use declaration::Declaration;
pub use fn_tool::FnTool;
pub use input::ToolInput;
pub use methods::{Declarations, DeclaredTools};
pub use read::read;
