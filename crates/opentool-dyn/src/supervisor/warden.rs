//! The one thread that starts workers, watches over them and buries them: the [`Warden`].
//!
//! It lives as long as the process, because a worker is told of the end of the *thread* that started it. It never waits for
//! a library: every pipe is read as far as it goes.

use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{OnceLock, Weak};
use std::time::{Duration, Instant};

use super::Inner;
use super::charge::{Charge, Step};
use super::death::Cause;
use super::spawn::{pipe, unblock};
use crate::LoadError;
use crate::sandbox::Confinement;

/// How often the end of workers is looked for where the system does not tell.
const LOOK: Duration = Duration::from_millis(20);

/// What the warden is asked for.
enum Command {
    Start {
        owner: Weak<Inner>,
        worker: u64,
        told: Option<SyncSender<Result<Confinement, LoadError>>>,
    },
    End {
        worker: u64,
        cause: Cause,
        grace: Duration,
    },
    After {
        at: Instant,
        work: Box<dyn FnOnce() + Send>,
    },
    /// Somebody has let go of a library.
    Look,
}

/// The handle of the one thread that watches over all workers.
#[derive(Debug)]
pub(super) struct Warden {
    commands: Sender<Command>,
    bell: OwnedFd,
}

impl Warden {
    /// The warden of this process, who begins when the first library is opened.
    pub(super) fn get() -> io::Result<&'static Warden> {
        static WARDEN: OnceLock<Warden> = OnceLock::new();
        if let Some(warden) = WARDEN.get() {
            return Ok(warden);
        }
        let (heard, bell) = pipe()?;
        unblock(&heard)?;
        unblock(&bell)?;
        let (commands, received) = channel();
        let mut made = Some(Warden { commands, bell });
        // Of two who come at once, one makes the warden and the other's pipe is dropped.
        let warden = WARDEN.get_or_init(|| made.take().unwrap_or_else(|| unreachable!("the value is taken once")));
        if made.is_none() {
            let round = Round { heard, received, charges: Vec::new(), timers: BinaryHeap::new(), counted: 0 };
            std::thread::Builder::new().name("opentool-warden".to_owned()).spawn(move || round.make())?;
        }
        Ok(warden)
    }

    /// Starts a worker; whoever asks is told when it is ready.
    pub(super) fn start(
        &self,
        owner: Weak<Inner>,
        worker: u64,
        told: Option<SyncSender<Result<Confinement, LoadError>>>,
    ) {
        self.ask(Command::Start { owner, worker, told });
    }

    /// Ends a worker, after it had some time to do so by itself.
    pub(super) fn end(&self, worker: u64, cause: Cause, grace: Duration) {
        self.ask(Command::End { worker, cause, grace });
    }

    /// Does something later.
    pub(super) fn after(&self, delay: Duration, work: impl FnOnce() + Send + 'static) {
        self.ask(Command::After { at: Instant::now() + delay, work: Box::new(work) });
    }

    /// Ends the workers whose library nobody has any more.
    pub(super) fn look(&self) {
        self.ask(Command::Look);
    }

    fn ask(&self, command: Command) {
        // The thread never ends, so that there is always somebody who receives.
        let _ = self.commands.send(command);
        // SAFETY: one byte of a constant. A full pipe rings just as well.
        unsafe { libc::write(self.bell.as_raw_fd(), c"!".as_ptr().cast(), 1) };
    }
}

/// Something to do at a time.
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
    // The earliest is the greatest, since a heap gives that.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

/// What the warden goes round with.
struct Round {
    heard: OwnedFd,
    received: Receiver<Command>,
    charges: Vec<Charge>,
    timers: BinaryHeap<Timer>,
    counted: u64,
}

impl Round {
    fn make(mut self) {
        let mut polled = Vec::new();
        loop {
            self.obey();
            self.keep_time();
            self.wait(&mut polled);
            let mut index = 0;
            while index < self.charges.len() {
                match self.charges[index].attend() {
                    Step::Goes => index += 1,
                    Step::Ended => {
                        let charge = self.charges.swap_remove(index);
                        charge.bury();
                    }
                }
            }
        }
    }

    fn obey(&mut self) {
        let mut drained = [0_u8; 64];
        // SAFETY: the kernel writes at most as many bytes as there are.
        while unsafe { libc::read(self.heard.as_raw_fd(), drained.as_mut_ptr().cast(), drained.len()) } > 0 {}
        while let Ok(command) = self.received.try_recv() {
            match command {
                Command::Start { owner, worker, told } => {
                    let Some(supervisor) = owner.upgrade() else { continue };
                    match Charge::start(&supervisor, owner, worker, told) {
                        Ok(charge) => self.charges.push(charge),
                        Err((error, told)) => {
                            supervisor.not_started(&error);
                            if let Some(told) = told {
                                let _ = told.send(Err(error));
                            }
                        }
                    }
                }
                Command::End { worker, cause, grace } => {
                    for charge in self.charges.iter_mut().filter(|charge| charge.worker() == worker) {
                        charge.end(cause.clone(), grace);
                    }
                }
                Command::After { at, work } => {
                    self.counted += 1;
                    self.timers.push(Timer { at, number: self.counted, work });
                }
                Command::Look => {
                    for charge in self.charges.iter_mut().filter(|charge| charge.is_forsaken()) {
                        charge.end(Cause::Retired, Duration::ZERO);
                    }
                }
            }
        }
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        while self.timers.peek().is_some_and(|timer| timer.at <= now) {
            if let Some(timer) = self.timers.pop() {
                (timer.work)();
            }
        }
    }

    /// Waits until somebody calls, something is to be read, or it is time.
    fn wait(&self, polled: &mut Vec<libc::pollfd>) {
        polled.clear();
        polled.push(libc::pollfd { fd: self.heard.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        let (mut next, mut must_look) = (self.timers.peek().map(|timer| timer.at), false);
        for charge in &self.charges {
            charge.interests(|fd: RawFd, events| polled.push(libc::pollfd { fd, events, revents: 0 }));
            next = [next, charge.deadline()].into_iter().flatten().min();
            must_look |= !charge.tells_its_end();
        }
        let mut timeout = next.map(|next| next.saturating_duration_since(Instant::now()));
        if must_look {
            timeout = Some(timeout.map_or(LOOK, |timeout| timeout.min(LOOK)));
        }
        // One more than whole milliseconds, so that a moment too early does not become a spin.
        let timeout = timeout.map_or(-1, |timeout| timeout.as_millis().min(60_000) as libc::c_int + 1);
        // SAFETY: the list is as long as it says.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout) };
    }
}
