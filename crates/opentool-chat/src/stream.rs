//! A model's answer as a stream of events: [`ChatStream`].

use std::fmt;
use std::mem::take;
use std::pin::Pin;
use std::task::{self, Context, Poll};

use futures_core::Stream;
use futures_util::StreamExt;

use crate::emitter::{Emitter, Watched};
use crate::error::ChatError;
use crate::event::ChatEvent;
use crate::response::ChatResponse;

/// A model's answer while it comes.
///
/// It is a stream of what happens, as it happens; the last item is [`ChatEvent::Done`] or an error. [`finish`](Self::finish) gives the
/// response, whether or not the stream was read. Nothing is spawned: the turn runs while the stream is polled, and dropping
/// it ends the request and cancels the calls.
#[must_use = "a model is asked only while the stream is polled"]
pub struct ChatStream {
    turn: Watched<'static, Result<ChatResponse, ChatError>>,
    over: bool,
}

impl ChatStream {
    pub(crate) fn new<F>(run: impl FnOnce(Emitter) -> F) -> Self
    where
        F: Future<Output = Result<ChatResponse, ChatError>> + Send + 'static,
    {
        Self { turn: Watched::new(run), over: false }
    }

    /// Waits for what happens next; none after the end.
    pub async fn next(&mut self) -> Option<Result<ChatEvent, ChatError>> {
        StreamExt::next(self).await
    }

    /// Runs to the end and returns the response; events not yet read are dropped.
    ///
    /// # Errors
    ///
    /// Whatever ended the turn without an answer.
    pub async fn finish(mut self) -> Result<ChatResponse, ChatError> {
        // Read to its end, so that a turn that began with streamed requests continues with them.
        while StreamExt::next(&mut self.turn).await.is_some() {}
        self.turn
            .finish()
            .await
            .unwrap_or_else(|| Err(ChatError::setup("the response of the stream was taken already")))
    }

    /// Leaves only the text, piece by piece: of the answer, and of what the model said before it called tools.
    ///
    /// What it says after that begins a line of its own.
    pub fn texts(self) -> TextStream {
        TextStream { events: self, is_open: false, called: false }
    }
}

/// The text of a model's answer, piece by piece, from [`ChatStream::texts`].
#[derive(Debug)]
#[must_use = "a model is asked only while the stream is polled"]
pub struct TextStream {
    events: ChatStream,
    /// Whether the text ended in the middle of a line.
    is_open: bool,
    /// Whether a tool was called since.
    called: bool,
}

impl TextStream {
    /// Waits for the next piece; none after the end.
    pub async fn next(&mut self) -> Option<Result<String, ChatError>> {
        StreamExt::next(self).await
    }

    fn text(&mut self, event: Result<ChatEvent, ChatError>) -> Option<Result<String, ChatError>> {
        match event {
            Ok(ChatEvent::Text(text)) => {
                let text = if take(&mut self.called) && self.is_open { format!("\n{text}") } else { text };
                self.is_open = !text.ends_with('\n');
                Some(Ok(text))
            }
            Ok(ChatEvent::Tool(_)) => {
                self.called = true;
                None
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Stream for TextStream {
    type Item = Result<String, ChatError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let Some(event) = task::ready!(this.events.poll_next_unpin(cx)) else { return Poll::Ready(None) };
            if let Some(text) = this.text(event) {
                return Poll::Ready(Some(text));
            }
        }
    }
}

impl Stream for ChatStream {
    type Item = Result<ChatEvent, ChatError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        if let Some(event) = task::ready!(this.turn.poll_next_unpin(cx)) {
            return Poll::Ready(Some(Ok(event)));
        }
        this.over = true;
        Poll::Ready(this.turn.take_result().map(|result| result.map(|response| ChatEvent::Done(Box::new(response)))))
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream").field("over", &self.over).finish_non_exhaustive()
    }
}
