//! How many requests begin in a time: [`RateLimit`].

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use tokio::time::Instant;

use super::interface::ModelMiddleware;
use crate::delta::Delta;
use crate::error::ChatError;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;

/// At most so many requests to a model in a period; others wait, in order.
///
/// So many may come at once; after that they are spread evenly over the period. The attempts of a provider that retries count as
/// one request.
///
/// ```
/// # use opentool_chat::testing::ScriptedModel;
/// use opentool_chat::{ChatModel, RateLimit};
///
/// # let provider = ScriptedModel::new([]);
/// let model = ChatModel::builder(provider).middleware(RateLimit::per_minute(60)).build();
/// # let _ = model;
/// ```
#[derive(Debug)]
pub struct RateLimit {
    /// How far apart requests are, when they come without end.
    interval: Duration,
    /// How much earlier than that a request may come.
    tolerance: Duration,
    /// When the next request would come, if all so far had come evenly.
    next: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// Allows so many requests in a period, at least one.
    #[must_use]
    pub fn new(most: u32, period: Duration) -> Self {
        let interval = period / most.max(1);
        Self { interval, tolerance: period.saturating_sub(interval), next: Mutex::default() }
    }

    /// Allows so many requests in a minute.
    #[must_use]
    pub fn per_minute(most: u32) -> Self {
        Self::new(most, Duration::from_secs(60))
    }

    /// Takes the next place and waits until it is free.
    async fn wait(&self) {
        let now = Instant::now();
        let start = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let place = next.map_or(now, |next| next.max(now));
            *next = Some(place + self.interval);
            place.checked_sub(self.tolerance).unwrap_or(now)
        };
        if start > now {
            tracing::debug!(target: "opentool::chat", wait = ?(start - now), "waiting for the rate limit");
            tokio::time::sleep_until(start).await;
        }
    }
}

impl ModelMiddleware for RateLimit {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(async move {
            self.wait().await;
            next.call(request).await
        })
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxStream<'a, Result<Delta, ChatError>> {
        stream::once(async move {
            self.wait().await;
            next.stream(request)
        })
        .flatten()
        .boxed()
    }
}
