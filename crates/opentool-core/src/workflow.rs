//! OpenWorkflow documents as tools: [`Workflow`], and [`WorkflowRunner`] for documents that a model writes.
//!
//! A step is a call through the executor that runs the workflow, so that checks, deadlines, approval, limits and spans hold
//! for it as for any other.

mod error;
mod faults;
mod plan;
mod run;
mod runner;
mod sleep;
mod step_tools;
mod tool;
mod values;

pub use self::error::WorkflowError;
pub use self::faults::workflow_faults;
pub use self::runner::WorkflowRunner;
pub use self::tool::Workflow;
