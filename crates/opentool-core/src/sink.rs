//! The way of a call's events to whoever watches its batch: [`EventSink`] and [`Inbox`].

use std::cell::Cell;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::unconstrained;

use crate::event::{CallRef, Progress};
use crate::{ToolEvent, ToolOutput};

/// How many events of one batch may wait for somebody to read them before `emit` waits.
const BACKLOG: usize = 64;

thread_local! {
    /// The sink of the call for which this thread blocks, by its address.
    static BLOCKED_FOR: Cell<usize> = const { Cell::new(0) };
}

/// An event on its way. Where it took room in the backlog, it gives that back when it is read.
type Letter = (ToolEvent, Option<OwnedSemaphorePermit>);

/// Makes the way from the calls of a batch to its watcher.
pub(crate) fn mailbox() -> (Outbox, Inbox) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(BACKLOG));
    (Outbox { sender, room: room.clone() }, Inbox { receiver, room })
}

/// Where the calls of a batch put what happens to them.
///
/// One queue holds everything, so that what a call puts there stays in order; who may wait takes room in the backlog first.
#[derive(Clone)]
pub(crate) struct Outbox {
    sender: mpsc::UnboundedSender<Letter>,
    room: Arc<Semaphore>,
}

/// Where the watcher of a batch finds what happened.
pub(crate) struct Inbox {
    receiver: mpsc::UnboundedReceiver<Letter>,
    room: Arc<Semaphore>,
}

impl Inbox {
    /// Takes what has already come.
    pub(crate) fn take(&mut self) -> Option<ToolEvent> {
        self.receiver.try_recv().ok().map(|(event, _)| event)
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<ToolEvent>> {
        self.receiver.poll_recv(cx).map(|letter| Some(letter?.0))
    }
}

impl Drop for Inbox {
    /// Lets those go who wait for room that nobody will make.
    fn drop(&mut self) {
        self.room.close();
    }
}

/// Where a call's streamed pieces go.
pub(crate) struct EventSink {
    call: CallRef,
    outbox: Outbox,
    /// Set when the call has its outcome: code that goes on after it is heard no more. Whoever sends holds the lock, so that
    /// nothing comes after the end.
    over: Mutex<bool>,
}

impl EventSink {
    pub(crate) fn new(call: CallRef, outbox: Outbox) -> Self {
        Self { call, outbox, over: Mutex::new(false) }
    }

    /// Lets nothing more through.
    pub(crate) fn close(&self) {
        *self.over() = true;
    }

    fn over(&self) -> MutexGuard<'_, bool> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn started(&self) {
        let room = self.room().await;
        self.send(ToolEvent::Started(self.call.clone()), room);
    }

    pub(crate) async fn emit(&self, output: ToolOutput) {
        if *self.over() {
            return;
        }
        let room = self.room().await;
        self.send(ToolEvent::Output(self.call.clone(), output), room);
    }

    /// Streams a piece without awaiting: waits for room on a thread that blocks for this call, and nowhere else. Other code
    /// may run on the very thread that has to read what it streams, and would wait for ever.
    pub(crate) fn emit_blocking(self: &Arc<Self>, output: ToolOutput) {
        if *self.over() {
            return;
        }
        let room = if BLOCKED_FOR.get() == self.address() { wait_here(self.room()) } else { self.room_left() };
        self.send(ToolEvent::Output(self.call.clone(), output), room);
    }

    pub(crate) fn progress(&self, progress: Progress) {
        let room = self.room_left();
        if room.is_some() {
            self.send(ToolEvent::Progress(self.call.clone(), progress), room);
        }
    }

    /// Runs code that blocks this thread for this call.
    pub(crate) fn blocking<T>(self: &Arc<Self>, code: impl FnOnce() -> T) -> T {
        /// Puts back what was there, also when the code panics.
        struct Restore(usize);
        impl Drop for Restore {
            fn drop(&mut self) {
                BLOCKED_FOR.set(self.0);
            }
        }
        let _restore = Restore(BLOCKED_FOR.replace(self.address()));
        code()
    }

    /// Waits for room in the backlog; there is none any more once nobody watches.
    async fn room(&self) -> Option<OwnedSemaphorePermit> {
        self.outbox.room.clone().acquire_owned().await.ok()
    }

    fn room_left(&self) -> Option<OwnedSemaphorePermit> {
        self.outbox.room.clone().try_acquire_owned().ok()
    }

    fn send(&self, event: ToolEvent, room: Option<OwnedSemaphorePermit>) {
        let over = self.over();
        if !*over {
            // Nobody watching any more is no failure of the tool.
            let _ = self.outbox.sender.send((event, room));
        }
    }

    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }
}

/// Waits for a future on this thread, whatever runtime it may be in.
fn wait_here<T>(future: impl Future<Output = T>) -> T {
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(signal.clone());
    let mut cx = Context::from_waker(&waker);
    // A task that has used up its time would be told to come back later, and here there is no later.
    let mut future = pin!(unconstrained(future));
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(result) => return result,
            Poll::Pending => signal.wait(),
        }
    }
}

/// Wakes a thread. Parking it would take wake-ups that belong to the code it runs.
#[derive(Default)]
struct Signal {
    given: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    fn wait(&self) {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let mut given = self.changed.wait_while(given, |given| !*given).unwrap_or_else(PoisonError::into_inner);
        *given = false;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}
