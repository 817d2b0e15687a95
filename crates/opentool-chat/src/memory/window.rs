//! Where a long conversation is cut: [`window`].

use std::collections::HashSet;

use crate::message::{AssistantMessage, Message, ToolMessage};

/// How many messages a window has by default.
pub const WINDOW: usize = 20;

/// Returns the latest of a conversation's messages, at most `most` of them: what every [memory](crate::ChatMemory) gives.
///
/// - The latest system messages, those that stand together, are kept and come first; earlier ones are superseded.
/// - What is cut off is cut at a user message, so that the window begins with a question and not in the middle of a turn. A
///   turn that is longer than the window is kept whole, since without its question it would mean nothing.
/// - A call without its answer is hidden, and so is an answer without its call, wherever they stand.
///
/// ```
/// use opentool_chat::{Message, window};
///
/// let mut conversation = vec![Message::system("You are terse.")];
/// for n in 0..20 {
///     conversation.extend([Message::user(format!("question {n}")), Message::assistant(format!("answer {n}"))]);
/// }
/// let latest = window(conversation, 20);
/// assert_eq!(latest.len(), 19);
/// assert_eq!((latest[0].text(), latest[1].text()), ("You are terse.", "question 11"));
/// ```
#[must_use]
pub fn window(messages: Vec<Message>, most: usize) -> Vec<Message> {
    let (system, rest) = split_system(messages);
    let rest = paired(rest);
    cut(system, rest, most)
}

/// Cuts a conversation at a user message and hides nothing, since the answer to a call may still come.
pub(super) fn trim(messages: Vec<Message>, most: usize) -> Vec<Message> {
    let (system, rest) = split_system(messages);
    cut(system, rest, most)
}

fn cut(mut kept: Vec<Message>, rest: Vec<Message>, most: usize) -> Vec<Message> {
    let most = most.saturating_sub(kept.len());
    let mut from = rest.len().saturating_sub(most);
    if from > 0 {
        let is_question = |message: &Message| matches!(message, Message::User(_));
        from = match rest[from..].iter().position(is_question) {
            Some(next) => from + next,
            None => rest.iter().rposition(is_question).unwrap_or_else(|| {
                // Without any question, what must not come first is an answer whose call was cut off.
                let answers = rest[from..].iter().take_while(|message| matches!(message, Message::Tool(_)));
                from + answers.count()
            }),
        };
    }
    kept.extend(rest.into_iter().skip(from));
    kept
}

/// Takes the system messages out: the latest that stand together, each text once.
fn split_system(messages: Vec<Message>) -> (Vec<Message>, Vec<Message>) {
    let is_system = |message: &Message| matches!(message, Message::System(_));
    let mut latest: Vec<Message> = Vec::new();
    let mut rest = Vec::with_capacity(messages.len());
    let mut together = false;
    for message in messages {
        if is_system(&message) {
            if !together {
                latest.clear();
            }
            together = true;
            if !latest.contains(&message) {
                latest.push(message);
            }
        } else {
            together = false;
            rest.push(message);
        }
    }
    (latest, rest)
}

/// Hides calls without an answer and answers without a call.
///
/// An assistant message and the tool messages right after it belong together. Where all is well nothing is touched.
fn paired(messages: Vec<Message>) -> Vec<Message> {
    let mut sound: Vec<Message> = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        match message {
            Message::Assistant(message) if !message.tool_calls.is_empty() => {
                let mut answers = Vec::new();
                while let Some(Message::Tool(next)) = messages.next_if(|next| matches!(next, Message::Tool(_))) {
                    answers.extend(next.answers);
                }
                push_round(&mut sound, message, ToolMessage::new(answers));
            }
            // Without calls right before them these answers answer nothing.
            Message::Tool(_) => {}
            message => sound.push(message),
        }
    }
    sound
}

fn push_round(sound: &mut Vec<Message>, mut message: AssistantMessage, mut tool: ToolMessage) {
    let answered: HashSet<_> = tool.answers.iter().map(|answer| answer.call_id.clone()).collect();
    message.tool_calls.retain(|call| answered.contains(&call.id));
    let called: HashSet<_> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
    tool.answers.retain(|answer| called.contains(&answer.call_id));
    if !message.tool_calls.is_empty() {
        sound.extend([message.into(), tool.into()]);
    } else if !message.text.is_empty() {
        // What was said is still true; data that belongs to the hidden calls is not.
        message.provider_data.clear();
        sound.push(message.into());
    }
}
