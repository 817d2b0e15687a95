//! One call at a time, at the cost of two atomic operations where nobody waits: [`Turn`].

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// What one call at a time may hold.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    taken: AtomicBool,
    waiting: AtomicUsize,
    free: Notify,
}

/// A turn that was taken, until it is dropped.
#[derive(Debug)]
pub(crate) struct Taken<'a>(&'a Turn);

impl Turn {
    /// Waits for the turn and takes it.
    #[inline]
    pub(crate) async fn take(&self) -> Taken<'_> {
        match self.try_take() {
            Some(taken) => taken,
            // Apart, so that the future of a call that need not wait stays small.
            None => Box::pin(self.wait()).await,
        }
    }

    // Both sides are in one order (`SeqCst`): whoever waits has said so before it looks, and whoever leaves has left before it
    // looks for somebody who waits. So one of the two sees the other.
    #[inline]
    fn try_take(&self) -> Option<Taken<'_>> {
        (!self.taken.swap(true, Ordering::SeqCst)).then(|| Taken(self))
    }

    #[cold]
    async fn wait(&self) -> Taken<'_> {
        let _waiting = Waiting::new(&self.waiting);
        loop {
            // A notification that comes before anybody waits is kept for the next one who does.
            let free = self.free.notified();
            if let Some(taken) = self.try_take() {
                return taken;
            }
            free.await;
        }
    }
}

impl Drop for Taken<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::SeqCst);
        if self.0.waiting.load(Ordering::SeqCst) > 0 {
            self.0.free.notify_one();
        }
    }
}

/// Somebody who waits, also when the wait is given up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Waiting(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::sync::Arc;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn only_one_at_a_time_has_the_turn_and_nobody_is_forgotten() {
        let (turn, inside, done) =
            (Arc::new(Turn::default()), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..32)
            .map(|index| {
                let (turn, inside, done) = (turn.clone(), inside.clone(), done.clone());
                tokio::spawn(async move {
                    for round in 0..200 {
                        // Some give up waiting.
                        if (index + round) % 7 == 0 {
                            let _ = tokio::time::timeout(std::time::Duration::from_micros(5), turn.take()).await;
                        }
                        let _mine = turn.take().await;
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        if round % 3 == 0 {
                            tokio::task::yield_now().await;
                        }
                        inside.fetch_sub(1, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(done.load(Ordering::SeqCst), 32 * 200);
        assert!(turn.try_take().is_some());
    }
}
