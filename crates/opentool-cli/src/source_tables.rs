//! The sources that a configuration file describes: `[sources.NAME]`.

mod call_gate;
mod named;
mod reader;
mod rules;
mod table;

pub(crate) use self::{
    named::NamedSources,
    reader::{read as read_tables, source_form},
    rules::{Approver, SourceApproval, ToolRules},
    table::{McpOrigin, SourceOrigin, SourceTable, TablePlace},
};
