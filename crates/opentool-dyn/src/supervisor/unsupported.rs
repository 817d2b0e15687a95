//! Systems without worker processes: only libraries that are trusted can be opened.

mod settings;

use std::sync::Arc;

use opentool_core::{ToolContext, ToolError};

pub(crate) use self::settings::Settings;
use crate::engine::Notes;
use crate::plan::Plan;
use crate::sandbox::Confinement;
use crate::{LoadError, OpenError};

/// Stands for the supervisor of workers; there is never one.
#[derive(Debug)]
pub(crate) enum Supervisor {}

impl Supervisor {
    /// Fails: this system has no worker processes for libraries.
    pub(crate) fn start(_plan: Arc<Plan>, settings: Settings) -> Result<Supervisor, OpenError> {
        let system = std::env::consts::OS;
        let message = format!(
            "opentool has no worker processes on {system} yet, which would confine it: a library that is \
             trusted can be opened with `--isolation none`"
        );
        Err(LoadError::new(settings.library, message).into())
    }

    pub(crate) fn confinement(&self) -> &Confinement {
        match *self {}
    }

    pub(crate) async fn call(
        &self,
        _function: usize,
        _arguments: &str,
        _context: &ToolContext,
    ) -> Result<(Notes, String), ToolError> {
        match *self {}
    }
}
