//! The server over real sockets and pipes, spoken to message by message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod asking;
mod calls;
mod client;
mod hostile;
mod judged_by_rmcp;
mod legacy;
mod lists;
mod stateless;
mod stdio;
mod streams;
mod tools;
