//! The server over real sockets and pipes, spoken to message by message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asking;
mod calls;
mod client;
#[cfg(all(feature = "client", unix))]
mod client_chain;
#[cfg(all(feature = "client", unix))]
mod client_child;
#[cfg(all(feature = "client", unix))]
mod client_hostile;
#[cfg(feature = "client")]
mod client_http;
#[cfg(all(feature = "client", unix))]
mod client_login;
#[cfg(all(feature = "client", unix))]
mod client_memory;
#[cfg(all(feature = "client", unix))]
mod client_questions;
#[cfg(all(feature = "client", unix))]
mod client_servers;
#[cfg(all(feature = "client", unix))]
mod client_time;
mod hostile;
mod judged_by_rmcp;
mod legacy;
mod lists;
#[cfg(all(feature = "client", unix))]
mod oauth_server;
mod stateless;
mod stdio;
mod streams;
mod tools;
