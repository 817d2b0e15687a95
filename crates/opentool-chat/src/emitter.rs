//! A future that tells what happens on its way: [`Watched`], the one shape behind every stream of events here.
//!
//! Nothing is spawned and nothing is queued: the future goes on only when somebody asks for the next item, so whoever reads
//! slowly slows it down, and whoever stops reading stops it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use futures_core::future::BoxFuture;

/// Where a future puts what happens; one that nobody watches drops it.
pub(crate) struct Emitter<T>(Option<Arc<Mutex<State<T>>>>);

struct State<T> {
    watched: bool,
    item: Option<T>,
    /// How many items were handed over, and how many of them taken.
    handed: u64,
    taken: u64,
    /// Who waits for an item.
    reader: Option<Waker>,
    /// Who waits for an item to be taken. There may be several: a future may do several things at once.
    waiting: Vec<Waker>,
}

impl<T> State<T> {
    fn wait(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }
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
        let mut item = Some(item);
        let mut ticket = None;
        poll_fn(|cx| {
            let mut reader = None;
            let over = self.with(|state| {
                if !state.watched || ticket.is_some_and(|ticket| ticket <= state.taken) {
                    return true;
                }
                if ticket.is_none() && state.item.is_none() {
                    state.item = item.take();
                    state.handed += 1;
                    ticket = Some(state.handed);
                    reader = state.reader.take();
                }
                state.wait(cx.waker());
                false
            });
            // Whoever polls this very future sees the item by itself; a task of its own has to call.
            reader.into_iter().filter(|reader| !reader.will_wake(cx.waker())).for_each(Waker::wake);
            if over.unwrap_or(true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Takes the item that waits, for somebody who polls the future again.
    fn take(&self, poller: &Waker) -> Option<T> {
        let (item, waiting) = self.with(|state| {
            let item = state.item.take()?;
            state.taken += 1;
            Some((item, std::mem::take(&mut state.waiting)))
        })??;
        // Whoever is polled anyway needs no call.
        waiting.into_iter().filter(|waker| !waker.will_wake(poller)).for_each(Waker::wake);
        Some(item)
    }

    /// Lets everything that is emitted from now on be dropped.
    fn look_away(&self) {
        let waiting = self.with(|state| {
            (state.watched, state.item) = (false, None);
            std::mem::take(&mut state.waiting)
        });
        waiting.into_iter().flatten().for_each(Waker::wake);
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
        let state = State { watched: true, item: None, handed: 0, taken: 0, reader: None, waiting: Vec::new() };
        let emitter = Emitter(Some(Arc::new(Mutex::new(state))));
        Self { future: Some(Box::pin(make(emitter.clone()))), emitter, result: None }
    }

    /// Goes to the end without looking; none where the result was taken already.
    pub(crate) async fn finish(mut self) -> Option<R> {
        self.emitter.look_away();
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
        if let Some(item) = this.emitter.take(cx.waker()) {
            return Poll::Ready(Some(item));
        }
        let Some(future) = &mut this.future else { return Poll::Ready(None) };
        this.emitter.with(|state| match &state.reader {
            Some(reader) if reader.will_wake(cx.waker()) => {}
            _ => state.reader = Some(cx.waker().clone()),
        });
        match future.as_mut().poll(cx) {
            Poll::Ready(result) => {
                (this.future, this.result) = (None, Some(result));
                Poll::Ready(this.emitter.take(cx.waker()))
            }
            Poll::Pending => match this.emitter.take(cx.waker()) {
                Some(item) => Poll::Ready(Some(item)),
                None => Poll::Pending,
            },
        }
    }
}
