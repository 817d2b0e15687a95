#![doc = include_str!("../README.md")]

mod comments;
mod cpp;
mod cpp_sign;
mod ctype;
mod declarations;
mod describer;
mod description;
mod document;
mod draft;
mod error;
mod functions;
mod glob;
mod lengths;
mod options;
mod parameters;
mod preprocess;
mod returns;
mod shim;

pub use describer::Describer;
pub use description::{Description, Review, Skipped};
pub use error::{CppExport, DescribeError};
