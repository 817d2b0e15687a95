//! Where code that blocks its thread runs: a pool whose threads are counted.

use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::Span;

use crate::ToolError;

/// A bound on threads; each is counted until its code returns, however long ago its call was given up.
#[derive(Clone)]
pub(crate) struct BlockingPool(Arc<Pool>);

struct Pool {
    permits: Arc<Semaphore>,
    threads: usize,
}

impl BlockingPool {
    pub(crate) const DEFAULT_THREADS: usize = 64;

    pub(crate) fn new(threads: usize) -> Self {
        let threads = threads.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Pool { permits: Arc::new(Semaphore::new(threads)), threads }))
    }

    /// The pool of every executor that was not given its own.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: LazyLock<BlockingPool> = LazyLock::new(|| BlockingPool::new(BlockingPool::DEFAULT_THREADS));
        &SHARED
    }

    /// How many threads are at work now.
    pub(crate) fn busy(&self) -> usize {
        self.0.threads - self.0.permits.available_permits()
    }

    pub(crate) async fn run<T, F>(&self, code: F) -> Result<T, ToolError>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Ok(runtime) = Handle::try_current() else {
            return Err(ToolError::unavailable("the tool cannot run here")
                .with_detail("a blocking tool needs a tokio runtime")
                .with_retryable(false));
        };
        let Ok(permit) = self.0.permits.clone().acquire_owned().await else {
            return Err(ToolError::cancelled());
        };
        let span = Span::current();
        let thread = runtime.spawn_blocking(move || {
            let result = span.in_scope(code);
            drop(permit);
            result
        });
        match thread.await {
            Ok(result) => Ok(result),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(ToolError::cancelled().with_detail("the runtime is shutting down")),
            },
        }
    }
}
