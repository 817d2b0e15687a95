//! Streamable HTTP: the messages of a client as requests to one path.

pub(crate) mod endpoint;
mod events;
mod headers;
mod lazy_events;
mod replay;
mod reply;
mod sessions;
mod task;
