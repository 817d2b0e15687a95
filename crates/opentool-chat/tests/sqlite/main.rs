//! The memory in a file as several processes meet it, some of which are killed, and on a disk that is full.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(unix)]
mod full;
mod killed;
