//! OAuth at a server, over rmcp: how a user logs in, and how the tokens of a login are used and renewed.
//!
//! `requests` sends what the flow asks for; `discovery` finds the authorization server; `redirect` is where the browser comes
//! back to; `login` gives tokens, `authorizer` uses them.

pub(crate) mod authorizer;
mod discovery;
pub(crate) mod login;
mod redirect;
mod requests;
