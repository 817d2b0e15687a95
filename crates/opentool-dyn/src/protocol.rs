//! What a worker and its parent agree on: descriptors, start-up messages, frames.

mod frame;
mod startup;

pub(crate) use frame::{HEADER, InvalidFrame, LONGEST_REPLY, LONGEST_REQUEST, Reply, ReplyKind, Request};
pub(crate) use startup::{HelloMessage, MARK, PAGE, REPLIES, REQUESTS, ReadyMessage};
