//! Tools that can find out whether an interrupted call had its effect: [`Reconcile`].

use std::fmt;

use futures_core::future::BoxFuture;

use crate::{Arguments, CallKey, ToolContext, ToolError, ToolOutput};

/// What a tool found out about a call that began and has no outcome.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reconciled {
    /// It had its effect, and this is its result.
    Happened(ToolOutput),
    /// It had no effect and never will, so it may run.
    DidNotHappen,
    /// That cannot be found out: a person has to decide.
    Unknown,
}

/// Finds out whether a call had its effect, by its key: for tools of systems that can be asked.
///
/// It is given to a tool with [`ToolMetadata::with_reconcile`](crate::ToolMetadata::with_reconcile) and asked after a crash, before a call
/// becomes uncertain. It has the time that a call of the tool has.
pub trait Reconcile: Send + Sync + 'static {
    /// Finds out what became of a call.
    ///
    /// # Errors
    ///
    /// Where it cannot be found out now; the call is then uncertain, and is asked about again at its next attempt.
    fn reconcile<'a>(
        &'a self,
        key: &'a CallKey,
        arguments: &'a Arguments,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Reconciled, ToolError>>;
}

impl fmt::Debug for dyn Reconcile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reconcile")
    }
}
