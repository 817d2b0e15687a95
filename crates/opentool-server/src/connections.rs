//! Connections: listeners, TLS, HTTP/1.1 over hyper, the limits of connections, and the drain.

pub(crate) mod bound;
pub(crate) mod listener;
mod registry;
mod request_body;
pub(crate) mod serve;
mod socket;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod transport;
