//! Ctrl-C: gives the turn up, not the program.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::FutureExt as _;
use tokio::sync::Notify;

/// What a shell makes of a process that Ctrl-C ended.
pub(super) const EXIT_CODE: u8 = 130;

/// Whether the user wants the turn to end.
#[derive(Debug, Default)]
pub(super) struct Interrupt {
    given: Notify,
    /// Whether nobody has listened to the last one yet.
    unheard: AtomicBool,
}

impl Interrupt {
    /// Starts to listen; from now on Ctrl-C no longer ends the process, unless nobody reacts to it.
    pub(super) fn listen() -> Arc<Self> {
        let interrupt = Arc::new(Interrupt::default());
        let listening = interrupt.clone();
        let mut next = Box::pin(tokio::signal::ctrl_c());
        // Asked for once, the signal no longer ends the process, although the task may begin later. Where it cannot be had, it
        // ends the process as ever.
        if (&mut next).now_or_never().is_some() {
            return interrupt;
        }
        tokio::spawn(async move {
            while next.await.is_ok() {
                next = Box::pin(tokio::signal::ctrl_c());
                if listening.is_given() {
                    process::exit(i32::from(EXIT_CODE));
                }
                listening.give();
            }
        });
        interrupt
    }

    /// Ends the turn.
    pub(super) fn give(&self) {
        self.unheard.store(true, Ordering::Release);
        self.given.notify_one();
    }

    /// Whether the turn shall end and nobody has seen to it yet.
    pub(super) fn is_given(&self) -> bool {
        self.unheard.load(Ordering::Acquire)
    }

    /// Waits until the turn shall end.
    pub(super) async fn given(&self) {
        self.given.notified().await;
        self.unheard.store(false, Ordering::Release);
    }

    /// Forgets one that came when there was nothing to end.
    pub(super) fn forget(&self) {
        let mut given = std::pin::pin!(self.given.notified());
        // A permit that was left is taken.
        given.as_mut().enable();
        self.unheard.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn an_interrupt_between_turns_does_not_end_the_next_one() {
        let interrupt = Interrupt::default();
        interrupt.give();
        interrupt.forget();
        assert!(timeout(Duration::from_millis(10), interrupt.given()).await.is_err());
        interrupt.give();
        assert!(timeout(Duration::from_secs(60), interrupt.given()).await.is_ok());
    }
}
