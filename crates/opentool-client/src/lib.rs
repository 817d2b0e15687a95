//! The HTTP client of OpenTool: it calls the functions of a server and makes them into tools.
//!
//! # Remote tools
//!
//! A server's functions become a [`Toolbox`](opentool_core::Toolbox) like any other:
//!
//! ```no_run
//! use opentool_client::Client;
//! use opentool_core::Executor;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let remote = Client::new("http://127.0.0.1:9627").api_key("s3cret").toolbox().await?;
//! let host = Executor::new().host(remote);
//! println!("{}", host.call("add", r#"{"a": 1, "b": 2}"#).await?.to_text());
//! # Ok(())
//! # }
//! ```
//!
//! For a longer time, pass the client itself: it is a source that is asked per request, and asks the server
//! [from time to time](Client::refresh_after) whether its tools have changed. What a tool does is for the operator to say,
//! because the server's own word is not trusted:
//!
//! ```
//! use opentool_client::Client;
//! use opentool_core::{Executor, ToolMetadata};
//!
//! let client = Client::new("https://tools.example")
//!     .metadata("search", ToolMetadata::new().with_read_only(true).with_idempotent(true))
//!     .metadata("delete", ToolMetadata::new().with_destructive(true));
//! let host = Executor::new().host(client);
//! ```
//!
//! # The spec's own interface
//!
//! [`Client::version`], [`Client::call`] and [`Client::load`] are those of the client/server spec, [`Client::stream_call`] and
//! [`Client::stop`] the Dart SDK's extensions. [`ClientError`] has the spec's exceptions.
//!
//! # Servers that differ from the spec
//!
//! Servers differ from the spec and from each other, and a user should not notice. A JSON-RPC body is read whatever the
//! status. A result may be absent, null, a scalar or a list. An error's message may be the JSON of another error, and an
//! error may be sent [as a result](Client::errors_in_results). There are five ways to say that there is no document.
//!
//! # Safety
//!
//! Redirects are not followed, because a server could then choose who gets the key. The key is in no error, no log and no
//! `Debug`. A call is sent once, unless its tool was [declared idempotent](Client::metadata). Answers have a
//! [size limit](Client::max_response_size), and requests a [time limit](Client::timeout). Proxies of the environment are
//! used for https only.

// The sample of the README is compiled too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod address;
mod builder;
mod call_stream;
mod client;
mod config;
mod connection;
mod error;
mod known_tools;
mod output;
mod remote;
mod request;
mod response;
mod sdk;
mod source;
mod stream;

pub use call_stream::CallStream;
pub use client::Client;
pub use error::ClientError;
pub use opentool_spec::{FunctionCall, OpenTool, ToolReturn, Version};
