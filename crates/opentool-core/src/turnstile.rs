//! What lets only so many calls through at a time, and knows when one of them overstays: [`Turnstile`].

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::ToolError;

/// Lets only so many calls through at a time, in the order in which they ask.
pub(crate) struct Turnstile {
    places: Arc<Semaphore>,
    size: u32,
    /// Whether the call that has every place is over, while its thread still holds them.
    overstayed: watch::Sender<bool>,
}

impl Turnstile {
    pub(crate) fn new(size: u32) -> Arc<Self> {
        let overstayed = watch::Sender::new(false);
        Arc::new(Self { places: Arc::new(Semaphore::new(size as usize)), size, overstayed })
    }

    /// Waits for one place.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        self.take(1).await
    }

    /// Waits for every place, which a thread may keep beyond the end of its call.
    pub(crate) async fn enter_alone(self: &Arc<Self>) -> Result<Arc<Stay>, ToolError> {
        let places = self.take(self.size).await?;
        Ok(Arc::new(Stay { turnstile: self.clone(), _places: places }))
    }

    async fn take(&self, places: u32) -> Result<OwnedSemaphorePermit, ToolError> {
        self.places.clone().acquire_many_owned(places).await.map_err(|_| ToolError::cancelled())
    }

    /// Waits for something that needs this turnstile: as long as it takes while calls are running, which end by their own
    /// deadlines, but only for so long while somebody overstays, who may never leave.
    pub(crate) async fn patiently<T>(
        &self,
        patience: Option<Duration>,
        entering: impl Future<Output = Result<T, ToolError>>,
        who_overstays: &str,
    ) -> Result<T, ToolError> {
        match select(pin!(entering), pin!(self.run_out(patience))).await {
            Either::Left((entered, _)) => entered,
            Either::Right((waited, _)) => Err(ToolError::unavailable(format!(
                "{who_overstays} was given up but is still at work; this call waited {waited:?} for it"
            ))),
        }
    }

    /// Waits until somebody has overstayed for so long.
    async fn run_out(&self, patience: Option<Duration>) -> Duration {
        let Some(patience) = patience else { return pending().await };
        let mut overstayed = self.overstayed.subscribe();
        loop {
            if overstayed.wait_for(|overstayed| *overstayed).await.is_err() {
                return pending().await;
            }
            if Handle::try_current().is_err() {
                // Nothing here can tell the time.
                return Duration::ZERO;
            }
            if timeout(patience, overstayed.wait_for(|overstayed| !*overstayed)).await.is_err() {
                return patience;
            }
        }
    }
}

/// Every place of a turnstile, held until the call is over and its last thread has returned.
pub(crate) struct Stay {
    turnstile: Arc<Turnstile>,
    _places: OwnedSemaphorePermit,
}

impl Stay {
    /// Says that the call is over: a thread that holds the places from now on overstays.
    ///
    /// Most calls leave none behind, and then nobody who waits is disturbed.
    pub(crate) fn over(self: Arc<Self>) {
        if Arc::strong_count(&self) > 1 {
            self.turnstile.overstayed.send_replace(true);
        }
    }
}

impl Drop for Stay {
    /// Before the places are free: whoever takes them next has not overstayed.
    fn drop(&mut self) {
        self.turnstile.overstayed.send_if_modified(std::mem::take);
    }
}
