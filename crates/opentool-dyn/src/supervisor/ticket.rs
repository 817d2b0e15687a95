//! A call that was sent, in the hands of whoever waits for it: [`Ticket`].

use std::sync::Weak;
use std::time::Duration;

use futures_util::future::poll_immediate;
use opentool_core::ToolError;
use tokio::sync::oneshot;

use super::death::Cause;
use super::link::Answer;
use super::pump::unreadable;
use super::{GIVEN_UP, GIVEN_UP_AT_MOST, Inner, closed};
use crate::lookout::Look;

/// A call that was sent. Dropping it gives the call up.
#[derive(Debug)]
pub(super) struct Ticket {
    inner: Weak<Inner>,
    worker: u64,
    id: u64,
    answer: Option<oneshot::Receiver<Answer>>,
    /// How to look for the answer for a moment.
    look: Option<Look>,
    /// How often somebody else had to read.
    rejoined: usize,
}

/// After how many readers that stopped a call is given up: there is something wrong with the runtime.
const MOST_READERS: usize = 16;

impl Ticket {
    pub(super) fn new(
        inner: Weak<Inner>,
        worker: u64,
        id: u64,
        answer: oneshot::Receiver<Answer>,
        look: Option<Look>,
    ) -> Ticket {
        Ticket { inner, worker, id, answer: Some(answer), look, rejoined: 0 }
    }

    /// Waits for the answer, at most as long as a call may run.
    pub(super) async fn wait(mut self, timeout: Option<Duration>) -> Result<Answer, ToolError> {
        self.look();
        loop {
            let Some(answer) = self.answer.as_mut() else { return Ok(Answer::Again) };
            let heard = match (poll_immediate(&mut *answer).await, timeout) {
                (Some(heard), _) => heard,
                (None, None) => answer.await,
                (None, Some(timeout)) => self.heard_in_time(timeout).await,
            };
            match heard {
                Ok(Answer::Unread) => self.rejoin()?,
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

    /// Looks for the answer for a moment, where that is worthwhile: whoever calls then reads it itself.
    fn look(&mut self) {
        let Some(look) = self.look.take() else { return };
        let (Some(inner), Some(answer)) = (self.inner.upgrade(), &self.answer) else { return };
        look.find(|| inner.receive(self.worker).is_none() || !answer.is_empty());
        if let Some(link) = inner.lock().link(self.worker) {
            link.learn(look, !answer.is_empty());
        }
    }

    async fn heard_in_time(&mut self, timeout: Duration) -> Result<Answer, oneshot::error::RecvError> {
        let sleep = tokio::time::sleep(timeout);
        tokio::pin!(sleep);
        loop {
            let Some(answer) = self.answer.as_mut() else { return Ok(Answer::Again) };
            tokio::select! {
                biased;
                answer = answer => return answer,
                () = &mut sleep => {}
            }
            // It may have waited for others all this time, and the clock runs only while it runs itself.
            let left = match self.inner.upgrade() {
                Some(inner) => inner.time_left(self.worker, self.id, timeout),
                None => Duration::from_secs(1),
            };
            sleep.as_mut().reset(tokio::time::Instant::now() + left);
        }
    }

    /// Sees to it that somebody reads the answer.
    fn rejoin(&mut self) -> Result<(), ToolError> {
        let Some(inner) = self.inner.upgrade() else { return Err(closed("the function")) };
        self.rejoined += 1;
        if self.rejoined > MOST_READERS {
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
        let Some(link) = state.link(self.worker) else { return Err(closed("the function")) };
        inner.read(link)?;
        self.answer = link.rejoin(self.id);
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
    /// How long a call may still run; where that is over, its worker is killed, and the call soon answered.
    fn time_left(&self, worker: u64, id: u64, timeout: Duration) -> Duration {
        let mut state = self.lock();
        let Some(since) = state.link(worker).and_then(|link| link.running(id)) else { return timeout };
        let left = timeout.saturating_sub(since.elapsed());
        if left.is_zero() {
            self.dismiss(&mut state, worker, Cause::Timeout { call: id, after: timeout }, Duration::ZERO);
            return timeout;
        }
        left
    }

    /// Nobody waits for a call any more.
    fn give_up(&self, worker: u64, id: u64) {
        let mut state = self.lock();
        state.kept.retain(|(of, kept, _)| (*of, *kept) != (worker, id));
        let goes_on = state.link(worker).is_some_and(|link| link.give_up(id));
        drop(state);
        if goes_on {
            self.later(GIVEN_UP, move |inner| inner.end_given_up(worker, id));
        }
    }

    /// Kills the worker of a call that nobody waits for and that goes on, at once or when others lose nothing by it; they have
    /// to wait no longer than if somebody waited for it.
    fn end_given_up(&self, worker: u64, id: u64) {
        let mut state = self.lock();
        let Some(link) = state.link(worker) else { return };
        let Some(since) = link.running(id) else { return };
        let shared = link.keeps_handles || link.runs_others(id);
        let left = self.settings.timeout.unwrap_or(GIVEN_UP_AT_MOST).saturating_sub(since.elapsed());
        if shared && !left.is_zero() {
            drop(state);
            return self.later(left.min(GIVEN_UP), move |inner| inner.end_given_up(worker, id));
        }
        self.dismiss(&mut state, worker, Cause::GivenUp { call: id }, Duration::ZERO);
    }
}
