//! Other protocols beside the routes of OpenTool: [`Frontend`], and what one gets and answers.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use opentool_core::{BoxFuture, Cancellation, ErrorKind, Host, Journal, MemoryBudget, MemoryReservation, TraceContext};

use super::headers::{self, HeaderValues};
use super::record::{CallNote, RunningCall};
use super::response::{self, HttpResponse};
use super::sender::{self, BodySender};
use super::state::ServerState;

/// A way for callers to reach the tools of a server, beside the routes of OpenTool: [`Server::mount`](crate::Server::mount).
///
/// The server checks the API key (unless the frontend [does so](Frontend::authenticates_callers)), `Host` and `Origin` of a request, and reads its body under the limits of size, time and of the
/// bytes held for all requests, before the frontend gets it; the access log, the metrics and the drain are around it. A request
/// that the server refuses is answered with a JSON-RPC error that has no id.
///
/// ```
/// use http::StatusCode;
/// use opentool_core::{BoxFuture, FnTool};
/// use opentool_server::{Frontend, FrontendRequest, FrontendResponse, Server};
///
/// /// Answers how many tools there are.
/// struct Count;
///
/// impl Frontend for Count {
///     fn mount_path(&self) -> &str {
///         "/count"
///     }
///
///     fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse> {
///         Box::pin(async move {
///             match request.host().toolbox().await {
///                 Ok(tools) => FrontendResponse::json(StatusCode::OK, tools.len().to_string()),
///                 Err(_) => FrontendResponse::empty(StatusCode::SERVICE_UNAVAILABLE),
///             }
///         })
///     }
/// }
///
/// # use std::io::{Read, Write};
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new(FnTool::new("now", || "noon")).mount(Count).bind("127.0.0.1:0").await?;
/// # let (addr, handle) = (server.local_addr()?, server.shutdown_handle());
/// # let asked = std::thread::spawn(move || {
/// #     let mut socket = std::net::TcpStream::connect(addr)?;
/// #     socket.write_all(b"GET /count HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
/// #     let mut text = String::new();
/// #     socket.read_to_string(&mut text)?;
/// #     handle.shutdown();
/// #     Ok::<_, std::io::Error>(text)
/// # });
/// server.serve().await;
/// # let text = asked.join().unwrap()?;
/// # assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("\r\n\r\n1"), "{text}");
/// # Ok(()) }
/// ```
pub trait Frontend: Send + Sync + 'static {
    /// Returns the path at which the frontend answers, such as `/mcp`. The prefix of the OpenTool routes is not put before it.
    ///
    /// The server asks once, when the frontend is mounted.
    fn mount_path(&self) -> &str;

    /// Says whether the frontend also answers the paths below its own, which [`FrontendRequest::sub_path`] tells apart: false.
    ///
    /// The server asks once, when the frontend is mounted.
    fn takes_sub_paths(&self) -> bool {
        false
    }

    /// Says whether the frontend itself finds out who calls, so that the server asks for no API key: false.
    ///
    /// For instance a web page, whose files a browser asks for without a key. Such a frontend must not run a call, nor show a
    /// tool, before it knows its caller; [`FrontendRequest::find_key`] is for those who sign in by a key. The server's checks of
    /// `Host` and `Origin` and its limits hold all the same. The server asks once, when the frontend is mounted.
    fn authenticates_callers(&self) -> bool {
        false
    }

    /// Answers a request by its head, before its body is read; none where the body is wanted, as by default.
    ///
    /// A frontend that [authenticates its callers itself](Self::authenticates_callers) refuses callers that it does not know here, so that
    /// they cannot make the server hold their bodies. The request that it gets has no body yet.
    fn answer_head(&self, request: &FrontendRequest<'_>) -> Option<FrontendResponse> {
        let _ = request;
        None
    }

    /// Answers a request that has passed the checks, whatever its method.
    ///
    /// Where the client goes away, the future is dropped.
    fn answer<'a>(&'a self, request: FrontendRequest<'a>) -> BoxFuture<'a, FrontendResponse>;
}

/// A request to a [`Frontend`] that has passed the checks of the server.
pub struct FrontendRequest<'a> {
    parts: &'a Parts,
    sub_path: &'a str,
    body: RequestBody,
    host: &'a Arc<Host>,
    key_name: Option<Arc<str>>,
    trace: Option<TraceContext>,
    state: &'a Arc<ServerState>,
}

impl<'a> FrontendRequest<'a> {
    /// Makes a request without its body.
    pub(super) fn new(
        parts: &'a Parts,
        sub_path: &'a str,
        host: &'a Arc<Host>,
        key_name: Option<Arc<str>>,
        trace: Option<TraceContext>,
        state: &'a Arc<ServerState>,
    ) -> Self {
        Self { parts, sub_path, body: RequestBody::default(), host, key_name, trace, state }
    }

    pub(super) fn set_body(&mut self, body: RequestBody) {
        self.body = body;
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &'a Method {
        &self.parts.method
    }

    /// Returns the headers.
    #[must_use]
    pub fn headers(&self) -> &'a HeaderMap {
        &self.parts.headers
    }

    /// Finds the values of some headers, in the order of the names. One pass over the headers of a request costs less than two look-ups by
    /// name (`scripts/bench mcp`).
    #[must_use]
    pub fn find_headers<const N: usize>(&self, names: [&HeaderName; N]) -> [HeaderValues<'a>; N] {
        headers::find(&self.parts.headers, names)
    }

    /// Returns the path below that of the frontend, as it was sent: empty, or with a slash at its beginning.
    #[must_use]
    pub fn sub_path(&self) -> &'a str {
        self.sub_path
    }

    /// Returns the query of the URL, where there is one.
    #[must_use]
    pub fn query(&self) -> Option<&'a str> {
        self.parts.uri.query()
    }

    /// Takes the body, which counts against the limit of bytes held for as long as it is kept.
    #[must_use]
    pub fn take_body(&mut self) -> RequestBody {
        std::mem::take(&mut self.body)
    }

    /// Returns the tools of the server, with the executor that runs their calls.
    #[must_use]
    pub fn host(&self) -> &'a Arc<Host> {
        self.host
    }

    /// Returns the name of the caller's API key; none where callers need no key.
    #[must_use]
    pub fn key_name(&self) -> Option<&Arc<str>> {
        self.key_name.as_ref()
    }

    /// Says whether the server has API keys.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        self.state.settings.keys.is_some()
    }

    /// Returns the name of an API key, compared in constant time; none where it is no key of this server.
    #[must_use]
    pub fn find_key(&self, key: &str) -> Option<Arc<str>> {
        self.state.settings.keys.as_ref()?.find_secret(key.as_bytes())
    }

    /// Says whether the server has an API key of this name, for what lasts longer than a request.
    #[must_use]
    pub fn has_key_named(&self, name: &str) -> bool {
        self.state.settings.keys.as_ref().is_some_and(|keys| keys.has_name(name))
    }

    /// Returns the prefix of the OpenTool routes: empty, or with a slash at its beginning and none at its end.
    #[must_use]
    pub fn opentool_prefix(&self) -> &str {
        &self.state.settings.prefix
    }

    /// Returns the trace that the request belongs to, which is for the context of the calls that it makes.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    /// Returns the budget of memory that all requests share. In the [context](opentool_core::ToolContext::with_typed) of a call,
    /// it bounds the memory that the check of long arguments takes.
    #[must_use]
    pub fn memory_budget(&self) -> &MemoryBudget {
        &self.state.settings.body.budget
    }

    /// Returns where calls with a key are recorded, for the [context](opentool_core::ToolContext::with_idempotency_key) of a call.
    #[must_use]
    pub fn journal(&self) -> &Arc<dyn Journal> {
        &self.state.settings.journal
    }

    /// Counts a call of a tool in the metrics, for as long as the returned value is kept.
    ///
    /// # Errors
    ///
    /// Where as many calls run as may.
    pub fn count_call(&self, tool: Arc<str>) -> Result<CountedCall, TooManyCalls> {
        self.call_counter().count(tool)
    }

    /// Returns what counts calls as [`count_call`](Self::count_call) does, for calls that are made after the request was answered.
    #[must_use]
    pub fn call_counter(&self) -> CallCounter {
        CallCounter(self.state.clone())
    }

    /// Returns the signal that is given when the server begins to stop: streams without an end should end now.
    #[must_use]
    pub fn stopping(&self) -> Cancellation {
        self.state.shutdown.stop.clone()
    }

    /// Returns the signal that is given when the server waits for calls no longer: what is to be answered must be answered now.
    #[must_use]
    pub fn cut_off(&self) -> Cancellation {
        self.state.shutdown.cut_off.clone()
    }
}

impl fmt::Debug for FrontendRequest<'_> {
    /// Shows neither headers nor the body, in which there may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontendRequest")
            .field("method", self.method())
            .field("body", &self.body)
            .field("key_name", &self.key_name)
            .finish_non_exhaustive()
    }
}

/// The body of a request, which counts against the limit of bytes held until it is dropped.
#[derive(Default)]
pub struct RequestBody {
    bytes: Bytes,
    _reservation: MemoryReservation,
}

impl RequestBody {
    pub(super) fn new(bytes: Bytes, reservation: MemoryReservation) -> Self {
        Self { bytes, _reservation: reservation }
    }

    /// Gives the bytes back and still counts them, for what was copied from them.
    pub fn release(&mut self) {
        self.bytes = Bytes::new();
    }
}

impl Deref for RequestBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({} bytes)", self.bytes.len())
    }
}

/// Counts the calls that a [`Frontend`] makes in the metrics of the server.
#[derive(Clone)]
pub struct CallCounter(Arc<ServerState>);

impl CallCounter {
    /// Counts a call of a tool, for as long as the returned value is kept.
    ///
    /// # Errors
    ///
    /// Where as many calls run as may.
    pub fn count(&self, tool: Arc<str>) -> Result<CountedCall, TooManyCalls> {
        let limit = self.0.settings.max_calls;
        match self.0.metrics.enter(limit) {
            Some(in_flight) => Ok(CountedCall(RunningCall::new(&self.0.metrics, in_flight, tool))),
            None => Err(TooManyCalls { limit }),
        }
    }
}

impl fmt::Debug for CallCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallCounter")
    }
}

/// A call that a [`Frontend`] runs. Dropped before it is finished, it counts as cancelled.
pub struct CountedCall(RunningCall);

impl CountedCall {
    /// Notes how the call ended: why it failed, or `None` where it has a result.
    pub fn finish(&mut self, outcome: Option<ErrorKind>) {
        self.0.finish(outcome);
    }
}

impl fmt::Debug for CountedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CountedCall")
    }
}

/// As many calls run as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many calls in flight: the server runs {limit} at once")]
#[non_exhaustive]
pub struct TooManyCalls {
    /// How many may run.
    pub limit: usize,
}

/// What a [`Frontend`] answers.
pub struct FrontendResponse {
    response: HttpResponse,
    call: Option<CallNote>,
}

impl FrontendResponse {
    /// Answers with JSON.
    #[must_use]
    pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        response::json(status, body).into()
    }

    /// Answers with a body of some type.
    #[must_use]
    pub fn with_body(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        response::with_type(status, content_type, body).into()
    }

    /// Answers without a body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        response::empty(status).into()
    }

    /// Answers with a body that is written piece by piece, for instance server-sent events. It ends when the sender is dropped.
    #[must_use]
    pub fn stream(content_type: HeaderValue) -> (Self, BodySender) {
        let (response, sender) = sender::stream(content_type);
        (response.into(), sender)
    }

    /// Sets a header, replacing one that is there.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.response.headers_mut().insert(name, value);
        self
    }

    /// Names the call in the access log that the response is the answer to.
    #[must_use]
    pub fn with_call(mut self, call: &CountedCall) -> Self {
        self.call = Some(call.0.note());
        self
    }

    pub(super) fn into_parts(self) -> (HttpResponse, Option<CallNote>) {
        (self.response, self.call)
    }
}

impl From<HttpResponse> for FrontendResponse {
    fn from(response: HttpResponse) -> Self {
        Self { response, call: None }
    }
}

impl fmt::Debug for FrontendResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontendResponse").field("status", &self.response.status()).finish_non_exhaustive()
    }
}
