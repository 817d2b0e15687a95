//! The routes of the spec, answered by a host: [`OpenToolFrontend`].

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::StatusCode;
use http_body::Body;
use opentool_core::{Host, ToolContext};
use serde_json::json;

use super::super::headers::RequestHeaders;
use super::super::record::RequestRecord;
use super::super::response::{HttpResponse, json as json_response};
use super::super::routes::ToolRoute;
use super::super::state::ServerState;
use super::{call, load, stream};

/// Serves the tools of a host.
pub(crate) struct OpenToolFrontend {
    host: Arc<Host>,
    state: Arc<ServerState>,
    /// What `/load` answers, where the tools are always the same.
    document: OnceLock<Bytes>,
}

impl OpenToolFrontend {
    pub(crate) fn new(host: Arc<Host>, state: Arc<ServerState>) -> Self {
        Self { host, state, document: OnceLock::new() }
    }

    /// Answers a request that has passed all checks.
    ///
    /// The rare routes are boxed, so that the future of a call stays small (`scripts/bench http`).
    pub(crate) async fn answer<B: Body<Data = Bytes>>(
        &self,
        route: ToolRoute,
        headers: &RequestHeaders<'_>,
        body: B,
        context: &ToolContext,
        record: &mut RequestRecord<'_>,
    ) -> HttpResponse {
        let (host, state) = (&self.host, &self.state);
        match route {
            ToolRoute::Call => {
                call::answer(host, state, headers, body, context, record).await.unwrap_or_else(|refused| *refused)
            }
            ToolRoute::StreamCall => {
                let answered = Box::pin(stream::answer(host, state, headers, body, context.clone(), record)).await;
                answered.unwrap_or_else(|refused| *refused)
            }
            ToolRoute::Load => Box::pin(load::answer(host, state, &self.document)).await,
            ToolRoute::Version => json_response(StatusCode::OK, json!({"version": state.settings.version}).to_string()),
            ToolRoute::Stop => self.stop().await,
        }
    }

    async fn stop(&self) -> HttpResponse {
        if let Some(on_stop) = &self.state.settings.on_stop {
            tracing::info!(target: "opentool::server", "stopped by request");
            on_stop().await;
            self.state.shutdown.stop();
        }
        json_response(StatusCode::OK, r#"{"status":"stopped"}"#)
    }
}
