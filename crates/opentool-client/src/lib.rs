//! The HTTP client of OpenTool: calls the functions of a server, and makes them into tools.
//!
//! # Somebody else's tools
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
//! Where tools are wanted for long, give the client itself: it is a source that is asked per request, and asks the server
//! [now and then](Client::refresh_after) whether its tools have changed. What the operator knows about a tool is said
//! here, since the server's own word is not taken for it:
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
//! # What it puts up with
//!
//! Servers disagree with the spec and with each other, and a user should not notice. A JSON-RPC body is read whatever the
//! status. A result may be absent, null, a scalar or a list. An error's message may be the JSON of an error, and a
//! result may be an error [in disguise](Client::errors_in_results). No document may be said in five ways.
//!
//! # What it does not put up with
//!
//! Redirects are not followed, since whoever redirects would choose who gets the key. The key is in no error, no log and
//! no `Debug`. A call is sent once, unless its tool was [declared idempotent](Client::metadata). Answers
//! have a [limit](Client::max_response_size), and requests a [time](Client::timeout). Proxies of the environment are used
//! for https only.

mod address;
mod answer;
mod client;
mod error;
mod http;
mod link;
mod remote;
mod settings;
mod source;
mod stream;

pub use client::Client;
pub use error::ClientError;
pub use opentool_spec::{FunctionCall, OpenTool, ToolReturn, Version};
pub use stream::CallStream;
