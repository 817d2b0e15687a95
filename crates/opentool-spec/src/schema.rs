//! JSON Schema: the form that tools publish, and conversions to and from it.
//!
//! - [`normalise`] turns any generator's schema into the one form that every provider and client accepts;
//!   [`normalise_output`] does the same for results.
//! - [`Dialect`] writes that form for a provider, and reports what had to be dropped.
//! - [`OpenTool::input_schema`](crate::OpenTool::input_schema) and [`OpenTool::output_schema`](crate::OpenTool::output_schema) write a function of a document as JSON Schema;
//!   [`functions_from_schemas`] is the reverse, with a report of what a document cannot express.
//! - [`tool_list`] and [`document_tool_list`] write the lists of tools that providers and protocols take;
//!   [`import_tools`] reads them.

mod anthropic_strict;
mod choices;
mod cycles;
mod definition;
mod definitions;
mod depth;
mod dialect;
mod drafts;
mod dropped;
mod error;
mod export;
mod gemini;
mod import;
mod integers;
mod keyword;
mod losses;
mod node;
mod normalise;
mod nullable;
mod ollama;
mod openai_strict;
mod share;
mod tool_import;
mod tool_list;

pub use depth::MAX_SCHEMA_DEPTH;
pub use dialect::{Adapted, Dialect};
pub use dropped::Dropped;
pub use error::NormaliseError;
pub use import::{Imported, SchemaTool, functions_from_schemas};
pub use normalise::{normalise, normalise_output};
pub use tool_import::{ImportError, ImportedTools, RefusedTool, import_tools};
pub use tool_list::{
    Target, ToolList, ToolListError, ToolListFault, ToolReport, UnknownTarget, document_tool_list, tool_list,
};

#[cfg(test)]
mod tests;
