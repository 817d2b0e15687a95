//! One worker process, as the monitor sees it: [`Child`].

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Weak;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::exit::{ExitCause, WorkerExit};
use super::output::OutputTail;
use super::owner::Owner;
use super::spawn::Spawned;
use super::usage::{Sampler, UsageLimits, usage_of};
use crate::LoadError;
use crate::protocol::{HelloMessage, ReadyMessage, Reply, ReplyKind, Request};
use crate::sandbox::Confinement;
use crate::shared_page::SharedPage;

/// How long a subreaper may take to kill everything below it, before it is killed itself.
const CLEAN_UP: Duration = Duration::from_secs(2);

/// How long a process whose pipes are closed may take to exit by itself, as one that crashed does.
pub(super) const CLOSING: Duration = Duration::from_millis(200);

/// The share of its memory limit that a worker must have used so that the report of its crash mentions the limit.
const NEAR_LIMIT: f64 = 0.75;

/// Where the result of the start is sent, if a thread waits for it.
pub(super) type StartReply = Option<SyncSender<Result<Confinement, LoadError>>>;

/// A worker process that was started and has not been reaped.
#[derive(Debug)]
pub(super) struct Child {
    worker: u64,
    pid: libc::pid_t,
    owner: Weak<dyn Owner>,
    /// Becomes readable when the process exits (a pidfd), where the system has that.
    exit: Option<OwnedFd>,
    output: Option<PipeReader>,
    tail: OutputTail,
    startup: Option<Startup>,
    /// Why it is to end, and when it is killed.
    ending: Option<(ExitCause, Instant)>,
    /// Whether the process is a subreaper with the worker below it.
    is_subreaper: bool,
    killed: bool,
    memory: crate::MemorySize,
    /// Runs from when the library is loaded.
    sampler: Option<Sampler>,
    limits: UsageLimits,
}

/// A worker that is not ready yet.
#[derive(Debug)]
struct Startup {
    requests: PipeWriter,
    replies: PipeReader,
    page: SharedPage,
    nonce: u64,
    hello: Vec<u8>,
    sent: usize,
    received: Vec<u8>,
    /// Whether the pipe is closed.
    closed: bool,
    until: Instant,
    timeout: Duration,
    reply: StartReply,
}

impl Child {
    /// Starts a worker.
    pub(super) fn start(
        owner: &dyn Owner,
        weak_owner: Weak<dyn Owner>,
        worker: u64,
        reply: StartReply,
    ) -> Result<Child, (LoadError, StartReply)> {
        let settings = owner.settings();
        let nonce = random();
        let hello = HelloMessage {
            document: settings.document.clone(),
            library: settings.library.clone(),
            options: settings.options,
            permissions: settings.permissions.clone(),
        };
        let fail = |message: String| LoadError::new(&settings.library, message);
        let hello = match serde_json::to_vec(&hello) {
            Ok(hello) => hello,
            Err(error) => {
                return Err((fail(format!("the first message to its worker cannot be written: {error}")), reply));
            }
        };
        let mut frame = Vec::new();
        Request { function: 0, id: 0, nonce }.write(&hello, &mut frame);
        let spawned = match owner.launcher().spawn() {
            Ok(spawned) => spawned,
            Err(error) => return Err((fail(format!("its worker cannot be started: {error}")), reply)),
        };
        let Spawned { pid, requests, replies, output, page } = spawned;
        let timeout = owner.start_timeout();
        let startup = Startup {
            requests,
            replies,
            page,
            nonce,
            hello: frame,
            sent: 0,
            received: Vec::new(),
            closed: false,
            until: Instant::now() + timeout,
            timeout,
            reply,
        };
        Ok(Child {
            worker,
            pid,
            owner: weak_owner,
            exit: open_pidfd(pid),
            output: Some(output),
            tail: OutputTail::default(),
            startup: Some(startup),
            ending: None,
            is_subreaper: settings.permissions.allows_unsafe() && cfg!(target_os = "linux"),
            killed: false,
            memory: settings.permissions.memory_size(),
            sampler: None,
            limits: UsageLimits { threads: settings.permissions.max_threads(), cpu: settings.permissions.max_cpu() },
        })
    }

    pub(super) fn worker(&self) -> u64 {
        self.worker
    }

    /// Whether the library was dropped.
    pub(super) fn is_orphaned(&self) -> bool {
        self.owner.strong_count() == 0 && self.ending.is_none()
    }

    /// Whether polling the descriptors shows its exit.
    pub(super) fn signals_exit(&self) -> bool {
        self.exit.is_some()
    }

    /// When something has to be done at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let ending = self.ending.as_ref().map(|(_, at)| *at);
        let startup = self.startup.as_ref().map(|startup| startup.until);
        [ending, startup, self.sampler.as_ref().map(Sampler::next)].into_iter().flatten().min()
    }

    /// The descriptors to poll.
    pub(super) fn interests(&self, mut add: impl FnMut(RawFd, libc::c_short)) {
        let exit = self.exit.as_ref().map(AsRawFd::as_raw_fd);
        let output = self.output.as_ref().map(AsRawFd::as_raw_fd);
        for fd in [exit, output].into_iter().flatten() {
            add(fd, libc::POLLIN);
        }
        if let Some(startup) = self.startup.as_ref().filter(|startup| !startup.closed) {
            add(startup.replies.as_raw_fd(), libc::POLLIN);
            if startup.sent < startup.hello.len() {
                add(startup.requests.as_raw_fd(), libc::POLLOUT);
            }
        }
    }

    /// Ends the worker, unless it is ended already.
    pub(super) fn end(&mut self, cause: ExitCause, grace: Duration) {
        let at = Instant::now() + grace;
        match &mut self.ending {
            Some((_, earlier)) => *earlier = at.min(*earlier),
            None => self.ending = Some((cause, at)),
        }
        if grace.is_zero() {
            self.kill();
        }
    }

    /// Makes progress without blocking; says whether the process has exited.
    pub(super) fn poll(&mut self) -> bool {
        if let Some(output) = &self.output
            && !self.tail.fill(output)
        {
            self.output = None;
        }
        self.poll_startup();
        let now = Instant::now();
        if let Some(startup) = &self.startup
            && startup.until <= now
        {
            let cause = ExitCause::NotReady(startup.timeout);
            self.end(cause, Duration::ZERO);
        }
        if self.ending.as_ref().is_some_and(|(_, at)| *at <= now) {
            self.kill();
        }
        let has_exited = has_exited(self.pid);
        if !has_exited {
            self.sample(now);
        }
        has_exited
    }

    /// Compares what the worker uses with what it may, where that is due.
    fn sample(&mut self, now: Instant) {
        let Some(sampler) = self.sampler.as_mut().filter(|sampler| sampler.next() <= now) else { return };
        let owner = self.owner.upgrade().filter(|_| self.ending.is_none());
        let activity = owner.as_ref().and_then(|owner| owner.activity(self.worker));
        let (Some(owner), Some(activity)) = (owner, activity) else { return sampler.skip(now) };
        let Some(usage) = usage_of(self.pid, self.is_subreaper) else { return sampler.skip(now) };
        if let Some(cause) = sampler.record(activity, usage, now) {
            owner.end_overuse(self.worker, activity, cause);
        }
    }

    /// Sends the first message, and reads whether the worker is ready.
    fn poll_startup(&mut self) {
        if self.startup.as_ref().is_some_and(|startup| startup.closed) {
            return;
        }
        let Some(mut startup) = self.startup.take() else { return };
        match startup.poll() {
            StartProgress::Pending => self.startup = Some(startup),
            StartProgress::Ready(ready) => {
                let Startup { requests, replies, page, reply, .. } = startup;
                match self.owner.upgrade() {
                    Some(owner) if self.ending.is_none() => {
                        self.sampler = Some(Sampler::new(self.limits, Instant::now()));
                        let concurrency = owner.max_concurrency();
                        owner.started(Connection::new(self.worker, requests, replies, page, concurrency));
                        send_result(reply, Ok(ready.confinement));
                    }
                    _ => self.end(ExitCause::Retired, Duration::ZERO),
                }
            }
            StartProgress::NotLoaded(reason) => {
                self.report_failure(startup.reply.take(), &reason);
                self.end(ExitCause::Retired, Duration::ZERO);
            }
            // Its exit status will say more.
            StartProgress::Closed => {
                startup.closed = true;
                self.startup = Some(startup);
                self.end(ExitCause::ClosedPipes, CLOSING);
            }
            StartProgress::Invalid => {
                self.startup = Some(startup);
                self.end(ExitCause::InvalidFrame, Duration::ZERO);
            }
        }
    }

    /// Reports that the library cannot be loaded.
    fn report_failure(&self, reply: StartReply, reason: &str) {
        let Some(owner) = self.owner.upgrade() else { return };
        let error = LoadError::new(&owner.settings().library, reason);
        owner.not_started(&error);
        send_result(reply, Err(error));
    }

    /// Kills the process and all of its group; a subreaper is asked to do so first.
    fn kill(&mut self) {
        let now = Instant::now();
        // SAFETY: plain numbers; the process has not been waited for, so that the number is still its own.
        unsafe {
            if self.is_subreaper && !self.killed {
                libc::kill(self.pid, libc::SIGTERM);
                // A process that was stopped does not handle SIGTERM.
                libc::kill(self.pid, libc::SIGCONT);
            } else {
                libc::kill(-self.pid, libc::SIGKILL);
            }
        }
        if let Some((_, at)) = &mut self.ending {
            *at = now + if self.is_subreaper && !self.killed { CLEAN_UP } else { Duration::from_secs(3600) };
        }
        self.killed = true;
    }

    /// Waits for a process that has exited, and reports how.
    pub(super) fn reap(mut self) {
        // The rest of its group is killed with it. The number cannot be another group's before the process was waited for.
        // SAFETY: plain numbers.
        unsafe { libc::kill(-self.pid, libc::SIGKILL) };
        let (natural, near_memory_limit) = self.wait();
        if let Some(output) = &self.output {
            self.tail.fill(output);
        }
        let killed_by_us = self.killed && matches!(natural, ExitCause::Signal(libc::SIGKILL | libc::SIGTERM));
        let cause = match self.ending.take() {
            // Once a library has damaged its worker, that may go wrong in other ways before it is killed.
            Some((cause @ (ExitCause::Retired | ExitCause::InvalidFrame | ExitCause::DamagedPage), _)) => cause,
            Some((cause, _)) if killed_by_us => cause,
            _ => natural,
        };
        let crashed = matches!(cause, ExitCause::Signal(_) | ExitCause::Exit(_));
        let mut exit = WorkerExit {
            cause,
            output: self.tail.last_lines(),
            near_memory_limit: near_memory_limit && crashed,
            memory: self.memory.to_string(),
            denial: None,
        };
        match self.startup.take() {
            None => {
                if let Some(owner) = self.owner.upgrade() {
                    owner.exited(self.worker, exit);
                }
            }
            Some(mut startup) => {
                // It may have said why before it exited.
                if let StartProgress::NotLoaded(reason) = startup.poll() {
                    return self.report_failure(startup.reply.take(), &reason);
                }
                exit.denial = startup.page.last_denial();
                let reason = format!("while it was loaded, {}", exit.reason());
                self.report_failure(startup.reply.take(), &reason);
            }
        }
    }

    fn wait(&self) -> (ExitCause, bool) {
        let mut status = 0;
        // SAFETY: all zeroes are a valid `rusage`.
        let mut used: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes to both, which are of the types that it expects.
        if unsafe { libc::wait4(self.pid, &raw mut status, 0, &raw mut used) } != self.pid {
            return (ExitCause::Unknown, false);
        }
        let unit = if cfg!(target_os = "linux") { 1024.0 } else { 1.0 };
        let most = used.ru_maxrss as f64 * unit;
        let near_limit = self.memory.bytes().is_some_and(|bytes| most >= bytes as f64 * NEAR_LIMIT);
        let cause = if libc::WIFSIGNALED(status) {
            ExitCause::Signal(libc::WTERMSIG(status))
        } else {
            ExitCause::Exit(libc::WEXITSTATUS(status))
        };
        (cause, near_limit)
    }
}

/// How far the start of a worker has got.
enum StartProgress {
    Pending,
    Ready(ReadyMessage),
    NotLoaded(String),
    Closed,
    Invalid,
}

impl Startup {
    fn poll(&mut self) -> StartProgress {
        while self.sent < self.hello.len() {
            match (&self.requests).write(&self.hello[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Full, or closed, which its exit status explains.
                Err(_) => break,
            }
        }
        let mut chunk = [0_u8; 4096];
        loop {
            match Reply::read(&self.received, self.nonce) {
                Err(_) => return StartProgress::Invalid,
                Ok(Some((reply, payload))) => {
                    let payload = &self.received[payload];
                    return match reply.kind {
                        ReplyKind::Ready => {
                            serde_json::from_slice(payload).map_or(StartProgress::Invalid, StartProgress::Ready)
                        }
                        ReplyKind::NotLoaded => StartProgress::NotLoaded(String::from_utf8_lossy(payload).into_owned()),
                        _ => StartProgress::Invalid,
                    };
                }
                Ok(None) => {}
            }
            match (&self.replies).read(&mut chunk) {
                Ok(0) => return StartProgress::Closed,
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => return StartProgress::Pending,
                    _ => return StartProgress::Closed,
                },
            }
        }
    }
}

fn send_result(reply: StartReply, result: Result<Confinement, LoadError>) {
    if let Some(reply) = reply {
        // The receiver may have stopped waiting.
        let _ = reply.send(result);
    }
}

/// Whether a process has exited; it can still be waited for.
fn has_exited(pid: libc::pid_t) -> bool {
    // SAFETY: all zeroes are a valid `siginfo_t`.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the call writes to `info`, which is of the type that it expects.
    let waited = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut info, flags) };
    // SAFETY: the field is zero, or what the call has written.
    let ended = unsafe { info.si_pid() } == pid;
    ended || (waited != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD))
}

#[cfg(target_os = "linux")]
fn open_pidfd(pid: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: plain numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0)?;
    // SAFETY: the kernel just gave it to us.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(not(target_os = "linux"))]
fn open_pidfd(_pid: libc::pid_t) -> Option<OwnedFd> {
    None
}

/// A number that cannot be guessed.
fn random() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    // The keys of a `RandomState` are the system's randomness.
    RandomState::new().build_hasher().finish()
}
