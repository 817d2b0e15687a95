//! The memory in a file as several processes meet it, some of which are killed.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod killed;
