//! `/load`: the tools as a document that no client chokes on.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use opentool_core::{ToolError, Toolbox};
use opentool_spec::ServerObject;
use tokio::time::timeout;

use crate::answer::{Answer, Fault, json};
use crate::endpoint::Endpoint;

/// How long a source may take to say which tools it has: as long as a call.
const PATIENCE: Duration = Duration::from_secs(30);

impl Endpoint {
    pub(crate) async fn load(&self) -> Answer {
        if let Some(document) = self.document.get() {
            return json(StatusCode::OK, document.clone());
        }
        let written = match self.host.source().fixed() {
            Some(toolbox) => self.write(toolbox).inspect(|document| {
                let _ = self.document.set(document.clone());
            }),
            None => match self.toolbox().await {
                Ok(toolbox) => self.write(&toolbox),
                Err(error) => Err(error),
            },
        };
        match written {
            Ok(document) => json(StatusCode::OK, document),
            Err(error) => {
                tracing::warn!(target: "opentool::server", %error, "the tools cannot be described");
                Fault::unavailable(format!("the tools cannot be described: {error}")).answer()
            }
        }
    }

    /// Asks the source for its tools, but not for ever.
    pub(crate) async fn toolbox(&self) -> Result<Toolbox, ToolError> {
        match timeout(PATIENCE, self.host.toolbox()).await {
            Ok(answered) => answered,
            Err(_) => Err(ToolError::unavailable("the source of the tools does not answer")),
        }
    }

    fn write(&self, toolbox: &Toolbox) -> Result<Bytes, ToolError> {
        if toolbox.is_open() && toolbox.is_empty() {
            // A handler without a document.
            return Ok(Bytes::from_static(b"{}"));
        }
        let written = toolbox.to_document().map_err(ToolError::fatal)?;
        for dropped in &written.dropped {
            tracing::debug!(target: "opentool::server", ?dropped, "not in the document");
        }
        let mut strict = written.document.to_strict();
        for cut in &strict.cuts {
            tracing::warn!(target: "opentool::server", %cut, "cut from the document");
        }
        if let Some(url) = &self.settings.public_url {
            strict.document.server = Some(ServerObject::new(url));
        }
        serde_json::to_vec(&strict.document).map(Bytes::from).map_err(ToolError::fatal)
    }
}
