//! A call that was sent, as its caller holds it: [`Ticket`].

use std::sync::Weak;
use std::time::Duration;

use futures_util::future::poll_immediate;
use opentool_core::ToolError;
use tokio::sync::oneshot;

use super::connection::{Answer, Connection};
use super::exit::ExitCause;
use super::reader::{ensure_reader, receive, unreadable};
use super::state::{Inner, closed};
use crate::spin::spin_until;

/// How long a call that was given up may go on before its worker is killed, and with it what the library keeps in memory.
const GIVEN_UP: Duration = Duration::from_millis(100);

/// The same where other callers would lose their calls or handles with the worker, and calls have no timeout.
const GIVEN_UP_AT_MOST: Duration = Duration::from_secs(10);

/// How often a call that was given up before it began is looked at.
const GIVEN_UP_POLL: Duration = Duration::from_secs(1);

/// After how many reader tasks that stopped a call fails: something is wrong with the runtime.
const MOST_READERS: usize = 16;

/// A call that was sent. Dropping it gives the call up.
#[derive(Debug)]
pub(super) struct Ticket {
    inner: Weak<Inner>,
    worker: u64,
    id: u64,
    answer: Option<oneshot::Receiver<Answer>>,
    /// How often the reader had to be started again.
    restarts: usize,
}

impl Ticket {
    pub(super) fn new(inner: Weak<Inner>, worker: u64, id: u64, answer: oneshot::Receiver<Answer>) -> Ticket {
        Ticket { inner, worker, id, answer: Some(answer), restarts: 0 }
    }

    /// Waits for the answer, at most as long as a call may run.
    pub(super) async fn wait(mut self, timeout: Option<Duration>) -> Result<Answer, ToolError> {
        self.spin().await;
        loop {
            let Some(answer) = self.answer.as_mut() else { return Ok(Answer::Retry) };
            let received = match (poll_immediate(&mut *answer).await, timeout) {
                (Some(received), _) => received,
                (None, None) => answer.await,
                (None, Some(timeout)) => self.receive_in_time(timeout).await,
            };
            match received {
                Ok(Answer::ReaderStopped) => self.restart_reader()?,
                Ok(answer) => {
                    self.answer = None;
                    return Ok(answer);
                }
                Err(_) => {
                    self.answer = None;
                    return Err(closed("the function"));
                }
            }
        }
    }

    /// Reads the answer on this thread where it comes at once, instead of waiting for the reader task to be woken.
    ///
    /// Only for a call that is alone in flight: several are cheaper to read together
    /// (`cargo bench -p opentool-dyn --bench isolated -- many`).
    async fn spin(&self) {
        let yields = self.with_connection(|connection| {
            (connection.has_one_call() && connection.spinner.is_due()).then(|| connection.yields.is_due())
        });
        let Some(Some(yields)) = yields else { return };
        if yields {
            // Other tasks of this thread send their calls first. Where there are none, a short function has its answer soon.
            // Calls that are not alone do not yield: tokio promises no order of tasks that yielded, and calls are to be sent in
            // the order in which they were made.
            tokio::task::yield_now().await;
            let is_alone = self.with_connection(|connection| {
                // The reader task may have read the answer meanwhile.
                if connection.is_idle() || connection.has_one_call() {
                    connection.yields.record_failure();
                }
                connection.has_one_call()
            });
            if is_alone != Some(true) {
                return;
            }
        }
        let (Some(inner), Some(answer)) = (self.inner.upgrade(), &self.answer) else { return };
        if !spin_until(|| receive(&inner, self.worker).is_none() || !answer.is_empty()) {
            self.with_connection(|connection| connection.spinner.record_failure());
        }
    }

    /// Runs code with the connection of this call, unless that has ended.
    fn with_connection<R>(&self, code: impl FnOnce(&mut Connection) -> R) -> Option<R> {
        let inner = self.inner.upgrade()?;
        let mut state = inner.lock();
        state.connection(self.worker).map(code)
    }

    async fn receive_in_time(&mut self, timeout: Duration) -> Result<Answer, oneshot::error::RecvError> {
        let sleep = tokio::time::sleep(timeout);
        tokio::pin!(sleep);
        loop {
            let Some(answer) = self.answer.as_mut() else { return Ok(Answer::Retry) };
            tokio::select! {
                biased;
                answer = answer => return answer,
                () = &mut sleep => {}
            }
            // It may have waited for other calls all this time, and the timeout counts only while it runs itself.
            let left = match self.inner.upgrade() {
                Some(inner) => inner.time_left(self.worker, self.id, timeout),
                None => Duration::from_secs(1),
            };
            sleep.as_mut().reset(tokio::time::Instant::now() + left);
        }
    }

    /// Starts a reader task on the runtime of this call, and waits for the answer again.
    fn restart_reader(&mut self) -> Result<(), ToolError> {
        let Some(inner) = self.inner.upgrade() else { return Err(closed("the function")) };
        self.restarts += 1;
        if self.restarts > MOST_READERS {
            return Err(unreadable());
        }
        let mut state = inner.lock();
        if let Some(index) = state.kept.iter().position(|(worker, id, _)| (*worker, *id) == (self.worker, self.id)) {
            let (_, _, answer) = state.kept.swap_remove(index);
            let (sender, receiver) = oneshot::channel();
            let _ = sender.send(answer);
            self.answer = Some(receiver);
            return Ok(());
        }
        let Some(connection) = state.connection(self.worker) else { return Err(closed("the function")) };
        ensure_reader(&inner, connection)?;
        self.answer = connection.rejoin(self.id);
        Ok(())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.answer.take().is_some()
            && let Some(inner) = self.inner.upgrade()
        {
            inner.give_up(self.worker, self.id);
        }
    }
}

impl Inner {
    /// How long a call may still run; where that is over, its worker is killed, which answers the call.
    fn time_left(&self, worker: u64, id: u64, timeout: Duration) -> Duration {
        let mut state = self.lock();
        let Some(since) = state.connection(worker).and_then(|connection| connection.running(id)) else {
            return timeout;
        };
        let left = timeout.saturating_sub(since.elapsed());
        if left.is_zero() {
            self.retire(&mut state, worker, ExitCause::Timeout { call: id, after: timeout }, Duration::ZERO);
            return timeout;
        }
        left
    }

    /// The caller no longer waits for a call.
    fn give_up(&self, worker: u64, id: u64) {
        let mut state = self.lock();
        state.kept.retain(|(of, kept, _)| (*of, *kept) != (worker, id));
        let Some(connection) = state.connection(worker) else { return };
        let delay = if connection.give_up(id) { GIVEN_UP } else { GIVEN_UP_POLL };
        if connection.is_pending(id) {
            drop(state);
            self.run_later(delay, move |inner| inner.end_given_up(worker, id));
        }
    }

    /// Kills the worker of a call that was given up and goes on: at once, or where other callers would lose calls or handles
    /// with it, only when a call that was not given up would be killed too.
    fn end_given_up(&self, worker: u64, id: u64) {
        let mut state = self.lock();
        let Some(connection) = state.connection(worker) else { return };
        let Some(since) = connection.running(id) else {
            // It should be skipped when it is its turn, but that depends on memory that the library can write to.
            if connection.is_pending(id) {
                drop(state);
                self.run_later(GIVEN_UP_POLL, move |inner| inner.end_given_up(worker, id));
            }
            return;
        };
        let shared = connection.has_handles || connection.runs_others(id);
        let left = self.settings.timeout.unwrap_or(GIVEN_UP_AT_MOST).saturating_sub(since.elapsed());
        if shared && !left.is_zero() {
            drop(state);
            return self.run_later(left.min(GIVEN_UP), move |inner| inner.end_given_up(worker, id));
        }
        self.retire(&mut state, worker, ExitCause::GivenUp { call: id }, Duration::ZERO);
    }
}
