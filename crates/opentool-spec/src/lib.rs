//! The documents of tool calling as data: OpenTool 1.0.0 and 1.1.0, OpenDyn 1.0.0, and the messages of the OpenTool client and server.

pub mod check;
mod fix;
pub mod model;
mod read;
mod reference;
pub mod rpc;
pub mod schema;
mod sdk;
mod strict;
mod tree;

#[doc(inline)]
pub use check::{
    Code, DocumentKind, Edit, Faults, Finding, Fix, Generation, Report, Severity, check, check_bytes, is_valid_name,
};
pub use fix::{Fixed, fix};
#[doc(inline)]
pub use model::*;
pub use read::{Document, Reading};
pub use reference::ReferenceError;
pub use sdk::{Exception, FunctionCall, ToolReturn, Version};
pub use strict::{Cut, CutReason, Strict};

/// A JSON object that keeps the order of its keys.
pub type Map = serde_json::Map<String, serde_json::Value>;
