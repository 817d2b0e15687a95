//! The documents of tool calling as data.
//!
//! A language model can only ask for a function to be called; a document describes the functions it may ask for. This
//! crate parses, checks, fixes and writes such documents: **OpenTool** 1.0.0 and 1.1.0, **OpenDyn** 1.0.0 for dynamic
//! libraries, **OpenWorkflow** 1.0.0 for calls in a fixed order, and the JSON-RPC messages of the OpenTool client and server.
//! It does no I/O.
//!
//! # Hello, document
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
//! # Reading
//!
//! [`str::parse`] refuses a document with errors and returns all of them ([`DocumentErrors`]); [`OpenTool::read`] is
//! lenient. Both accept the older generations of documents. Writing a document keeps what was read: unknown keys, key
//! order, version. [`Document::read`] takes any kind of document.
//!
//! # Checking and fixing
//!
//! [`check()`] finds everything that is wrong in one run. A [`Finding`] has a stable [`Code`], its place, and what to do
//! about it; [`fix()`] applies the fixes that need no decision of the author.
//!
//! ```
//! let report = opentool_spec::check(r#"{"opentool": "1.1.0", "info": {"titel": "T", "version": "1"}, "functions": []}"#);
//! let finding = &report.findings[0];
//! assert_eq!(finding.to_string(),
//!     "1:32: error[OT010]: `title` is missing here, and `titel` is not in the spec (did you mean `title`? Rename `titel`)");
//! ```
//!
//! # Building and writing
//!
//! [`model`] has the objects of both specs, with builders ([`OpenTool::new`], [`Function::new`], [`Schema::object`] …).
//! They serialise with `serde`. [`OpenTool::to_strict`] is the form that every existing client can read.
//!
//! ```
//! use opentool_spec::{Function, Info, OpenTool, Parameter, Schema};
//!
//! let document = OpenTool::new(Info::new("Calculator", "1.0.0"))
//!     .function(Function::new("half", "Halve a number.").parameter(Parameter::new("x", Schema::number())));
//! assert!(serde_json::to_string(&document)?.starts_with(r#"{"opentool":"1.1.0""#));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # References
//!
//! A schema may refer to another of its document, as `#/schemas/NAME`. [`OpenTool::resolve`] and [`OpenDyn::resolve`]
//! follow references through aliases, and never leave the document.
//!
//! # C libraries
//!
//! An [`OpenDyn`] document describes the functions of a dynamic library with their C types; [`OpenDyn::to_opentool`] is
//! what callers see of it.
//!
//! # Workflows
//!
//! An [`OpenWorkflow`] document lists calls of functions, each with what it takes from the calls before it
//! ([`StepReference`]) and the name of the next one.
//!
//! # JSON Schema
//!
//! [`schema`] turns functions into JSON Schema in the dialects of model providers, and JSON Schema into functions.
//! [`document_schema`] is the JSON Schema of the documents themselves, for editors.
//!
//! # Client and server
//!
//! [`rpc`] has the JSON-RPC messages; [`FunctionCall`], [`ToolReturn`], [`Version`] and [`Exception`] are the types of the
//! SDK interfaces in the client and server spec.

pub mod check;
mod convert;
mod fix;
mod formats;
pub mod json;
mod map;
pub mod model;
mod pattern;
mod read;
mod reference;
pub mod rpc;
pub mod schema;
mod sdk;
mod strict;
mod tree;

#[doc(inline)]
pub use check::{
    Code, DocumentErrors, DocumentGeneration, DocumentKind, Edit, ExternalFinding, Finding, Fix, ForeignFormat,
    Omitted, Report, Severity, check, check_bytes, is_valid_name,
};
pub use fix::{Fixed, fix};
pub use formats::document_schema;
pub use map::Map;
#[doc(inline)]
pub use model::*;
pub use read::{Document, Reading};
pub use reference::ReferenceError;
pub use sdk::{Exception, FunctionCall, ToolReturn, Version};
pub use strict::{CutReason, CutReference, StrictDocument};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
