//! The OpenTool frontend: the routes of the spec under the prefix, answered by a host.

mod admit;
mod call;
mod cut_off;
pub(crate) mod frontend;
mod load;
mod stream;
mod terms;
