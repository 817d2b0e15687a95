//! How the events of calls reach the watcher of their batch: [`EventSink`] and [`EventReceiver`].

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::{CallRef, Progress, ToolEvent, ToolOutput};

/// How many events of one batch may be unread before `emit` waits.
const BACKLOG: usize = 64;

thread_local! {
    /// The call that this thread of the blocking pool runs; none on other threads.
    static RUNNING: RefCell<Option<BlockingCall>> = const { RefCell::new(None) };
}

/// A call that blocks its thread, and the runtime outside.
struct BlockingCall {
    sink: Arc<EventSink>,
    runtime: Option<Handle>,
}

/// An unread event, with its permit in the backlog if it has one.
type QueuedEvent = (ToolEvent, Option<OwnedSemaphorePermit>);

/// Makes the channel from the calls of a batch to its watcher.
///
/// The queue itself is unbounded, so that all events of a call stay in order; senders that can wait take a permit of the
/// backlog first.
pub(crate) fn event_channel() -> (EventSender, EventReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let backlog = Arc::new(Semaphore::new(BACKLOG));
    (EventSender { sender, backlog: backlog.clone() }, EventReceiver { receiver, backlog })
}

#[derive(Clone)]
pub(crate) struct EventSender {
    sender: mpsc::UnboundedSender<QueuedEvent>,
    backlog: Arc<Semaphore>,
}

pub(crate) struct EventReceiver {
    receiver: mpsc::UnboundedReceiver<QueuedEvent>,
    backlog: Arc<Semaphore>,
}

impl EventReceiver {
    /// Returns the next event, if there is one already.
    pub(crate) fn try_next(&mut self) -> Option<ToolEvent> {
        self.receiver.try_recv().ok().map(|(event, _)| event)
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ToolEvent>> {
        self.receiver.poll_recv(cx).map(|queued| Some(queued?.0))
    }
}

impl Drop for EventReceiver {
    /// Releases senders that wait for a permit.
    fn drop(&mut self) {
        self.backlog.close();
    }
}

/// Where the events of one call go.
pub(crate) struct EventSink {
    call: CallRef,
    sender: EventSender,
    /// Set when the call has its outcome, after which its code sends nothing more. The lock is held while sending.
    closed: Mutex<bool>,
}

impl EventSink {
    pub(crate) fn new(call: CallRef, sender: EventSender) -> Self {
        Self { call, sender, closed: Mutex::new(false) }
    }

    pub(crate) fn close(&self) {
        *self.closed() = true;
    }

    fn closed(&self) -> MutexGuard<'_, bool> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn started(&self) {
        let permit = self.permit().await;
        self.send(ToolEvent::Started(self.call.clone()), permit);
    }

    pub(crate) async fn emit(&self, output: ToolOutput) {
        if *self.closed() {
            return;
        }
        let permit = self.permit().await;
        self.send(ToolEvent::Output(self.call.clone(), output), permit);
    }

    /// Sends a piece of the result from code that cannot await.
    ///
    /// It waits for the watcher only on the blocking thread of this very call. On another thread it may be the one that
    /// reads the events, where waiting would be a deadlock.
    pub(crate) fn emit_blocking(self: &Arc<Self>, output: ToolOutput) {
        if *self.closed() {
            return;
        }
        let permit = self.try_permit().or_else(|| self.wait_for_permit());
        self.send(ToolEvent::Output(self.call.clone(), output), permit);
    }

    pub(crate) fn progress(&self, progress: Progress) {
        let permit = self.try_permit();
        if permit.is_some() {
            self.send(ToolEvent::Progress(self.call.clone(), progress), permit);
        }
    }

    /// Runs code that blocks this thread for this call.
    pub(crate) fn run_blocking<T>(self: &Arc<Self>, code: impl FnOnce() -> T) -> T {
        /// Restores the thread's state, also when the code panics.
        struct Restore(Option<BlockingCall>);
        impl Drop for Restore {
            fn drop(&mut self) {
                RUNNING.replace(self.0.take());
            }
        }
        let call = BlockingCall { sink: self.clone(), runtime: Handle::try_current().ok() };
        let _restore = Restore(RUNNING.replace(Some(call)));
        code()
    }

    /// Blocks for a permit, on the thread of this call only.
    ///
    /// A task of the runtime outside waits for the permit: the tool's code may be inside a runtime of its own, in which
    /// nothing can be awaited from here.
    fn wait_for_permit(self: &Arc<Self>) -> Option<OwnedSemaphorePermit> {
        let runtime = RUNNING.with_borrow(|call| {
            let call = call.as_ref().filter(|call| Arc::ptr_eq(&call.sink, self))?;
            call.runtime.clone()
        })?;
        let (sender, receiver) = std::sync::mpsc::channel();
        let backlog = self.sender.backlog.clone();
        runtime.spawn(async move { sender.send(backlog.acquire_owned().await.ok()) });
        receiver.recv().ok().flatten()
    }

    /// Waits for a permit in the backlog; there is none once the watcher is gone.
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        self.sender.backlog.clone().acquire_owned().await.ok()
    }

    fn try_permit(&self) -> Option<OwnedSemaphorePermit> {
        self.sender.backlog.clone().try_acquire_owned().ok()
    }

    fn send(&self, event: ToolEvent, permit: Option<OwnedSemaphorePermit>) {
        let closed = self.closed();
        if !*closed {
            // A watcher that is gone is no failure of the tool.
            let _ = self.sender.sender.send((event, permit));
        }
    }
}
