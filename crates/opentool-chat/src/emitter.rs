//! A future that tells what happens on its way: [`Watched`], the one shape behind every stream of events here.
//!
//! Nothing is spawned and nothing is queued: the future goes on only when somebody asks for the next item, so whoever reads
//! slowly slows it down, and whoever stops reading stops it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::future::BoxFuture;

/// Where a future puts what happens; one that nobody watches drops it.
pub(crate) struct Emitter<T>(Option<Arc<Mutex<State<T>>>>);

struct State<T> {
    item: Option<T>,
    watched: bool,
}

impl<T> Emitter<T> {
    /// Makes an emitter that nobody watches.
    pub(crate) const fn unwatched() -> Self {
        Self(None)
    }

    /// Says whether anybody watches.
    pub(crate) fn is_watched(&self) -> bool {
        self.with(|state| state.watched).unwrap_or_default()
    }

    /// Hands an item over and waits until it was taken.
    pub(crate) async fn emit(&self, item: T) {
        let handed = self.with(|state| {
            if state.watched {
                state.item = Some(item);
            }
            state.watched
        });
        if handed == Some(true) {
            // Whoever took the item polls again, so no waker is needed.
            poll_fn(|_| match self.with(|state| state.item.is_some()) {
                Some(true) => Poll::Pending,
                _ => Poll::Ready(()),
            })
            .await;
        }
    }

    fn with<R>(&self, act: impl FnOnce(&mut State<T>) -> R) -> Option<R> {
        Some(act(&mut self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<T> Clone for Emitter<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// A future with a stream of what happens on its way.
pub(crate) struct Watched<'a, T, R> {
    emitter: Emitter<T>,
    future: Option<BoxFuture<'a, R>>,
    result: Option<R>,
}

impl<'a, T, R> Watched<'a, T, R> {
    pub(crate) fn new<F>(make: impl FnOnce(Emitter<T>) -> F) -> Self
    where
        F: Future<Output = R> + Send + 'a,
    {
        let emitter = Emitter(Some(Arc::new(Mutex::new(State { item: None, watched: true }))));
        Self { future: Some(Box::pin(make(emitter.clone()))), emitter, result: None }
    }

    /// Goes to the end without looking; none where the result was taken already.
    pub(crate) async fn finish(mut self) -> Option<R> {
        self.emitter.with(|state| *state = State { item: None, watched: false });
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

impl<T, R: Unpin> Stream for Watched<'_, T, R> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        let taken = |emitter: &Emitter<T>| emitter.with(|state| state.item.take()).flatten();
        if let Some(item) = taken(&this.emitter) {
            return Poll::Ready(Some(item));
        }
        let Some(future) = &mut this.future else { return Poll::Ready(None) };
        match future.as_mut().poll(cx) {
            Poll::Ready(result) => {
                (this.future, this.result) = (None, Some(result));
                Poll::Ready(taken(&this.emitter))
            }
            Poll::Pending => match taken(&this.emitter) {
                Some(item) => Poll::Ready(Some(item)),
                None => Poll::Pending,
            },
        }
    }
}
