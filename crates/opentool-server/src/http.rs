//! HTTP: routes, keys, the checks of `Host` and `Origin`, limits of bodies, and the handlers behind the routes.
//!
//! [`service`] runs the checks before, and the log and the metrics around, whatever answers a request.

pub(crate) mod body;
pub(crate) mod current;
pub(crate) mod frontend;
pub(crate) mod headers;
pub(crate) mod hosts;
pub(crate) mod keys;
pub(crate) mod mounted;
pub(crate) mod opentool;
pub(crate) mod operator;
pub(crate) mod origins;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod response;
pub(crate) mod routes;
pub(crate) mod sender;
pub(crate) mod service;
pub(crate) mod settings;
pub(crate) mod sources;
pub(crate) mod state;
