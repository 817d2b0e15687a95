//! A server as a source of tools.

use std::sync::{Arc, Mutex, PoisonError};

use opentool_core::{BoxFuture, Tool, ToolChanges, ToolDefinition, ToolError, ToolSource, Toolbox, ToolboxError};
use opentool_spec::OpenTool;
use serde_json::json;
use tokio::time::Instant;

use crate::address::Address;
use crate::answer::read_document;
use crate::link::{Link, Outgoing};
use crate::remote::RemoteTool;
use crate::{Client, ClientError};

/// The tools of a server, as they were when somebody last asked.
#[derive(Default)]
pub(crate) struct Tools {
    known: Mutex<Option<Known>>,
    /// Held by whoever asks the server, so that many who want the tools at once ask once.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Known {
    /// The document as it came; none where the server has none.
    document: Option<Arc<str>>,
    toolbox: Toolbox,
    at: Instant,
}

impl Tools {
    fn known(&self) -> Option<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, document: Option<Arc<str>>, toolbox: &Toolbox) {
        let known = Known { document, toolbox: toolbox.clone(), at: Instant::now() };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }
}

impl Client {
    /// Asks the server for its functions and makes tools of them.
    ///
    /// ```no_run
    /// # use opentool_client::{Client, ClientError};
    /// # async fn run() -> Result<(), ClientError> {
    /// let remote = Client::new("http://127.0.0.1:9627").api_key("s3cret").toolbox().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The toolbox is that of this moment. The client itself is a [source](ToolSource) of tools, which asks again
    /// when what it knows is older than [`refresh_after`](Self::refresh_after) says.
    ///
    /// A server without a document gives an [open](Toolbox::is_open) toolbox: calls of every name go through
    /// unchecked. A function that cannot be a tool is left out, with a warning in the log.
    ///
    /// A call passes on its deadline, its cancellation and its [trace](opentool_core::TraceContext), and nothing else
    /// of its context. Its result is what the function returned: servers answer with an object, in which a scalar or a
    /// list stands alone under the name of the document's `return`; it is taken out of there, unless the document
    /// says that the function returns an object. A string that was declared as one is text. `{}` is no value.
    ///
    /// Where somebody watches the call, and the server can stream, what the function gives back while it runs is
    /// [emitted](opentool_core::ToolContext::emit); the last of it is the result, unless the server says which is.
    ///
    /// # Errors
    ///
    /// Where the server does not answer, its document cannot be read, or two of its functions have the same name.
    pub async fn toolbox(&self) -> Result<Toolbox, ClientError> {
        let document = self.link.ask(Outgoing::get("load"), |answer| answer.document()).await?;
        if let Some(known) = self.tools.known()
            && known.document.as_deref() == document.as_deref()
        {
            // The same document again: the schemas need not be compiled again.
            self.tools.keep(known.document, &known.toolbox);
            return Ok(known.toolbox);
        }
        let toolbox = match &document {
            None => Toolbox::open(unlisted(self.link.clone())),
            Some(text) => self.toolbox_of(&read_document(text)?).map_err(invalid_document)?,
        };
        self.tools.keep(document.map(Into::into), &toolbox);
        Ok(toolbox)
    }

    /// Makes tools of a document that is at hand; their calls go to this server.
    ///
    /// # Errors
    ///
    /// Where two functions have the same name.
    pub fn toolbox_of(&self, document: &OpenTool) -> Result<Toolbox, ToolboxError> {
        let mut toolbox = Toolbox::new().with_title(&document.info.title).with_version(&document.info.version);
        for function in &document.functions {
            match ToolDefinition::from_function(document, function) {
                Ok(definition) => {
                    let metadata = self.link.settings.metadata_of(&function.name);
                    toolbox.add(RemoteTool::new(definition, metadata, self.link.clone()))?;
                }
                Err(error) => tracing::warn!(%error, "a function of the server cannot be a tool; it is left out"),
            }
        }
        // What is no plain address may have a secret in it, and a toolbox may be shown to others.
        Ok(match &document.server {
            Some(server) if Address::parse(&server.url).is_ok() => toolbox.with_server(server.clone()),
            _ => toolbox,
        })
    }

    /// The tools as they are known, unless that is too long ago.
    fn fresh(&self) -> Option<Toolbox> {
        let known = self.tools.known()?;
        (known.at.elapsed() < self.link.settings.refresh_after).then_some(known.toolbox)
    }
}

/// A client is asked for its tools per request, and asks the server now and then.
///
/// Where the server cannot be reached, the tools it had are still there: each call then says that it is not, and the
/// tools of other sources go on working.
impl ToolSource for Client {
    fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
        Box::pin(async move {
            if let Some(toolbox) = self.fresh() {
                return Ok(toolbox);
            }
            let _asking = self.tools.asking.lock().await;
            if let Some(toolbox) = self.fresh() {
                return Ok(toolbox);
            }
            match (Client::toolbox(self).await, self.tools.known()) {
                (Ok(toolbox), _) => Ok(toolbox),
                (Err(error @ (ClientError::NoAccess { .. } | ClientError::Timeout { .. })), Some(known)) => {
                    tracing::warn!(%error, "the server's tools could not be asked for; keeping those it had");
                    self.tools.keep(known.document, &known.toolbox);
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
fn unlisted(link: Arc<Link>) -> impl Fn(&str) -> Option<Arc<dyn Tool>> + Send + Sync + 'static {
    move |name| {
        // A name that no tool can have is an unknown tool.
        let definition = ToolDefinition::builder(name).input_schema(json!({ "type": "object" })).build().ok()?;
        let metadata = link.settings.metadata_of(name).with_checks_own_arguments(true);
        Some(Arc::new(RemoteTool::new(definition, metadata, link.clone())))
    }
}
