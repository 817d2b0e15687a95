//! The behaviour of `opentool-dyn` on real libraries, which the tests compile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;
mod isolation;
mod types;
