//! The parent's side of worker processes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opentool_core::{ToolContext, ToolError};

use crate::engine::{Notes, Options};
use crate::plan::Plan;
use crate::{OpenError, Permissions};

/// What a worker is started with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The document's text, from which the worker makes the plan again.
    pub(crate) document: Arc<str>,
    /// The library's file.
    pub(crate) library: PathBuf,
    /// How values are written.
    pub(crate) options: Options,
    /// What the operator allows.
    pub(crate) permissions: Permissions,
    /// The program that is started as the worker; none for the running one.
    pub(crate) worker: Option<PathBuf>,
    /// How long a call may take; none where only the caller's own deadline counts.
    pub(crate) timeout: Option<Duration>,
}

/// Starts workers, hands calls to them, and says what became of them.
#[derive(Debug)]
pub(crate) struct Supervisor {
    plan: Arc<Plan>,
    settings: Settings,
}

impl Supervisor {
    pub(crate) fn start(plan: Arc<Plan>, settings: Settings) -> Result<Supervisor, OpenError> {
        Ok(Supervisor { plan, settings })
    }

    /// Calls a function in a worker; the arguments are checked already. The result is the text of a JSON object.
    pub(crate) async fn call(
        &self,
        function: usize,
        arguments: &str,
        context: &ToolContext,
    ) -> Result<(Notes, String), ToolError> {
        let _ = (arguments, context, &self.settings);
        let name = &self.plan.functions[function].name;
        Err(ToolError::unavailable(format!("`{name}` has no worker yet")))
    }
}
