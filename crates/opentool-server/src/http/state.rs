//! What all requests share: [`ServerState`].

use std::sync::Arc;

use opentool_core::Executor;

use super::settings::Settings;
use crate::metrics::{Gauges, Metrics};
use crate::shutdown::ShutdownState;

/// The settings, metrics and shutdown state that the checks and every handler share.
pub(crate) struct ServerState {
    pub(crate) executor: Executor,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) shutdown: Arc<ShutdownState>,
}

impl ServerState {
    /// Writes the page of metrics.
    pub(crate) fn metrics_page(&self) -> String {
        self.metrics.write(&Gauges {
            blocking_threads: self.executor.busy_threads(),
            buffered_bytes: self.settings.body.budget.held(),
            draining: self.shutdown.is_draining(),
            resident_bytes: crate::process::resident_bytes(),
            sources: self.settings.sources.iter().map(|source| (source.name.clone(), source.is_up())).collect(),
        })
    }
}
