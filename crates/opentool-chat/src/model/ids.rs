//! Call ids that are unique, and names that can be sent back: [`Ids`].

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use opentool_core::{Arguments, ToolCall, is_tool_name};

use crate::definitions::ToolDefinitions;
use crate::generation::FinishReason;
use crate::message::Message;
use crate::response::ChatResponse;

/// The ids of the calls of a conversation.
#[derive(Default)]
pub(super) struct Ids(HashSet<Arc<str>>);

impl Ids {
    /// Takes those of a conversation, and of an answer whose calls wait.
    ///
    /// One that comes twice in the conversation is replaced: turns that ran at the same time may have had the same, and
    /// providers refuse such a conversation.
    pub(super) fn new(messages: &mut [Message], waiting: Option<&ChatResponse>) -> Self {
        let waiting = waiting.into_iter().flat_map(|response| &response.generations);
        let waiting = waiting.flat_map(|generation| &generation.message.tool_calls);
        let mut ids = Self(waiting.map(|call| call.id.clone()).collect());
        let mut messages = messages.iter_mut().peekable();
        while let Some(message) = messages.next() {
            let Message::Assistant(message) = message else { continue };
            let mut replaced = ids.separate(&mut message.tool_calls);
            while let Some(Message::Tool(answers)) = messages.next_if(|next| matches!(next, Message::Tool(_))) {
                for answer in &mut answers.answers {
                    if let Some(place) = replaced.iter().position(|(old, _)| *old == answer.call_id) {
                        answer.call_id = replaced.remove(place).1;
                    }
                }
            }
        }
        ids
    }

    /// Adds those of others.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Gives every call an id that no other has; returns the ids before and after where one had to be replaced.
    fn separate(&mut self, calls: &mut [ToolCall]) -> Vec<(Arc<str>, Arc<str>)> {
        let mut ids = Vec::new();
        let mut changed = false;
        for call in calls {
            let old = call.id.clone();
            while call.id.is_empty() || !self.0.insert(call.id.clone()) {
                call.id = fresh_id();
                changed = true;
            }
            ids.push((old, call.id.clone()));
        }
        if changed { ids } else { Vec::new() }
    }

    /// Gives every call of an answer an id that no other call has and a name that can be sent, and marks a call that was cut
    /// off.
    pub(super) fn settle(&mut self, response: &mut ChatResponse, tools: &ToolDefinitions) {
        for generation in &mut response.generations {
            let calls = &mut generation.message.tool_calls;
            self.separate(calls);
            for call in calls.iter_mut() {
                if !is_tool_name(&call.name) {
                    call.name = sendable(&call.name, tools);
                }
            }
            if !matches!(generation.finish_reason, FinishReason::ToolCalls | FinishReason::Stop) {
                calls.last_mut().into_iter().for_each(mark_cut_off);
            }
        }
    }
}

/// A call that was cut off before its first argument looks like one without arguments, and must not run as one.
///
/// Whatever ended an answer that neither called nor stopped by itself may have cut it off: the limit of tokens, a
/// filter, an error. An answer without a reason is not among them, since many servers give none.
fn mark_cut_off(call: &mut ToolCall) {
    if call.arguments == Arguments::none() {
        call.arguments = "{".into();
    }
}

/// A name that no tool can have, as one that could be: providers refuse a conversation that has the other in it.
///
/// No tool of the request has the result as its name, so the model gets an unknown-tool error with near names.
fn sendable(name: &str, tools: &ToolDefinitions) -> Arc<str> {
    /// A tool's name has at most 64 characters; this leaves some for a number.
    const LONGEST: usize = 48;
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let mut plain: String = name.chars().map(plain).take(LONGEST).collect();
    if plain.is_empty() {
        plain.push_str("unnamed_tool");
    }
    let mut sendable = plain.clone();
    let mut number = 0;
    while tools.iter().any(|definition| definition.name() == sendable) {
        number += 1;
        sendable = format!("{plain}_{number}");
    }
    sendable.into()
}

/// An id that no other call of any conversation has: nine letters and digits, since that is what the strictest provider takes.
fn fresh_id() -> Arc<str> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut rest = SEED.hash_one(COUNT.fetch_add(1, Relaxed));
    let digits = (0..9).map(|_| {
        let digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
        char::from(digit)
    });
    digits.collect::<String>().into()
}
