//! The checked plan of a document, made without the library: [`Plan`].

mod build;
mod extension;
mod scalar;
mod types;

pub(crate) use extension::{Effect, LARGEST_BUFFER};
pub(crate) use scalar::{Loaded, Machine, Scalar, Seen, Value};
pub(crate) use types::{Buffer, Function, Length, Parameter, Passing, Plan, Returned};
