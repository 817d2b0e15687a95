//! The checked plan of a document, made without the library: [`Plan`].

mod buffer;
mod build;
mod callback;
mod callbacks;
mod counted;
mod document_faults;
mod extension;
mod fault;
mod fields;
mod layout;
mod layouts;
mod marks;
mod names;
mod parameters;
mod returned;
mod scalar;
mod schemas;
mod struct_field;
mod types;

pub(crate) use buffer::{Buffer, Length};
pub(crate) use callback::{Callback, CallbackAnswer, CallbackKind};
pub(crate) use extension::{Effect, LARGEST_BUFFER};
pub(crate) use layout::{Element, FieldContent, StructField, StructLayout};
pub(crate) use marks::marks;
pub(crate) use names::Names;
pub(crate) use scalar::{JsonForm, Loaded, Machine, Scalar, Value};
pub(crate) use struct_field::{AccessContent, Condition, FieldAccess, LengthField};
pub(crate) use types::{
    Function, Global, HandleSource, Helper, Parameter, ParentHandle, Passing, Plan, Pointed, RetainedArgument, Returned,
};
