//! A web page for the tools of an opentool server.
//!
//! [`Page`] is a [frontend](opentool_server::Frontend) of a [`Server`](opentool_server::Server), mounted at `/ui`: people look at the tools, call them
//! from a form, see what was sent and answered, chat with a model that calls them, and decide about runs. Its files are part of the
//! program.
#![doc = include_str!("../README.md")]
//!
//! # Who may use it
//!
//! The page's files are public, everything below `/ui/api` needs a session. A session begins with a token that is good for one
//! sign-in ([`PageTokens`]), or, where the server has API keys, with one of them. It is a cookie that scripts cannot read, named
//! by the port, sent by the browser to `/ui` only and by no other site (`SameSite=Strict`), and it is accepted only with the page's
//! own `Origin` and with `Sec-Fetch-Site: same-origin`. No other route of the server reads it. A session ends when it was not used
//! for [12 hours](Page::session_timeout), when it is signed out, and when its API key is gone.
//!
//! # Features
//!
//! - `chat`: a model that calls the tools (`Page::chat`).
//! - `journal`: the runs of a journal (`Page::journal`).

mod api;
mod approval;
mod assets;
mod attempts;
mod calls;
#[cfg(feature = "chat")]
mod chat;
#[cfg(feature = "chat")]
mod conversations;
mod cookie;
mod error;
mod events;
mod info;
mod lines;
mod outcome;
mod own_origin;
mod page;
mod parts;
mod questions;
mod running;
#[cfg(feature = "journal")]
mod runs;
mod secret;
mod security_headers;
mod sessions;
mod source_info;
mod state;
#[cfg(feature = "journal")]
mod timeline;
mod tokens;
mod tools;
#[cfg(feature = "chat")]
mod turns;

pub use page::Page;
pub use source_info::PageSource;
pub use tokens::PageTokens;
