//! The server over a real socket, spoken to byte by byte as its clients do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod doors;
mod drain;
mod limits;
mod mounted;
mod operator;
mod raw;
mod secrets;
mod streams;
mod tls;
mod tools;
