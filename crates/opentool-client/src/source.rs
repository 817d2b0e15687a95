//! A server as a source of tools.

use std::sync::Arc;

use opentool_core::{BoxFuture, Tool, ToolChanges, ToolDefinition, ToolError, ToolSource, Toolbox, ToolboxError};
use opentool_spec::OpenTool;
use serde_json::json;

use crate::address::Address;
use crate::client::Client;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::remote::RemoteTool;
use crate::request::ServerRequest;
use crate::response::read_document;

impl Client {
    /// Asks the server for its functions and makes them into tools.
    ///
    /// ```no_run
    /// # use opentool_client::{Client, ClientError};
    /// # async fn run() -> Result<(), ClientError> {
    /// let remote = Client::new("http://127.0.0.1:9627").api_key("s3cret").toolbox().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The toolbox does not change afterwards. The client itself is a [source](ToolSource) of tools, which asks again when
    /// its tools are older than [`refresh_after`](Self::refresh_after).
    ///
    /// A server without a document gives an [open](Toolbox::is_open) toolbox: calls of every name are sent unchecked. A
    /// function that cannot be a tool is left out, with a warning in the log.
    ///
    /// A call passes on its deadline, its cancellation and its [trace](opentool_core::TraceContext), and nothing else of
    /// its context. Its output is what the function returned: servers answer with an object in which a scalar or a list
    /// stands alone under the name of the document's `return`; the client unwraps it, unless the document says that the
    /// function returns an object. A string that was declared as one is text. `{}` is no value.
    ///
    /// If the call is watched, and the server can stream, values that the function returns while it runs are
    /// [emitted](opentool_core::ToolContext::emit); the last one is the result, unless the server says which is.
    ///
    /// # Errors
    ///
    /// When the server does not answer, its document cannot be read, or two of its functions have the same name.
    pub async fn toolbox(&self) -> Result<Toolbox, ClientError> {
        let document = self.connection.ask(ServerRequest::get("load"), |response| response.document()).await?;
        if let Some(known) = self.tools.get()
            && known.document.as_deref() == document.as_deref()
        {
            // The document has not changed, so the schemas need not be compiled again.
            self.tools.set(known.document, &known.toolbox);
            return Ok(known.toolbox);
        }
        let toolbox = match &document {
            None => Toolbox::open(tool_of_any_name(self.connection.clone())),
            Some(text) => self.toolbox_from_document(&read_document(text)?).map_err(invalid_document)?,
        };
        self.tools.set(document.map(Into::into), &toolbox);
        Ok(toolbox)
    }

    /// Makes tools from a document without asking the server; their calls go to the server.
    ///
    /// # Errors
    ///
    /// When two functions have the same name.
    pub fn toolbox_from_document(&self, document: &OpenTool) -> Result<Toolbox, ToolboxError> {
        let mut toolbox = Toolbox::new().with_info_of(document);
        for function in &document.functions {
            match ToolDefinition::from_function(document, function) {
                Ok(definition) => {
                    let metadata = self.connection.config.metadata_for(&function.name);
                    toolbox.add(RemoteTool::new(definition, metadata, self.connection.clone()))?;
                }
                Err(error) => tracing::warn!(%error, "a function of the server cannot be a tool; it is left out"),
            }
        }
        // A toolbox may be published, and anything but a plain address may contain a secret.
        Ok(match &document.server {
            Some(server) if Address::parse(&server.url).is_ok() => toolbox.with_server(server.clone()),
            _ => toolbox,
        })
    }
}

/// The client is asked for its tools per request, and asks the server when they are too old.
///
/// When the server cannot be reached, its last known tools stay: each call then reports that the server is unavailable, and
/// the tools of other sources keep working.
impl ToolSource for Client {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async move {
            let max_age = self.connection.config.refresh_after;
            if let Some(toolbox) = self.tools.fresh(max_age) {
                return Ok(toolbox);
            }
            let _asking = self.tools.asking.lock().await;
            if let Some(toolbox) = self.tools.fresh(max_age) {
                return Ok(toolbox);
            }
            match (Client::toolbox(self).await, self.tools.get()) {
                (Ok(toolbox), _) => Ok(toolbox),
                (Err(error @ (ClientError::NoAccess { .. } | ClientError::Timeout { .. })), Some(known)) => {
                    tracing::warn!(%error, "the server could not be asked for its tools; its last known tools stay");
                    self.tools.set(known.document, &known.toolbox);
                    Ok(known.toolbox)
                }
                (Err(error), _) => Err(error.into()),
            }
        })
    }

    fn changes(&self) -> Option<ToolChanges> {
        None
    }
}

fn invalid_document(error: ToolboxError) -> ClientError {
    ClientError::InvalidDocument { reason: error.to_string() }
}

/// Makes a tool of any name, for a server without a document.
fn tool_of_any_name(connection: Arc<Connection>) -> impl Fn(&str) -> Option<Arc<dyn Tool>> + Send + Sync + 'static {
    move |name| {
        // A name that no tool can have is an unknown tool.
        let definition = ToolDefinition::builder(name).input_schema(json!({ "type": "object" })).build().ok()?;
        let metadata = connection.config.metadata_for(name).with_checks_own_arguments(true);
        Some(Arc::new(RemoteTool::new(definition, metadata, connection.clone())))
    }
}
