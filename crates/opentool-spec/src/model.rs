//! The documents as typed data.
//!
//! Every object of a spec is a struct with a public field per row of its table, plus `extra` for the keys that the
//! spec does not know. Reading and writing keeps unknown keys, key order, explicit `null`s and the version.

mod builders;
pub(crate) mod object;
mod opendyn;
mod opentool;
mod openworkflow;
mod schema;

pub use opendyn::{
    CType, CTypeName, CallingConvention, DynFunction, DynInfo, DynParameter, DynReturn, DynSchema, OpenDyn,
};
pub use opentool::{Function, Info, OpenTool, Parameter, Return, ServerObject};
pub use openworkflow::{OpenWorkflow, StepPart, StepReference, StepReferenceError, WorkflowStep};
pub use schema::{Schema, SchemaType};

#[cfg(test)]
mod tests;
