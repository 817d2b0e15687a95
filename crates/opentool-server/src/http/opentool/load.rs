//! `/load`: the tools as a document.

use std::pin::pin;
use std::sync::OnceLock;

use bytes::Bytes;
use http::StatusCode;
use opentool_core::{Host, ToolError};

use super::super::refusal::Refusal;
use super::super::response::{HttpResponse, json};
use super::super::state::ServerState;
use super::cut_off::until_cut_off;
use crate::wire::document;

/// Answers with the document of a host's tools; `written` keeps it where the tools are always the same.
pub(super) async fn answer(host: &Host, state: &ServerState, written: &OnceLock<Bytes>) -> HttpResponse {
    if let Some(document) = written.get() {
        return json(StatusCode::OK, document.clone());
    }
    let described = until_cut_off(&state.shutdown, pin!(describe(host, state.settings.public_url.as_deref()))).await;
    let stopped = |_| Err(ToolError::unavailable("the server stopped before the source answered"));
    match described.unwrap_or_else(stopped) {
        Ok(document) => {
            if host.source().fixed().is_some() {
                let _ = written.set(document.clone());
            }
            json(StatusCode::OK, document)
        }
        Err(error) => {
            tracing::warn!(target: "opentool::server", %error, "the tools cannot be described");
            Refusal::unavailable(format!("the tools cannot be described: {error}")).response()
        }
    }
}

async fn describe(host: &Host, public_url: Option<&str>) -> Result<Bytes, ToolError> {
    let toolbox = host.toolbox().await?;
    document::write(&toolbox, public_url).map(Bytes::from)
}
