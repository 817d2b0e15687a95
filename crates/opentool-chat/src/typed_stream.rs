//! A typed answer while it grows: [`TypedStream`].

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::StreamExt;
use opentool_spec::json::partial_value;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer_form::{ANSWER_TOOL, SharedForm};
use crate::error::ChatError;
use crate::event::ChatEvent;
use crate::response::ChatResponse;
use crate::stream::ChatStream;

/// Something that happened while a typed answer grew.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnswerEvent<T> {
    /// The answer as far as it can be known: texts are cut off where they end, what is not there yet is absent.
    ///
    /// It is not checked, and it begins again where the model has to answer again.
    Partial(Value),
    /// Anything else: calls, reasoning, usage, and text that is no part of the answer.
    Other(ChatEvent),
    /// The answer, checked; the last event.
    Done(T, Box<ChatResponse>),
}

/// A typed answer while it grows, from [`ChatRequest::stream_as`](crate::ChatRequest::stream_as).
///
/// Long answers are read again each time they have grown by three in a hundred, so that reading them costs no more than
/// in proportion to their length.
#[must_use = "a model is asked only while the stream is polled"]
pub struct TypedStream<T> {
    /// An error of the setup comes instead of a stream.
    turn: Result<ChatStream, Option<ChatError>>,
    form: Option<SharedForm>,
    growing: Growing,
    /// Reads the answer. Kept here, so that reading the stream asks nothing of the type: one that cannot be an answer is then
    /// one error of the compiler, where the stream is made.
    read: fn(&ChatResponse) -> Result<T, ChatError>,
}

/// The text of the answer so far.
#[derive(Default)]
struct Growing {
    text: String,
    /// How long the text was when it was last read.
    read: usize,
    last: Option<Value>,
}

impl Growing {
    /// Adds a piece; returns the value where there is a new one.
    fn push(&mut self, piece: &str, form: &SharedForm) -> Option<Value> {
        self.text.push_str(piece);
        if self.text.len() - self.read <= self.read / 32 {
            return None;
        }
        self.read = self.text.len();
        // A code fence or some words may stand before the JSON.
        let begin = self.text.find(['{', '['])?;
        let value = form.partial(partial_value(&self.text[begin..])?)?;
        if self.last.as_ref() == Some(&value) {
            return None;
        }
        self.last = Some(value.clone());
        Some(value)
    }
}

impl<T: DeserializeOwned> TypedStream<T> {
    pub(crate) fn new(form: SharedForm, turn: ChatStream) -> Self {
        Self { turn: Ok(turn), form: Some(form), growing: Growing::default(), read: ChatResponse::answer_as }
    }

    pub(crate) fn failed(error: ChatError) -> Self {
        Self { turn: Err(Some(error)), form: None, growing: Growing::default(), read: ChatResponse::answer_as }
    }
}

impl<T> TypedStream<T> {
    /// Waits for what happens next; none after the end.
    pub async fn next(&mut self) -> Option<Result<AnswerEvent<T>, ChatError>> {
        StreamExt::next(self).await
    }

    /// Runs to the end and returns the answer; events not yet read are dropped.
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer.
    pub async fn finish(self) -> Result<T, ChatError> {
        match self.turn {
            Ok(turn) => (self.read)(&turn.finish().await?),
            Err(error) => Err(error.unwrap_or_else(|| ChatError::setup("the error of the stream was taken already"))),
        }
    }

    fn convert(&mut self, event: ChatEvent) -> Option<Result<AnswerEvent<T>, ChatError>> {
        let Some(form) = &self.form else { return Some(Ok(AnswerEvent::Other(event))) };
        let value = match event {
            ChatEvent::Done(response) => {
                return Some((self.read)(&response).map(|answer| AnswerEvent::Done(answer, response)));
            }
            ChatEvent::Text(text) => {
                let is_words = self.growing.text.is_empty() && !text.trim_start().starts_with(['{', '[', '`']);
                if is_words {
                    return Some(Ok(AnswerEvent::Other(ChatEvent::Text(text))));
                }
                self.growing.push(&text, form)
            }
            ChatEvent::ToolCall(piece) if piece.name.as_deref() == Some(ANSWER_TOOL) => {
                self.growing.push(&piece.arguments, form)
            }
            event => {
                // An answer ends with its usage; the next one begins again.
                if matches!(event, ChatEvent::Usage(_)) {
                    self.growing = Growing::default();
                }
                return Some(Ok(AnswerEvent::Other(event)));
            }
        };
        value.map(|value| Ok(AnswerEvent::Partial(value)))
    }
}

impl<T> Stream for TypedStream<T> {
    type Item = Result<AnswerEvent<T>, ChatError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let event = match &mut this.turn {
                Ok(turn) => std::task::ready!(turn.poll_next_unpin(cx)),
                Err(error) => error.take().map(Err),
            };
            let item = match event {
                None => return Poll::Ready(None),
                Some(Err(error)) => Some(Err(error)),
                Some(Ok(event)) => this.convert(event),
            };
            if item.is_some() {
                return Poll::Ready(item);
            }
        }
    }
}

impl<T> fmt::Debug for TypedStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedStream").field("form", &self.form).finish_non_exhaustive()
    }
}
