//! How many requests run at once: [`ConcurrencyLimit`].

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use tokio::sync::Semaphore;

use super::interface::ModelMiddleware;
use crate::delta::Delta;
use crate::error::ChatError;
use crate::provider::{ModelRequest, Provider};
use crate::response::ChatResponse;

/// At most so many requests to a model at a time; others wait, in order. A request lasts until its answer has ended.
///
/// ```
/// # use opentool_chat::testing::ScriptedModel;
/// use opentool_chat::{ChatModel, ConcurrencyLimit};
///
/// # let provider = ScriptedModel::new([]);
/// let model = ChatModel::builder(provider).middleware(ConcurrencyLimit::new(4)).build();
/// # let _ = model;
/// ```
#[derive(Debug)]
pub struct ConcurrencyLimit(Semaphore);

impl ConcurrencyLimit {
    /// Allows so many requests at a time, at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)))
    }
}

impl ModelMiddleware for ConcurrencyLimit {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(async move {
            // The semaphore is never closed.
            let _permit = self.0.acquire().await.ok();
            next.call(request).await
        })
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
        next: &'a dyn Provider,
    ) -> BoxStream<'a, Result<Delta, ChatError>> {
        stream::once(async move {
            let permit = self.0.acquire().await.ok();
            next.stream(request).map(move |delta| {
                // Held by the stream, until that is dropped.
                let _permit = &permit;
                delta
            })
        })
        .flatten()
        .boxed()
    }
}
