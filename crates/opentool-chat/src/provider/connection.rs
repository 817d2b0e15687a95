//! The way to a provider: one request, its answer whole or in pieces, within its times, again where that may help.
//!
//! Everything that providers have in common is here; each of them adds what its wire looks like.

mod answer;
mod builder;
mod fault;
mod http;
mod lenient;
mod link;
mod outgoing;
mod retry;
mod settings;
mod stream;

pub(crate) use opentool_http::{ApiKey, Frame, Framing};

pub(crate) use self::builder::{connection_settings, variable};
pub(crate) use self::fault::Fault;
pub(crate) use self::lenient::{empty_object, lenient, object_or_none, says_something, text_of, to_json};
pub(crate) use self::link::Link;
pub(crate) use self::outgoing::Outgoing;
pub(crate) use self::settings::{KeyHeader, Settings, base_url};
pub(crate) use self::stream::{Progress, Reader};
