//! The channel of events from a turn to the reader of its stream: [`Emitter`] and [`Watched`].
//!
//! The turn is not spawned: it is polled by the reader of the stream, and it waits after each event until that was read. So a
//! slow reader slows the turn down, and a reader that stops ends it.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;
use tokio::sync::mpsc;

use crate::event::ChatEvent;

/// Where a turn puts its events. Without a reader they are dropped.
#[derive(Clone)]
pub(crate) struct Emitter(Option<mpsc::Sender<ChatEvent>>);

impl Emitter {
    /// Makes an emitter without a reader.
    pub(crate) const fn unwatched() -> Self {
        Self(None)
    }

    /// Says whether there is a reader.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.as_ref().is_some_and(|sender| !sender.is_closed())
    }

    /// Passes an event on and waits until it was read.
    pub(crate) async fn emit(&self, event: ChatEvent) {
        let Some(sender) = &self.0 else { return };
        if sender.send(event).await.is_ok() {
            // The channel holds one event: there is capacity again when it was read. It is no error when the reader is gone.
            let _ = sender.reserve().await;
        }
    }
}

/// A future with the stream of its events.
pub(crate) struct Watched<'a, R> {
    events: mpsc::Receiver<ChatEvent>,
    future: Option<BoxFuture<'a, R>>,
    result: Option<R>,
}

impl<'a, R> Watched<'a, R> {
    pub(crate) fn new<F>(make: impl FnOnce(Emitter) -> F) -> Self
    where
        F: Future<Output = R> + Send + 'a,
    {
        let (sender, events) = mpsc::channel(1);
        Self { events, future: Some(Box::pin(make(Emitter(Some(sender))))), result: None }
    }

    /// Runs the future to its end and drops further events; none where the result was taken already.
    pub(crate) async fn finish(mut self) -> Option<R> {
        drop(self.events);
        match self.future.take() {
            Some(future) => Some(future.await),
            None => self.result.take(),
        }
    }

    /// Takes the result, once the stream has ended.
    pub(crate) fn take_result(&mut self) -> Option<R> {
        self.result.take()
    }
}

impl<R: Unpin> Stream for Watched<'_, R> {
    type Item = ChatEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        let this = self.get_mut();
        if let Poll::Ready(Some(event)) = this.events.poll_recv(cx) {
            return Poll::Ready(Some(event));
        }
        let Some(future) = &mut this.future else { return Poll::Ready(None) };
        if let Poll::Ready(result) = future.as_mut().poll(cx) {
            (this.future, this.result) = (None, Some(result));
            return Poll::Ready(this.events.try_recv().ok());
        }
        match this.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            _ => Poll::Pending,
        }
    }
}
