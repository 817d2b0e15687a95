//! The behaviour of a chat, one test per promise, each in one piece and streamed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[macro_use]
mod support;

mod answers;
mod approval;
mod arguments;
mod assembly;
mod calls;
mod context;
mod control;
mod defaults;
mod ends;
mod errors;
mod guard;
#[cfg(target_os = "linux")]
mod killed_runs;
mod limits;
mod memory;
mod middleware;
mod names;
mod property;
mod questions;
mod replay;
mod requests;
mod resume;
mod runs;
#[cfg(feature = "signing")]
mod signed;
mod spans;
mod streaming;
mod typed;
mod wire;
