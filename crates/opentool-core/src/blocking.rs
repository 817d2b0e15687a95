//! The pool for code that blocks its thread: [`BlockingPool`].

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Span;

use crate::ToolError;
use crate::error::readable;

/// A bound on threads of tokio's blocking pool. A thread counts until its code returns, even if its call is long over.
#[derive(Clone)]
pub(crate) struct BlockingPool(Arc<Inner>);

struct Inner {
    permits: Arc<Semaphore>,
    threads: usize,
    /// How many threads each tool has, by its name.
    busy: Mutex<BTreeMap<String, usize>>,
}

impl BlockingPool {
    pub(crate) const DEFAULT_THREADS: usize = 64;

    pub(crate) fn new(threads: usize) -> Self {
        let threads = threads.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner { permits: Arc::new(Semaphore::new(threads)), threads, busy: Mutex::default() }))
    }

    /// The pool of all executors that have none of their own.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: LazyLock<BlockingPool> = LazyLock::new(|| BlockingPool::new(BlockingPool::DEFAULT_THREADS));
        &SHARED
    }

    /// Returns how many threads are in use.
    pub(crate) fn busy_threads(&self) -> usize {
        self.0.threads - self.0.permits.available_permits()
    }

    /// Runs code of a tool on a thread. A panic of the code continues in the caller.
    pub(crate) async fn run<T, F>(&self, tool: &str, code: F) -> Result<T, ToolError>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Ok(runtime) = Handle::try_current() else { return Err(no_runtime()) };
        let Ok(permit) = self.0.permits.clone().acquire_owned().await else { return Err(ToolError::cancelled()) };
        let thread = BusyThread::new(self.0.clone(), tool, permit);
        let span = Span::current();
        let running = runtime.spawn_blocking(move || {
            let _thread = thread;
            span.in_scope(code)
        });
        match running.await {
            Ok(result) => Ok(result),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => Err(ToolError::cancelled().with_detail("the runtime is shutting down")),
            },
        }
    }

    /// The error of a call that got no thread in time. It names the tools that have the threads.
    #[cold]
    pub(crate) fn no_free_thread(&self, waited: Duration) -> ToolError {
        let waited = readable(waited);
        /// More names would not help.
        const NAMES: usize = 5;
        let busy = self.0.busy();
        let mut tools: Vec<_> = busy.iter().collect();
        tools.sort_by_key(|(_, threads)| std::cmp::Reverse(**threads));
        let names: Vec<_> = tools.iter().take(NAMES).map(|(tool, threads)| format!("`{tool}` ({threads})")).collect();
        let more = if tools.len() > NAMES { ", …" } else { "" };
        ToolError::unavailable(match names.as_slice() {
            [] => format!("no thread for a sync tool became free within {waited:?}"),
            names => format!(
                "no thread for a sync tool became free within {waited:?}; still running: {}{more}",
                names.join(", ")
            ),
        })
    }
}

impl Inner {
    fn busy(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread of the pool, counted under its tool's name until it is dropped.
struct BusyThread {
    pool: Arc<Inner>,
    tool: String,
    _permit: OwnedSemaphorePermit,
}

impl BusyThread {
    fn new(pool: Arc<Inner>, tool: &str, permit: OwnedSemaphorePermit) -> Self {
        *pool.busy().entry(tool.to_owned()).or_default() += 1;
        Self { pool, tool: tool.to_owned(), _permit: permit }
    }
}

impl Drop for BusyThread {
    fn drop(&mut self) {
        let mut busy = self.pool.busy();
        if let Some(threads) = busy.get_mut(&self.tool) {
            *threads -= 1;
            if *threads == 0 {
                busy.remove(&self.tool);
            }
        }
    }
}

#[cold]
fn no_runtime() -> ToolError {
    ToolError::unavailable("the tool cannot run here")
        .with_detail("a sync tool needs a tokio runtime for its thread; an inline one does not")
        .with_retryable(false)
}
