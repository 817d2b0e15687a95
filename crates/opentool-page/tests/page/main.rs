//! The page over real sockets: who gets in, what they can do, and what bounds them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod browser;
mod bundle;
mod calling;
mod chatting;
mod deciding;
mod files;
mod limits;
mod signing_in;
mod tools;
