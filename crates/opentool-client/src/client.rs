//! The client of a server: [`Client`].

use std::fmt;
use std::sync::Arc;

use opentool_core::ToolContext;
use opentool_spec::{FunctionCall, Map, OpenTool, ToolReturn, Version};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::answer::read_document;
use crate::link::{Link, Outgoing};
use crate::settings::Settings;
use crate::source::Tools;
use crate::{CallStream, ClientError};

/// What a result that is no object is called in a [`ToolReturn`], which holds only objects.
const RESULT: &str = "result";

/// A client of one OpenTool server.
///
/// It is set up by the methods that take it by value; a mistake in the address or the key is an error of the first
/// request. A clone shares connections and tools. `Debug` does not show the key.
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
    pub(crate) link: Arc<Link>,
    pub(crate) tools: Arc<Tools>,
}

impl Client {
    /// Makes a client of the server at a base URL, http or https.
    ///
    /// Without a path, as in `http://127.0.0.1:9627`, the server is taken to be under `/opentool`; any other path is
    /// taken as given.
    pub fn new(base_url: impl AsRef<str>) -> Self {
        Self::of(Settings::new(base_url.as_ref()))
    }

    fn of(settings: Settings) -> Self {
        Self { link: Arc::new(Link::new(settings)), tools: Arc::default() }
    }

    /// Makes a client with other settings.
    pub(crate) fn change(self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = self.link.settings.clone();
        change(&mut settings);
        Self::of(settings)
    }

    /// Asks for the version of the server.
    ///
    /// # Errors
    ///
    /// Where the server does not answer, or not with a version.
    pub async fn version(&self) -> Result<Version, ClientError> {
        self.link.ask(Outgoing::get("version"), |answer| answer.version()).await
    }

    /// Calls a function.
    ///
    /// A result that is no object, which the spec does not know and some servers send, is returned as
    /// `{"result": …}`; none at all as `{}`.
    ///
    /// # Errors
    ///
    /// Where the function fails, or the server does not answer.
    pub async fn call(&self, call: FunctionCall) -> Result<ToolReturn, ClientError> {
        self.call_in(call, &ToolContext::new()).await
    }

    /// Calls a function on behalf of somebody: until the deadline of a context, unless it is cancelled, in its trace.
    ///
    /// Of the context only that leaves the process. Dropping the future closes the connection, by which a server knows
    /// that nobody waits any more.
    ///
    /// # Errors
    ///
    /// Where the function fails, the server does not answer in time, or the call is cancelled.
    pub async fn call_in(&self, call: FunctionCall, context: &ToolContext) -> Result<ToolReturn, ClientError> {
        let FunctionCall { id, name, arguments, .. } = call;
        let result = self.link.call(&id, &name, params(&arguments)?, context).await?;
        tool_return(id, result.as_deref())
    }

    /// Calls a function and returns what it gives back as it comes.
    ///
    /// The request is sent when the stream is first polled; dropping the stream ends it. An error is the last item.
    pub fn stream_call(&self, call: FunctionCall) -> CallStream {
        CallStream::new(self.link.clone(), call)
    }

    /// Asks for the document that describes the functions; none where the server has none.
    ///
    /// # Errors
    ///
    /// Where the server does not answer, or not with a document that can be read.
    pub async fn load(&self) -> Result<Option<OpenTool>, ClientError> {
        let text = self.link.ask(Outgoing::get("load"), |answer| answer.document()).await?;
        text.as_deref().map(read_document).transpose()
    }

    /// Asks the server to stop, which it does only where its operator allows it.
    ///
    /// # Errors
    ///
    /// Where the server refuses or does not answer.
    pub async fn stop(&self) -> Result<(), ClientError> {
        self.link.ask(Outgoing::post("stop"), |answer| answer.acknowledged()).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.link.settings.fmt(f)
    }
}

/// The arguments of a call, as they are sent.
pub(crate) fn params(arguments: &Map) -> Result<Box<RawValue>, ClientError> {
    to_raw_value(arguments)
        .map_err(|error| ClientError::Setup { reason: format!("the arguments cannot be written: {error}") })
}

/// A result as the spec's SDK interface has it.
pub(crate) fn tool_return(id: String, result: Option<&RawValue>) -> Result<ToolReturn, ClientError> {
    let value = match result {
        // It was read as far as its end, so what can be wrong is only that it is nested too deeply for a value.
        Some(result) => serde_json::from_str(result.get()).map_err(|_| ClientError::ResponseNull { status: 200 })?,
        None => Value::Null,
    };
    let result = match value {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        other => Map::from_iter([(RESULT.to_owned(), other)]),
    };
    Ok(ToolReturn::new(id, result))
}
