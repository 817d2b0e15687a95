//! The sources that a configuration file describes: `[sources.NAME]`.

mod named;
mod reader;
mod rules;
mod table;

pub(crate) use self::{
    named::NamedSources,
    rules::{Approver, ToolRules},
    table::{McpOrigin, SourceOrigin, SourceTable},
};
