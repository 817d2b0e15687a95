//! One worker, as the warden sees it: [`Charge`].

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Weak;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::Inner;
use super::death::{Cause, Death};
use super::link::Link;
use super::output::Ring;
use super::spawn::Spawned;
use crate::LoadError;
use crate::sandbox::Confinement;
use crate::worker::{Board, Hello, Kind, Ready, Reply, Request};

/// How long a keeper may take to end everything below it, before it is killed itself.
const TIDY: Duration = Duration::from_secs(2);

/// How long a process whose pipes are closed may take to end by itself, as one that crashed does.
pub(super) const CLOSING: Duration = Duration::from_millis(200);

/// Of its memory, how much a worker must have used so that its crash is put down to that.
const STARVED: f64 = 0.75;

/// Whoever waits to be told that the worker is ready.
type Told = Option<SyncSender<Result<Confinement, LoadError>>>;

/// How a worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Goes,
    Ended,
}

/// A worker that was started and has not been buried.
#[derive(Debug)]
pub(super) struct Charge {
    worker: u64,
    pid: libc::pid_t,
    owner: Weak<Inner>,
    /// What becomes readable when the process ends, where the system has such a thing.
    exit: Option<OwnedFd>,
    output: Option<OwnedFd>,
    ring: Ring,
    beginning: Option<Beginning>,
    /// Why it is to end, and when it is killed for it.
    ending: Option<(Cause, Instant)>,
    /// Whether a keeper stands above the worker, which ends what the worker left behind.
    kept: bool,
    killed: bool,
    memory: crate::MemorySize,
}

/// A worker that is not ready yet.
#[derive(Debug)]
struct Beginning {
    requests: OwnedFd,
    replies: OwnedFd,
    board: Board,
    nonce: u64,
    hello: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    /// Whether nothing more will be heard.
    closed: bool,
    until: Instant,
    patience: Duration,
    told: Told,
}

impl Charge {
    /// Starts a worker.
    pub(super) fn start(
        supervisor: &Inner,
        owner: Weak<Inner>,
        worker: u64,
        told: Told,
    ) -> Result<Charge, (LoadError, Told)> {
        let settings = &supervisor.settings;
        let nonce = random();
        let hello = Hello {
            nonce,
            document: settings.document.clone(),
            library: settings.library.clone(),
            options: settings.options,
            permissions: settings.permissions.clone(),
        };
        let fail = |message: String| LoadError::new(&settings.library, message);
        let hello = match serde_json::to_vec(&hello) {
            Ok(hello) => hello,
            Err(error) => return Err((fail(format!("the worker cannot be told what to do: {error}")), told)),
        };
        let mut frame = Vec::new();
        Request { function: 0, id: 0 }.write(&hello, &mut frame);
        let spawned = match supervisor.launch.spawn() {
            Ok(spawned) => spawned,
            Err(error) => return Err((fail(format!("its worker cannot be started: {error}")), told)),
        };
        let Spawned { pid, requests, replies, output, board } = spawned;
        let patience = supervisor.patience();
        let beginning = Beginning {
            requests,
            replies,
            board,
            nonce,
            hello: frame,
            sent: 0,
            received: Vec::new(),
            closed: false,
            until: Instant::now() + patience,
            patience,
            told,
        };
        Ok(Charge {
            worker,
            pid,
            owner,
            exit: exit_of(pid),
            output: Some(output),
            ring: Ring::default(),
            beginning: Some(beginning),
            ending: None,
            kept: settings.permissions.allows_unsafe() && cfg!(target_os = "linux"),
            killed: false,
            memory: settings.permissions.memory_size(),
        })
    }

    pub(super) fn worker(&self) -> u64 {
        self.worker
    }

    /// Whether nobody has the library any more.
    pub(super) fn is_forsaken(&self) -> bool {
        self.owner.strong_count() == 0 && self.ending.is_none()
    }

    pub(super) fn tells_its_end(&self) -> bool {
        self.exit.is_some()
    }

    /// When something has to be done at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let ending = self.ending.as_ref().map(|(_, at)| *at);
        [ending, self.beginning.as_ref().map(|beginning| beginning.until)].into_iter().flatten().min()
    }

    /// What is worth waking up for.
    pub(super) fn interests(&self, mut wake: impl FnMut(RawFd, libc::c_short)) {
        for fd in [&self.exit, &self.output].into_iter().flatten() {
            wake(fd.as_raw_fd(), libc::POLLIN);
        }
        if let Some(beginning) = self.beginning.as_ref().filter(|beginning| !beginning.closed) {
            wake(beginning.replies.as_raw_fd(), libc::POLLIN);
            if beginning.sent < beginning.hello.len() {
                wake(beginning.requests.as_raw_fd(), libc::POLLOUT);
            }
        }
    }

    /// Ends the worker, unless it is ended already.
    pub(super) fn end(&mut self, cause: Cause, grace: Duration) {
        let at = Instant::now() + grace;
        match &mut self.ending {
            Some((_, earlier)) => *earlier = at.min(*earlier),
            None => self.ending = Some((cause, at)),
        }
        if grace.is_zero() {
            self.kill();
        }
    }

    /// Does whatever is to be done now.
    pub(super) fn attend(&mut self) -> Step {
        if let Some(output) = &self.output
            && !self.ring.fill(output)
        {
            self.output = None;
        }
        self.begin();
        let now = Instant::now();
        if let Some(beginning) = &self.beginning
            && beginning.until <= now
        {
            let cause = Cause::NotReady(beginning.patience);
            self.end(cause, Duration::ZERO);
        }
        if self.ending.as_ref().is_some_and(|(_, at)| *at <= now) {
            self.kill();
        }
        if has_ended(self.pid) { Step::Ended } else { Step::Goes }
    }

    /// Tells the worker what to do, and hears whether it is ready.
    fn begin(&mut self) {
        if self.beginning.as_ref().is_some_and(|beginning| beginning.closed) {
            return;
        }
        let Some(mut beginning) = self.beginning.take() else { return };
        match beginning.go_on() {
            Progress::Waits => self.beginning = Some(beginning),
            Progress::Ready(ready) => {
                let Beginning { requests, replies, board, nonce, told, .. } = beginning;
                let link = |lanes| Link::new(self.worker, requests, replies, board, nonce, lanes);
                match self.owner.upgrade() {
                    Some(owner) if self.ending.is_none() => {
                        owner.started(link(owner.plan.lanes()));
                        tell(told, || Ok(ready.confinement));
                    }
                    _ => self.end(Cause::Retired, Duration::ZERO),
                }
            }
            Progress::NotLoaded(reason) => {
                let told = beginning.told.take();
                self.fail(told, &reason);
                self.end(Cause::Retired, Duration::ZERO);
            }
            // Its death will say more.
            Progress::Closed => {
                beginning.closed = true;
                self.beginning = Some(beginning);
                self.end(Cause::ClosedPipes, CLOSING);
            }
            Progress::Forged => {
                self.beginning = Some(beginning);
                self.end(Cause::Forged, Duration::ZERO);
            }
        }
    }

    /// Says that the library cannot be loaded.
    fn fail(&self, told: Told, reason: &str) {
        let Some(owner) = self.owner.upgrade() else { return };
        let error = LoadError::new(&owner.settings.library, reason);
        owner.not_started(&error);
        tell(told, || Err(error));
    }

    /// Kills the process and all of its group; where a keeper stands above it, lets that do so.
    fn kill(&mut self) {
        let now = Instant::now();
        // SAFETY: plain numbers; the process has not been waited for, so that the number is still its own.
        unsafe {
            if self.kept && !self.killed {
                libc::kill(self.pid, libc::SIGTERM);
                // A keeper that somebody stopped hears nothing.
                libc::kill(self.pid, libc::SIGCONT);
            } else {
                libc::kill(-self.pid, libc::SIGKILL);
            }
        }
        if let Some((_, at)) = &mut self.ending {
            *at = now + if self.kept && !self.killed { TIDY } else { Duration::from_secs(3600) };
        }
        self.killed = true;
    }

    /// Waits for a process that has ended, and says what became of it.
    pub(super) fn bury(mut self) {
        // Whoever is left in its group goes with it; the number is taken as long as nobody has waited.
        // SAFETY: plain numbers.
        unsafe { libc::kill(-self.pid, libc::SIGKILL) };
        let (natural, starved) = self.wait();
        if let Some(output) = &self.output {
            self.ring.fill(output);
        }
        let killed_by_us = self.killed && matches!(natural, Cause::Signal(libc::SIGKILL | libc::SIGTERM));
        let cause = match self.ending.take() {
            Some((cause, _)) if killed_by_us || matches!(cause, Cause::Retired) => cause,
            _ => natural,
        };
        let crashed = matches!(cause, Cause::Signal(_) | Cause::Exit(_));
        let mut death = Death {
            cause,
            output: self.ring.last_lines(),
            starved: starved && crashed,
            memory: self.memory.to_string(),
            refusal: None,
        };
        match self.beginning.take() {
            None => {
                if let Some(owner) = self.owner.upgrade() {
                    owner.died(self.worker, death);
                }
            }
            Some(mut beginning) => {
                // It may have said why before it ended.
                if let Progress::NotLoaded(reason) = beginning.go_on() {
                    return self.fail(beginning.told.take(), &reason);
                }
                death.refusal = beginning.board.refused();
                let told = beginning.told.take();
                let reason = format!("while it was loaded, {}", death.reason());
                self.fail(told, &reason);
            }
        }
    }

    fn wait(&self) -> (Cause, bool) {
        let mut status = 0;
        // SAFETY: all zeroes are a valid `rusage`.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both are places for what the call gives.
        if unsafe { libc::wait4(self.pid, &raw mut status, 0, &raw mut used) } != self.pid {
            return (Cause::Unknown, false);
        }
        let unit = if cfg!(target_os = "linux") { 1024.0 } else { 1.0 };
        let most = used.ru_maxrss as f64 * unit;
        let starved = self.memory.bytes().is_some_and(|bytes| most >= bytes as f64 * STARVED);
        let cause = if libc::WIFSIGNALED(status) {
            Cause::Signal(libc::WTERMSIG(status))
        } else {
            Cause::Exit(libc::WEXITSTATUS(status))
        };
        (cause, starved)
    }
}

/// How far a beginning is.
enum Progress {
    Waits,
    Ready(Ready),
    NotLoaded(String),
    Closed,
    Forged,
}

impl Beginning {
    fn go_on(&mut self) -> Progress {
        while self.sent < self.hello.len() {
            let rest = &self.hello[self.sent..];
            // SAFETY: the kernel only reads the slice.
            let written = unsafe { libc::write(self.requests.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) => self.sent += written,
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // Full, or closed, which its death explains.
                Err(_) => break,
            }
        }
        let mut chunk = [0_u8; 4096];
        loop {
            match Reply::read(&self.received, self.nonce) {
                Err(_) => return Progress::Forged,
                Ok(Some((reply, payload))) => {
                    let payload = &self.received[payload];
                    return match reply.kind {
                        Kind::Ready => serde_json::from_slice(payload).map_or(Progress::Forged, Progress::Ready),
                        Kind::NotLoaded => Progress::NotLoaded(String::from_utf8_lossy(payload).into_owned()),
                        _ => Progress::Forged,
                    };
                }
                Ok(None) => {}
            }
            // SAFETY: the kernel writes at most as many bytes as the chunk has.
            let read = unsafe { libc::read(self.replies.as_raw_fd(), chunk.as_mut_ptr().cast(), chunk.len()) };
            match usize::try_from(read) {
                Ok(0) => return Progress::Closed,
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(_) => match io::Error::last_os_error().kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => return Progress::Waits,
                    _ => return Progress::Closed,
                },
            }
        }
    }
}

fn tell(told: Told, answer: impl FnOnce() -> Result<Confinement, LoadError>) {
    if let Some(told) = told {
        // Whoever asked may have stopped waiting.
        let _ = told.send(answer());
    }
}

/// Whether a process has ended; it can still be waited for.
fn has_ended(pid: libc::pid_t) -> bool {
    // SAFETY: all zeroes are a valid `siginfo_t`.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is a place for what the call gives.
    let waited = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, flags) };
    // SAFETY: the field is zero, or what the call has written.
    let ended = unsafe { info.si_pid() } == pid;
    ended || (waited != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD))
}

#[cfg(target_os = "linux")]
fn exit_of(pid: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: plain numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the kernel just gave it to us.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(not(target_os = "linux"))]
fn exit_of(_pid: libc::pid_t) -> Option<OwnedFd> {
    None
}

/// A number that nobody can guess.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    // The keys of a `RandomState` are the system's randomness.
    RandomState::new().build_hasher().finish()
}
