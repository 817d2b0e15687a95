//! The Model Context Protocol for opentool.
//!
//! Most agents speak MCP. With this crate, whatever opentool can call (a Rust function, a C library, an OpenTool server) is
//! in front of them: over HTTP, on the port of an [`opentool-server`](https://docs.rs/opentool-server), or over stdio. And
//! the tools of every MCP server can be called like any others.
//!
#![cfg_attr(feature = "server", doc = include_str!("../docs/server.md"))]
//!
#![cfg_attr(feature = "client", doc = include_str!("../docs/client.md"))]
//!
//! # Features
//!
//! - `client`: `McpClient`, the tools of an MCP server.
//! - `server`: `Mcp`, which offers tools to MCP clients.
//! - `axum`: the same as a router for an axum application.
//!
//! None is on by default.

#[cfg(feature = "client")]
mod client;
#[cfg(any(feature = "client", feature = "server"))]
mod line_reader;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::{
    command::ServerCommand,
    error::McpError,
    oauth::login::{OAuthLogin, PendingLogin},
    source::McpClient,
    token_file::TokenFile,
    url::ServerUrl,
};
#[cfg(feature = "client")]
pub use opentool_child::reaper_main;

#[cfg(feature = "server")]
pub use server::mcp::Mcp;

/// The sample of the README is compiled and run.
#[cfg(all(doctest, feature = "client", feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;
