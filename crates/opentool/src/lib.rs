//! Tool calling: describe a function, run it safely, send the result back.
//!
//! A language model can ask for a tool to be called. This crate describes the tools to the model, checks the arguments, runs the
//! calls, and returns the results. Everything that can be called becomes a [`Tool`], and every way of calling goes through one
//! [`Executor`].
//!
//! # A first tool
//!
//! A tool is a plain function with types and docs:
//!
//! ```
//! use opentool::prelude::*;
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Executor::new().host(add::tool());
//! let answer = host.call("add", r#"{"a": 1, "b": 2}"#).await?;
//! assert_eq!(answer.to_text(), "3");
//! assert_eq!(add(1, 2), 3);
//! # Ok(())
//! # }
//! ```
//!
//! # Tools with state
//!
//! The methods of a type become tools together. Doc comments are what the model reads:
//!
//! ```
//! # use jiff::Timestamp;
//! # #[derive(serde::Serialize, schemars::JsonSchema)]
//! # struct Alarm { time: Timestamp, label: Option<String>, tenant: Option<String> }
//! # #[derive(Debug, thiserror::Error)]
//! # #[error("an alarm cannot ring in the past")]
//! # struct AlarmError;
//! # struct Clock { now: Timestamp }
//! # impl Clock { fn new() -> Self { Self { now: Timestamp::UNIX_EPOCH } } }
//! use opentool::prelude::*;
//!
//! #[toolbox]
//! impl Clock {
//!     /// Get the current date and time in the user's time zone.
//!     #[tool]
//!     fn current_date_time(&self) -> String {
//!         self.now.to_string()
//!     }
//!
//!     /// Set a user alarm.
//!     #[tool(return_direct)]
//!     async fn set_alarm(
//!         &self,
//!         /// Time in ISO-8601 format.
//!         time: Timestamp,
//!         /// What to say when it rings.
//!         label: Option<String>, // Option = not required, never a null union
//!         ctx: &ToolContext,     // never in the schema, never sent to a model
//!     ) -> Result<Alarm, AlarmError> {
//!         // An error's text goes to the model; ToolError::fatal(e) goes to the caller.
//!         if time < self.now {
//!             return Err(AlarmError);
//!         }
//!         let tenant = ctx.get("tenant").and_then(|tenant| tenant.as_str()).map(str::to_owned);
//!         Ok(Alarm { time, label, tenant })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let executor = Executor::new();
//! let host = executor.host(Clock::new());
//! assert_eq!(host.call("current_date_time", "{}").await?.to_text(), "1970-01-01T00:00:00Z");
//! # let toolbox = host.toolbox().await?;
//! # let schema = toolbox.get("set_alarm").unwrap().definition().input_schema().to_string();
//! # assert_eq!(schema, r#"{"type":"object","properties":{"time":{"type":"string","description":"Time in ISO-8601 format.","format":"date-time"},"label":{"type":"string","description":"What to say when it rings."}},"required":["time"],"additionalProperties":false}"#);
//! # let error = host.call("set_alarm", r#"{"time": "1969-12-31T00:00:00Z"}"#).await.unwrap_err();
//! # assert_eq!(error.message(), "an alarm cannot ring in the past");
//! # let context = ToolContext::new().with("tenant", "acme");
//! # let call = ToolCall::new("1", "set_alarm", r#"{"time": "2030-01-01T00:00:00Z"}"#);
//! # let outcome = host.run(call, &context).await;
//! # assert!(outcome.return_direct);
//! # assert!(outcome.result?.to_text().contains("acme"));
//! # Ok(())
//! # }
//! ```
//!
//! See [`#[tool]`](macro@tool) and [`#[toolbox]`](macro@toolbox) for everything they understand.
//!
//! # Closures, and tools made at run time
//!
//! A closure takes a struct, since its parameters have no names; a value or a future, with or without context. With a
//! schema of your own it is a tool made at run time. See [`FnTool`].
//!
//! ```
//! # use std::fs;
//! # use opentool::prelude::*;
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Add { a: i64, b: i64 }
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct File { path: String }
//! # let tools = [
//! FnTool::new("add", |i: Add| i.a + i.b)
//! # ,
//! # FnTool::fallible("x", || Ok(())),
//! # ];
//! # let tool =
//! FnTool::fallible("size", |i: File, cx: ToolContext| async move { Ok(fs::metadata(i.path)?.len()) })
//! # ;
//! # let toolbox = Toolbox::from_tools(tools)?.with(tool)?;
//! # assert_eq!(toolbox.names().collect::<Vec<_>>(), ["add", "x", "size"]);
//! # Ok::<(), opentool::ToolboxError>(())
//! ```
//!
//! # Sets of tools
//!
//! A [`Toolbox`] is an ordered set of tools with unique names, which can be filtered, renamed, prefixed and merged. Every
//! API that takes tools accepts tools, toolboxes, `#[toolbox]` types, [handlers](ToolHandler) and
//! [sources](ToolSource) that are asked per request, and tuples of all these ([`IntoToolSource`]).
//!
//! ```
//! use opentool::prelude::*;
//!
//! let files = Toolbox::from_tools([FnTool::new("read", || "text").read_only(), FnTool::new("delete", || ()).destructive()])?;
//! let safe = files.filter(|tool| !tool.metadata().is_destructive()).prefix("file_")?;
//! let host = Executor::new().host((safe, FnTool::new("ping", || "pong")));
//! # let names = ["file_read", "ping"];
//! # let rt = tokio::runtime::Builder::new_current_thread().build()?;
//! # assert_eq!(rt.block_on(host.toolbox())?.names().collect::<Vec<_>>(), names);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Running calls
//!
//! With your own model client, pass the calls of a model's answer to the executor. They are checked against the schemas, run
//! concurrently under limits and deadlines, and each has exactly one outcome, in the order of the calls:
//!
//! ```
//! use opentool::prelude::*;
//! # #[tool]
//! # fn add(a: i64, b: i64) -> i64 { a + b }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let tools = Toolbox::from_tools([add::tool()])?;
//! # let executor = Executor::new();
//! let mut turn = Turn::new();
//! let context = ToolContext::new().with("tenant", "acme");
//! let calls = vec![
//!     ToolCall::new("call_1", "add", r#"{"a": 1, "b": 2}"#),
//!     ToolCall::new("call_2", "add", r#"{"a": 1, "b": "two"}"#),
//!     ToolCall::new("call_3", "ad", "{}"),
//! ];
//! let outcomes = executor.run(&tools, calls, &mut turn, &context).finish().await;
//! assert_eq!(outcomes[0].output().unwrap().to_text(), "3");
//! assert_eq!(outcomes[1].error().unwrap().kind(), ErrorKind::InvalidArguments);
//! assert_eq!(outcomes[2].error().unwrap().message(), "there is no tool named `ad`; did you mean `add`?");
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! Every failure of a call is one [`ToolError`], which keeps the text for the model apart from the detail for the
//! operator. In a fallible tool `?` works on every `std::error::Error`; a [`ToolError`] passes through as it is:
//!
//! ```
//! use opentool::prelude::*;
//!
//! #[tool]
//! fn withdraw(amount: u32) -> Result<(), Failure> {
//!     if amount > 100 {
//!         return Err(Failure::new("at most 100 a day")); // the model gets it and may try again
//!     }
//!     std::fs::metadata("/nowhere").map_err(ToolError::fatal)?; // ends the turn and reaches the caller
//!     Ok(())
//! }
//! # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # let host = Executor::new().host(withdraw::tool());
//! # assert_eq!(rt.block_on(host.call("withdraw", r#"{"amount":101}"#)).unwrap_err().message(), "at most 100 a day");
//! # assert!(rt.block_on(host.call("withdraw", r#"{"amount":1}"#)).unwrap_err().is_fatal());
//! ```
//!
#![cfg_attr(feature = "server", doc = include_str!("../docs/server.md"))]
#![cfg_attr(feature = "client", doc = include_str!("../docs/client.md"))]
#![cfg_attr(feature = "dyn", doc = include_str!("../docs/dyn.md"))]
#![cfg_attr(all(feature = "chat", feature = "testing"), doc = include_str!("../docs/chat.md"))]
//! # Features
//!
//! - `macros` (default): [`#[tool]`](macro@tool) and [`#[toolbox]`](macro@toolbox).
//! - `server`: `opentool::server`, which serves tools over HTTP.
//! - `tls`, `axum`: the same over HTTPS, and as a router for an axum application.
//! - `mcp`: `opentool::mcp`, which offers tools to MCP clients; turns `server` on.
//! - `mcp-client`: `opentool::mcp::McpClient`, which makes tools of an MCP server.
//! - `client`: `opentool::client`, which makes tools of another server.
//! - `dyn`: `opentool::opendyn`, which makes tools of C libraries.
//! - `describe`: `opentool::describe`, which writes the documents of C libraries from their headers.
//! - `chat`: `opentool::chat`, models that call tools.
//! - `journal`: `opentool::journal::SqliteJournal`, calls and runs that survive a crash.
//! - `page`: `opentool::page`, a web page for the tools of a server; turns `server` on.
//! - `sqlite`: `opentool::chat::SqliteMemory`, conversations in an SQLite file; turns `chat` on.
//! - `testing`: test kits for tools and for chats.

#[doc(inline)]
pub use opentool_core::*;
/// The documents as data: OpenTool, OpenDyn, and the messages of client and server.
pub use opentool_spec as spec;

#[cfg(feature = "chat")]
#[doc(inline)]
pub use opentool_chat as chat;
#[cfg(feature = "client")]
#[doc(inline)]
pub use opentool_client as client;
#[cfg(feature = "describe")]
#[doc(inline)]
pub use opentool_describe as describe;
#[cfg(feature = "dyn")]
#[doc(inline)]
pub use opentool_dyn as opendyn;
#[cfg(feature = "journal")]
#[doc(inline)]
pub use opentool_journal as journal;
#[cfg(any(feature = "mcp", feature = "mcp-client"))]
#[doc(inline)]
pub use opentool_mcp as mcp;
#[cfg(feature = "page")]
#[doc(inline)]
pub use opentool_page as page;
#[cfg(feature = "server")]
#[doc(inline)]
pub use opentool_server as server;

#[cfg(feature = "macros")]
#[doc = include_str!("../docs/tool.md")]
#[doc(inline)]
pub use opentool_macros::facade_tool as tool;
#[cfg(feature = "macros")]
#[doc = include_str!("../docs/toolbox.md")]
#[doc(inline)]
pub use opentool_macros::facade_toolbox as toolbox;

/// What most programs that have tools need: `use opentool::prelude::*`.
pub mod prelude {
    pub use opentool_core::{
        Ask, Chain, Decision, DeclaredTools, ErrorKind, ErrorSeverity, Executor, Failure, FnTool, Host, Limits,
        Middleware, Resolver, ResultConverter, Text, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
        ToolMetadata, ToolOutput, ToolSource, Toolbox, Turn,
    };

    #[cfg(feature = "sqlite")]
    pub use opentool_chat::SqliteMemory;
    #[cfg(feature = "chat")]
    pub use opentool_chat::provider::{Anthropic, AzureOpenAi, Gemini, Ollama, OpenAi, OpenAiResponses};
    #[cfg(feature = "chat")]
    pub use opentool_chat::{
        AnswerEvent, AnswerForm, AtLimit, ChatClient, ChatError, ChatEvent, ChatMemory, ChatModel, ChatOptions,
        ChatResponse, ConcurrencyLimit, DefaultToolCallingManager, Fallback, InProcessMemory, Message, Prompt,
        RateLimit, RunState, SummarisingMemory, TokenWindow, ToolCallingManager, ToolChoice, TurnEnd,
    };
    #[cfg(feature = "client")]
    pub use opentool_client::{Client, ClientError};
    #[cfg(feature = "dyn")]
    pub use opentool_dyn::DynLibrary;
    #[cfg(feature = "mcp")]
    pub use opentool_mcp::Mcp;
    #[cfg(feature = "mcp-client")]
    pub use opentool_mcp::{McpClient, ServerCommand, ServerUrl};
    #[cfg(feature = "server")]
    pub use opentool_server::{ServeError, Server};

    #[cfg(feature = "macros")]
    pub use crate::{tool, toolbox};
}

/// The samples of the README are compiled and run.
#[cfg(all(doctest, feature = "macros", feature = "mcp", feature = "chat"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So are those of the page about HTTP.
#[cfg(all(doctest, feature = "macros", feature = "server", feature = "client"))]
#[doc = include_str!("../../../docs/http.md")]
struct HttpPage;

/// So is that of the guide to durable calls.
#[cfg(all(doctest, feature = "macros", feature = "journal", feature = "chat", feature = "testing"))]
#[doc = include_str!("../../../docs/durable.md")]
struct DurableGuide;

/// So is that of the guide to the page.
#[cfg(all(doctest, feature = "macros", feature = "page"))]
#[doc = include_str!("../../../docs/page.md")]
struct PageGuide;

/// So are those of the page on providers.
#[cfg(all(doctest, feature = "chat"))]
#[doc = include_str!("../../../docs/providers.md")]
struct Providers;

/// So is that of the crate.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../README.md")]
struct CrateReadme;
