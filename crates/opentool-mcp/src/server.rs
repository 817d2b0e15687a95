//! Tools for MCP clients.
//!
//! A message is read ([`message`]) and answered ([`engine`], [`call`], [`listen`]) the same way whatever it came over; [`http`] and
//! [`stdio`] know where it came from and which revision it is of.

mod answer;
mod ask;
mod cache;
mod call;
mod content;
mod definition;
mod engine;
mod error;
mod http;
mod in_flight;
mod json_text;
mod list;
mod listen;
pub(crate) mod mcp;
mod members;
mod message;
mod mirror;
mod pending;
mod random;
mod result;
mod revision;
mod settings;
mod sink;
mod stdio;
