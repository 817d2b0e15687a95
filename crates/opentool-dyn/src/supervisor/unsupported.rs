//! Systems without worker processes: only libraries that are trusted can be opened.

mod settings;

use std::sync::Arc;
use std::time::Duration;

use opentool_core::ToolError;

pub(crate) use self::settings::Settings;
pub use self::settings::WorkerSharing;
use crate::engine::Notes;
use crate::plan::Plan;
use crate::sandbox::Confinement;
use crate::{LoadError, OpenError};

/// Stands for the supervisor of workers; there is never one.
#[derive(Debug)]
pub(crate) enum Supervisor {}

impl Supervisor {
    /// Fails: this system has no worker processes for libraries.
    pub(crate) fn new(_plan: Arc<Plan>, settings: Settings, _has_spare: bool) -> Result<Supervisor, OpenError> {
        let system = std::env::consts::OS;
        let message = format!(
            "opentool has no worker processes on {system} yet, which would confine it: a library that is \
             trusted can be opened with `--isolation none`"
        );
        Err(LoadError::new(settings.library, message).into())
    }

    pub(crate) fn start(&self) -> Result<Confinement, OpenError> {
        match *self {}
    }

    pub(crate) async fn call(&self, _function: usize, _arguments: &str) -> Result<(Notes, String), ToolError> {
        match *self {}
    }
}

/// There is no supervisor that could ask for it.
pub(crate) fn run_later(_delay: Duration, _work: impl FnOnce() + Send + 'static) {}
