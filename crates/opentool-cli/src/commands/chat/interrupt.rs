//! Ctrl-C: cancels the turn, not the program.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::FutureExt as _;
use tokio::sync::Notify;

/// The exit status that a shell gives to a process that Ctrl-C ended.
pub(super) const EXIT_CODE: u8 = 130;

/// Whether the user wants the turn to end.
#[derive(Debug, Default)]
pub(super) struct Interrupt {
    given: Notify,
    /// Whether the last Ctrl-C is not handled yet.
    is_open: AtomicBool,
}

impl Interrupt {
    /// Starts to listen; from now on only a second Ctrl-C, while the first is not handled, ends the process.
    pub(super) fn listen() -> Arc<Self> {
        let interrupt = Arc::new(Interrupt::default());
        let listening = interrupt.clone();
        let mut next = Box::pin(tokio::signal::ctrl_c());
        // The first poll installs the handler, although the task may start later. If there is no handler, Ctrl-C still ends
        // the process.
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
        self.is_open.store(true, Ordering::Release);
        self.given.notify_one();
    }

    /// Whether the turn has to end and this is not handled yet.
    pub(super) fn is_given(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Waits until the turn has to end.
    pub(super) async fn given(&self) {
        self.given.notified().await;
        self.is_open.store(false, Ordering::Release);
    }

    /// Drops a Ctrl-C that came between turns.
    pub(super) fn forget(&self) {
        let mut given = std::pin::pin!(self.given.notified());
        // Takes the stored permit.
        given.as_mut().enable();
        self.is_open.store(false, Ordering::Release);
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
