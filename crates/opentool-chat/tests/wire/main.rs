//! Providers on the wire: real HTTP, against a server that says what each of them may say.
//!
//! A binary of its own, since the other one forbids requests for a while.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod anthropic;
mod cancelled;
mod failures;
mod limits;
mod loops;
mod ollama;
mod openai;
mod secrets;
mod sent;
mod server;
mod streams;
mod support;
