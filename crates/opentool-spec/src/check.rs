//! Checking documents: everything that is wrong in one run, each finding with its place, what to do, and where possible
//! the edit that does it.

mod analysis;
mod c_spelling;
mod c_types;
mod checker;
mod code;
mod document;
mod draft;
mod extension_keys;
mod extensions;
mod field;
mod finding;
mod foreign;
mod functions;
mod generations;
mod handles;
mod info;
mod keywords;
mod kind;
mod names;
mod objects;
mod older_schemas;
mod parameters;
mod position;
mod reference_index;
mod references;
mod report;
mod schema_types;
mod schemas;
mod siblings;
mod signature;
mod signatures;
mod synonyms;
mod type_pairs;
mod values;
mod workflow;

pub(crate) use analysis::Analysis;
pub use analysis::{check, check_bytes};
pub use code::{Code, Severity};
pub use finding::{DocumentErrors, Finding, Fix};
pub use foreign::ForeignFormat;
pub(crate) use kind::is_one_point_x;
pub use kind::{DocumentGeneration, DocumentKind};
pub use names::is_valid_name;
pub use report::{ExternalFinding, Omitted, Report};

pub use crate::tree::Edit;
