//! The server over a real socket, spoken to byte by byte as its clients do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod answers;
mod client;
mod drain;
mod frontends;
mod half_close;
mod hostile;
mod idempotency;
mod large_bodies;
mod limits;
mod listening;
mod operator;
mod outputs;
mod replace;
#[cfg(feature = "axum")]
mod router;
mod secrets;
mod sources;
mod streams;
#[cfg(feature = "tls")]
mod tls;
mod tools;
