//! The behaviour of `opentool-dyn` on real libraries, which the tests compile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arguments;
mod codes;
mod documents;
mod examples;
mod features;
mod generated;
mod handles;
mod harness;
mod isolation;
mod system;
mod text;
mod types;
