//! The client of a server: [`Client`].

use std::fmt;
use std::sync::Arc;

use opentool_core::ToolContext;
use opentool_spec::{FunctionCall, OpenTool, ToolReturn, Version};

use crate::call_stream::CallStream;
use crate::config::ClientConfig;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::known_tools::KnownTools;
use crate::request::{ServerRequest, call_body};
use crate::response::read_document;
use crate::sdk::{params, tool_return};

/// A client of one OpenTool server.
///
/// The methods that take it by value configure it; a mistake in the address or the key is an error of the first request.
/// A clone shares connections and tools. `Debug` does not show the key.
///
/// ```no_run
/// use opentool_client::{Client, FunctionCall};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new("http://127.0.0.1:9627").api_key("s3cret");
/// let arguments = serde_json::from_str(r#"{"a": 1, "b": 2}"#)?;
/// let returned = client.call(FunctionCall::new("1", "add", arguments)).await?;
/// println!("{}", serde_json::to_string(&returned.result)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) connection: Arc<Connection>,
    pub(crate) tools: Arc<KnownTools>,
}

impl Client {
    /// Makes a client of the server at a base URL, http or https.
    ///
    /// Without a path, as in `http://127.0.0.1:9627`, the server is taken to be under `/opentool`; any other path is
    /// taken as given.
    pub fn new(base_url: impl AsRef<str>) -> Self {
        Self::with_config(ClientConfig::new(base_url.as_ref()))
    }

    fn with_config(config: ClientConfig) -> Self {
        Self { connection: Arc::new(Connection::new(config)), tools: Arc::default() }
    }

    /// Makes a client with other settings.
    pub(crate) fn change(self, change: impl FnOnce(&mut ClientConfig)) -> Self {
        let mut config = self.connection.config.clone();
        change(&mut config);
        Self::with_config(config)
    }

    /// Asks for the version of the server.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or not with a version.
    pub async fn version(&self) -> Result<Version, ClientError> {
        self.connection.ask(ServerRequest::get("version"), |response| response.version()).await
    }

    /// Says whether the server was there at the last request, whatever it answered; none where there was no request yet.
    ///
    /// Nothing is sent.
    #[must_use]
    pub fn is_up(&self) -> Option<bool> {
        self.connection.is_up()
    }

    /// Calls a function.
    ///
    /// A result that is no object, which some servers send against the spec, is returned as `{"result": …}`; an absent one
    /// as `{}`.
    ///
    /// # Errors
    ///
    /// When the function fails, or the server does not answer.
    pub async fn call(&self, call: FunctionCall) -> Result<ToolReturn, ClientError> {
        self.call_in(call, &ToolContext::new()).await
    }

    /// Calls a function in a context: until its deadline, unless it is cancelled, in its trace.
    ///
    /// Nothing else of the context leaves the process. Dropping the future closes the connection, which tells the server
    /// that the caller no longer waits.
    ///
    /// # Errors
    ///
    /// When the function fails, the server does not answer in time, or the call is cancelled.
    pub async fn call_in(&self, call: FunctionCall, context: &ToolContext) -> Result<ToolReturn, ClientError> {
        let FunctionCall { id, name, arguments, .. } = call;
        let body = call_body(&id, &name, &params(&arguments)?)?;
        let request = self.connection.call_request(&name, body);
        let result = self.connection.call(request, context).await?;
        tool_return(id, result.value.as_deref())
    }

    /// Calls a function and returns its results as they come.
    ///
    /// The request is sent when the stream is first polled; dropping the stream ends it. An error is the last item.
    pub fn stream_call(&self, call: FunctionCall) -> CallStream {
        CallStream::new(self.connection.clone(), call)
    }

    /// Asks for the document that describes the functions; none if the server has none.
    ///
    /// # Errors
    ///
    /// When the server does not answer, or its document cannot be read.
    pub async fn load(&self) -> Result<Option<OpenTool>, ClientError> {
        let text = self.connection.ask(ServerRequest::get("load"), |response| response.document()).await?;
        text.as_deref().map(read_document).transpose()
    }

    /// Asks the server to stop, which it does only if its operator allows it.
    ///
    /// # Errors
    ///
    /// When the server refuses or does not answer.
    pub async fn stop(&self) -> Result<(), ClientError> {
        self.connection.ask(ServerRequest::post("stop"), |response| response.acknowledged()).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.connection.config.fmt(f)
    }
}
