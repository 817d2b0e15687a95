//! The samples of `docs/tool-calling.md`, compiled, and run against scripted models.
#![cfg(all(feature = "macros", feature = "sqlite", feature = "testing"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// The samples are written as they would stand in a library.
#![allow(unreachable_pub)]

mod document;
// With every feature that an example needs, so that it was built.
#[cfg(all(
    feature = "axum",
    feature = "client",
    feature = "dyn",
    feature = "journal",
    feature = "mcp",
    feature = "mcp-client"
))]
#[cfg(target_os = "linux")]
mod examples;
mod new_crate;
// Laid out as the document shows them.
#[rustfmt::skip]
mod beyond;
#[rustfmt::skip]
mod context;
#[rustfmt::skip]
mod errors;
#[rustfmt::skip]
mod execution;
#[rustfmt::skip]
mod functions;
#[rustfmt::skip]
mod methods;
#[rustfmt::skip]
mod names;
#[rustfmt::skip]
mod quick_start;
#[rustfmt::skip]
mod specification;

use std::error::Error;

use opentool::chat::testing::{Reply, ScriptedModel};
use opentool::prelude::*;

type Tested = Result<(), Box<dyn Error>>;

/// A model that calls a tool and then says something, and what it was asked.
fn calling(tool: &str, arguments: &str, text: &str) -> (ChatModel, ScriptedModel) {
    let script = ScriptedModel::new([Reply::call(tool, arguments), Reply::text(text)]);
    (ChatModel::new(script.clone()), script)
}

/// What the model got from the tool that it called first.
fn tool_text(script: &ScriptedModel) -> String {
    script.requests()[1].messages.iter().flat_map(|message| message.answers()).next().unwrap().text.to_string()
}
