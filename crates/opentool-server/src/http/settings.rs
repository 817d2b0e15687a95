//! What the configuration says about HTTP: [`Settings`].

use std::sync::Arc;

use opentool_core::{BoxFuture, Journal, TraceContext};

use super::body::BodyLimits;
use super::hosts::AllowedHosts;
use super::keys::KeyRing;
use super::origins::AllowedOrigins;
use super::sources::SourceState;

/// The checked settings of the HTTP layer.
pub(crate) struct Settings {
    /// Empty, or with a slash at its beginning and none at its end.
    pub(crate) prefix: String,
    pub(crate) version: String,
    pub(crate) public_url: Option<String>,
    /// None where callers need no key.
    pub(crate) keys: Option<KeyRing>,
    pub(crate) hosts: AllowedHosts,
    pub(crate) origins: AllowedOrigins,
    pub(crate) body: BodyLimits,
    pub(crate) max_calls: usize,
    /// What `POST /stop` runs, where it is enabled.
    pub(crate) on_stop: Option<StopHook>,
    pub(crate) operator_routes: bool,
    /// What is known about the sources of the tools, where the application says it.
    pub(crate) sources: Vec<SourceState>,
    pub(crate) trace_hook: Option<Arc<TraceHook>>,
    /// Where calls with a key are recorded.
    pub(crate) journal: Arc<dyn Journal>,
}

/// What runs when a caller stops the server.
pub(crate) type StopHook = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;
/// What joins the trace of a request to the application's own.
pub(crate) type TraceHook = dyn Fn(Option<&TraceContext>) -> Option<TraceContext> + Send + Sync;
