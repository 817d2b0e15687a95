//! The one thread that starts, polls and reaps workers: the [`Monitor`].
//!
//! It lives as long as the process, because the parent-death signal of a worker is bound to the *thread* that started it. It
//! never blocks on a library: every pipe is non-blocking.

use std::collections::BinaryHeap;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _, pipe};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

use super::child::{Child, StartReply};
use super::exit::ExitCause;
use super::owner::Owner;
use super::spawn::set_nonblocking;

/// How often exits are polled for where no descriptor signals them.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What the monitor is asked to do.
enum Command {
    Start {
        owner: Weak<dyn Owner>,
        worker: u64,
        reply: StartReply,
    },
    End {
        worker: u64,
        cause: ExitCause,
        grace: Duration,
    },
    After {
        at: Instant,
        work: Box<dyn FnOnce() + Send>,
    },
    /// A library was dropped.
    EndOrphans,
}

/// The handle of the one thread that monitors all workers.
#[derive(Debug)]
pub(super) struct Monitor {
    commands: Sender<Command>,
    /// A byte in this pipe wakes the thread.
    wake: PipeWriter,
}

impl Monitor {
    /// The monitor of this process, which starts when the first library is opened.
    pub(super) fn get() -> io::Result<&'static Monitor> {
        static MONITOR: OnceLock<Monitor> = OnceLock::new();
        if let Some(monitor) = MONITOR.get() {
            return Ok(monitor);
        }
        let (woken, wake) = pipe()?;
        set_nonblocking(&woken)?;
        set_nonblocking(&wake)?;
        let (commands, received) = channel();
        let mut made = Some(Monitor { commands, wake });
        // Of two threads that come here at once, one makes the monitor, and the other's pipe is dropped.
        let monitor = MONITOR.get_or_init(|| made.take().unwrap_or_else(|| unreachable!("the value is taken once")));
        if made.is_none() {
            let thread = MonitorLoop { woken, received, children: Vec::new(), timers: BinaryHeap::new(), counted: 0 };
            std::thread::Builder::new().name("opentool-monitor".to_owned()).spawn(move || thread.run())?;
        }
        Ok(monitor)
    }

    /// Starts a worker; the result goes to the owner, and to `reply`.
    pub(super) fn start(&self, owner: Weak<dyn Owner>, worker: u64, reply: StartReply) {
        self.send(Command::Start { owner, worker, reply });
    }

    /// Ends a worker, after it had some time to exit by itself.
    pub(super) fn end(&self, worker: u64, cause: ExitCause, grace: Duration) {
        self.send(Command::End { worker, cause, grace });
    }

    /// Runs something later, on the thread of the monitor.
    pub(super) fn after(&self, delay: Duration, work: impl FnOnce() + Send + 'static) {
        self.send(Command::After { at: Instant::now() + delay, work: Box::new(work) });
    }

    /// Ends the workers whose library was dropped.
    pub(super) fn end_orphans(&self) {
        self.send(Command::EndOrphans);
    }

    fn send(&self, command: Command) {
        // The thread never ends, so the channel is never closed.
        let _ = self.commands.send(command);
        // A full pipe wakes the thread just as well.
        let _ = (&self.wake).write(b"!");
    }
}

/// Something to run at a time.
struct Timer {
    at: Instant,
    /// Of two at the same time, the one asked for first comes first.
    number: u64,
    work: Box<dyn FnOnce() + Send>,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    // The earliest is the greatest, since that is what a heap pops.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

/// The state of the monitor's thread.
struct MonitorLoop {
    woken: PipeReader,
    received: Receiver<Command>,
    children: Vec<Child>,
    timers: BinaryHeap<Timer>,
    counted: u64,
}

impl MonitorLoop {
    fn run(mut self) {
        let mut polled = Vec::new();
        loop {
            self.apply_commands();
            self.run_timers();
            self.wait(&mut polled);
            let mut index = 0;
            while index < self.children.len() {
                if self.children[index].poll() {
                    self.children.swap_remove(index).reap();
                } else {
                    index += 1;
                }
            }
        }
    }

    fn apply_commands(&mut self) {
        let mut drained = [0_u8; 64];
        while (&self.woken).read(&mut drained).is_ok_and(|read| read > 0) {}
        while let Ok(command) = self.received.try_recv() {
            match command {
                Command::Start { owner: weak, worker, reply } => {
                    let Some(owner) = weak.upgrade() else { continue };
                    match Child::start(&*owner, weak, worker, reply) {
                        Ok(child) => self.children.push(child),
                        Err((error, reply)) => {
                            owner.not_started(&error);
                            if let Some(reply) = reply {
                                let _ = reply.send(Err(error));
                            }
                        }
                    }
                }
                Command::End { worker, cause, grace } => {
                    for child in self.children.iter_mut().filter(|child| child.worker() == worker) {
                        child.end(cause.clone(), grace);
                    }
                }
                Command::After { at, work } => {
                    self.counted += 1;
                    self.timers.push(Timer { at, number: self.counted, work });
                }
                Command::EndOrphans => {
                    for child in self.children.iter_mut().filter(|child| child.is_orphaned()) {
                        child.end(ExitCause::Retired, Duration::ZERO);
                    }
                }
            }
        }
    }

    fn run_timers(&mut self) {
        let now = Instant::now();
        while self.timers.peek().is_some_and(|timer| timer.at <= now) {
            if let Some(timer) = self.timers.pop() {
                (timer.work)();
            }
        }
    }

    /// Waits for a command, a descriptor that is ready, or the next deadline.
    fn wait(&self, polled: &mut Vec<libc::pollfd>) {
        polled.clear();
        polled.push(libc::pollfd { fd: self.woken.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        let (mut next, mut must_poll) = (self.timers.peek().map(|timer| timer.at), false);
        for child in &self.children {
            child.interests(|fd: RawFd, events| polled.push(libc::pollfd { fd, events, revents: 0 }));
            next = [next, child.deadline()].into_iter().flatten().min();
            must_poll |= !child.signals_exit();
        }
        let mut timeout = next.map(|next| next.saturating_duration_since(Instant::now()));
        if must_poll {
            timeout = Some(timeout.map_or(POLL_INTERVAL, |timeout| timeout.min(POLL_INTERVAL)));
        }
        // One more than whole milliseconds, so that a moment too early does not become a spin.
        let timeout = timeout.map_or(-1, |timeout| timeout.as_millis().min(60_000) as libc::c_int + 1);
        // SAFETY: the list is as long as it says.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
    }
}
