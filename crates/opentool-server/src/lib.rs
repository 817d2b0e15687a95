//! The OpenTool HTTP server.
//!
//! It serves tools to every client of the OpenTool client/server spec, also to those that deviate from the spec and from
//! each other. [`Server`] binds an address, serves HTTP or HTTPS, bounds its connections, and drains when it is stopped:
//!
//! ```
//! # use opentool_core::FnTool;
//! # use opentool_server::Server;
//! # #[derive(serde::Deserialize, schemars::JsonSchema)] struct Add { a: i64, b: i64 }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let add = FnTool::new("add", |Add { a, b }| a + b);
//! let server = Server::new(add).api_keys(["s3cret"]).bind("127.0.0.1:0").await?;
//! println!("listening on http://{}/opentool", server.local_addr()?);
//! # server.shutdown_handle().shutdown();
//! server.serve().await;
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! - `tls`: HTTPS (`ConfigBuilder::tls`), over rustls.
//! - `axum`: `router`, the same routes as an `axum::Router`, for an application that has a server already, and
//!   `frontend_router` for a [frontend](Frontend).
//!
//! Neither is on by default.
//!
//! # Routes
//!
//! | route | answers |
//! |---|---|
//! | `GET /opentool/version` | `{"version": "x.y.z"}` |
//! | `POST /opentool/call` | the JSON-RPC answer to one call, HTTP 200 also where the call failed |
//! | `GET /opentool/load` | the tools as a strict OpenTool document; `{}` for a handler without one |
//! | `POST /opentool/streamCall` | server-sent events: what a tool emits while it runs, and its result, both as `data`; to `Accept: text/event-stream;result=named` the result comes as `result` |
//! | `POST /opentool/stop` | stops the server; off unless [enabled](ConfigBuilder::enable_stop) |
//! | `GET /healthz`, `GET /readyz` | 200; `/readyz` 503 once the server drains, and while every [source](ConfigBuilder::source_state) is down. They need no key; with one, `/readyz` names the sources |
//! | `GET /metrics` | Prometheus text |
//!
//! Other protocols are served beside these routes, behind the same checks and limits: [`Server::mount`] takes a [`Frontend`].
//!
//! # Who may call
//!
//! [API keys](ConfigBuilder::api_keys) have names, which is all that logs show of them, and are checked before a body is read. A
//! request of a web page is refused unless its [origin is allowed](ConfigBuilder::allowed_origin), and on a loopback address so is a
//! request addressed to a [host that is not](ConfigBuilder::allowed_host), which is what a page that rebinds its name sends.
//!
//! # Metrics and logs
//!
//! Every tool error is HTTP 200, because clients read other statuses as a server that cannot be reached. So alert on the
//! `outcome` of `opentool_calls_total`, not on statuses:
//!
//! | metric | |
//! |---|---|
//! | `opentool_calls_total{tool,outcome}` | `outcome` is `ok` or the [kind of the error](opentool_core::ErrorKind); names of no tool share the label `_unknown` |
//! | `opentool_call_duration_seconds{tool}` | a histogram |
//! | `opentool_calls_in_flight`, `opentool_blocking_threads_busy`, `opentool_buffered_bytes`, `opentool_connections`, `opentool_draining` | the current state |
//! | `opentool_source_up{source}` | 1 where the source was there when it was last asked; for [sources that say so](ConfigBuilder::source_state) |
//! | `process_resident_memory_bytes` | the memory of the process, on Linux |
//! | `opentool_http_responses_total{status}`, `opentool_connections_evicted_total`, `opentool_connections_refused_total` | refusals are counted here |
//!
//! There is one `tracing` event per request, target `opentool::access`, and one span, target `opentool::request`, which is the parent of
//! the span of the call. The W3C trace context of a request reaches its tools as an [`opentool_core::TraceContext`] in their
//! context, and [`trace_hook`](ConfigBuilder::trace_hook) joins it to the application's own tracing. Neither keys nor arguments nor
//! results are in any of these.

mod config;
mod connections;
mod file;
mod http;
mod limits;
mod listen;
mod log;
mod metrics;
mod process;
#[cfg(feature = "axum")]
mod router;
mod server;
mod shutdown;
mod wire;

pub use crate::http::frontend::{
    CallCounter, CountedCall, Frontend, FrontendRequest, FrontendResponse, RequestBody, TooManyCalls,
};
pub use crate::http::headers::HeaderValues;
pub use crate::http::keys::KeyError;
pub use crate::http::sender::{BodySender, ClientGone};
pub use config::{Config, ConfigBuilder, ConfigError};
pub use connections::bound::BoundServer;
pub use connections::listener::ReloadHandle;
pub use file::FileError;
pub use listen::ListenAddr;
#[cfg(feature = "axum")]
pub use router::{frontend_router, router};
pub use server::{ServeError, Server};
pub use shutdown::ShutdownHandle;
pub use wire::answer::call_answer;
pub use wire::output::call_result;

/// The sample of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
