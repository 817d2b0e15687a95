//! The documents of tool calling as data.
//!
//! A large language model can only ask for a function to be called; somebody has to describe the function first. This
//! crate reads, judges, mends and writes those descriptions: **OpenTool** 1.0.0 and 1.1.0, **OpenDyn** 1.0.0 for dynamic
//! libraries, and the JSON-RPC messages of the OpenTool client and server. It does no I/O.
//!
//! # Reading
//!
//! ```
//! use opentool_spec::OpenTool;
//!
//! let text = r##"{
//!   "opentool": "1.1.0",
//!   "info": {"title": "Weather", "version": "1.0.0"},
//!   "functions": [{
//!     "name": "forecast",
//!     "description": "The forecast for a city.",
//!     "parameters": [{"name": "city", "schema": {"type": "string"}, "required": true}]
//!   }]
//! }"##;
//! let document: OpenTool = text.parse()?;
//! assert_eq!(document.functions[0].parameters[0].name, "city");
//! # Ok::<(), opentool_spec::DocumentErrors>(())
//! ```
//!
//! [`str::parse`] refuses a document with errors and says all of them; [`OpenTool::read`] forgives what can be forgiven.
//! Both accept the older generations of documents. What is read is written back as it was: unknown keys, key order,
//! version. [`Document::read`] takes either kind of document.
//!
//! # Judging and mending
//!
//! [`check()`] finds every fault in one run, each with a stable [`Code`], its place, and what to do about it;
//! [`fix()`] does it, where no author needs to be asked.
//!
//! ```
//! let report = opentool_spec::check(r#"{"opentool": "1.1.0", "info": {"titel": "T", "version": "1"}, "functions": []}"#);
//! let finding = &report.findings[0];
//! assert_eq!(finding.to_string(),
//!     "1:32: error[OT010]: `title` is missing here, and `titel` is not in the spec (did you mean `title`? Rename `titel`)");
//! ```
//!
//! # Writing
//!
//! The builders make documents ([`OpenTool::new`], [`Function::new`], [`Schema::object`] …); [`OpenTool::to_strict`] gives
//! the form that every existing client can read; [`schema`] turns functions into JSON Schema in the dialects of model
//! providers, and JSON Schema into functions.

pub mod check;
mod convert;
mod fix;
mod formats;
pub mod json;
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
    Code, DocumentErrors, DocumentGeneration, DocumentKind, Edit, ExternalFinding, Finding, Fix, Report, Severity,
    check, check_bytes, is_valid_name,
};
pub use fix::{Fixed, fix};
pub use formats::document_schema;
#[doc(inline)]
pub use model::*;
pub use read::{Document, Reading};
pub use reference::ReferenceError;
pub use sdk::{Exception, FunctionCall, ToolReturn, Version};
pub use strict::{CutReason, CutReference, StrictDocument};

/// A JSON object that keeps the order of its keys.
pub type Map = serde_json::Map<String, serde_json::Value>;
