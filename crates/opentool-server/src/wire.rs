//! The messages of the wire as bytes: requests in, answers, events and documents out. Nothing here knows of HTTP.

pub(crate) mod answer;
pub(crate) mod document;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod id;
pub(crate) mod output;
pub(crate) mod request;
