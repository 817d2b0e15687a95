//! The tools of MCP servers, over rmcp's client. Its types stay inside.
//!
//! Lower modules first: `settings`, `error` and `text` are used by all. `command` and `url` say where a server is; `child` runs a
//! program, `lines` speaks with it, `http` with a URL, with the tokens of `oauth`. `names`, `schema_cost`, `definition` and `output` turn what a server says into what the
//! core knows. `questions` are those of a server in the middle of a call, whose time `call_clock` measures; `events` follows what else
//! comes unasked, `availability` whether anything does. `live` is one connection, `link` makes and renews it, `tool` and `source` are
//! the tools.

pub(crate) mod availability;
pub(crate) mod call_clock;
pub(crate) mod child;
pub(crate) mod command;
pub(crate) mod definition;
pub(crate) mod end_report;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod http;
pub(crate) mod lines;
pub(crate) mod link;
pub(crate) mod live;
pub(crate) mod names;
pub(crate) mod oauth;
pub(crate) mod output;
pub(crate) mod questions;
pub(crate) mod schema_cost;
pub(crate) mod settings;
pub(crate) mod source;
pub(crate) mod text;
pub(crate) mod token_file;
pub(crate) mod tool;
pub(crate) mod url;
