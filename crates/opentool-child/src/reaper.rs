//! The process above a child that ends all that the child leaves behind: [`split`].

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::ptr;
use std::time::{Duration, Instant};

use crate::parent::{Parent, die_with};

/// Forks this process: the child returns, the parent stays above it as its reaper and never returns.
///
/// The reaper inherits every process below it that loses its parent, so that none escapes by leaving the process group. When the
/// child ends, when the process with the number `parent` ends (it must be the parent of this one), or when the reaper gets SIGTERM, all that
/// is left below gets SIGTERM and, after the time of `grace`, SIGKILL; where that is zero, SIGKILL at once. Then the reaper ends as the child did.
/// `close` are descriptors that the reaper closes, such as pipes whose end others wait for.
///
/// There must be no other thread in this process. Where `parent` has ended already, the process exits.
///
/// # Errors
///
/// Where the system refuses the fork.
pub fn split(parent: i32, grace: Duration, close: &[RawFd]) -> io::Result<()> {
    let signals = signals(&[libc::SIGTERM, libc::SIGCHLD]);
    // SAFETY: the set is initialised; the other arguments are numbers. They are blocked so that they can be waited for.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, ptr::null_mut());
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
    let Ok(parent) = Parent::open(parent) else { std::process::exit(0) };
    let events = signal_descriptor(&signals)?;
    // SAFETY: takes nothing.
    let reaper = unsafe { libc::getpid() };
    // SAFETY: there is one thread, so that no lock is held in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: as above.
            unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const signals, ptr::null_mut()) };
            if die_with(reaper).is_err() {
                std::process::exit(0);
            }
            Ok(())
        }
        child => {
            for fd in close {
                // SAFETY: nothing in this process uses them any more.
                unsafe { libc::close(*fd) };
            }
            Reaper { child, parent, events, grace, ended: None }.run()
        }
    }
}

struct Reaper {
    child: libc::pid_t,
    parent: Parent,
    /// Where SIGTERM and SIGCHLD are read from.
    events: OwnedFd,
    grace: Duration,
    /// The status of the child, once it has ended.
    ended: Option<libc::c_int>,
}

impl Reaper {
    fn run(mut self) -> ! {
        while self.ended.is_none() {
            let (parent, timeout) = self.parent.interest();
            let asked_to_end = self.wait(parent, timeout);
            self.reap();
            if asked_to_end || self.parent.is_gone() {
                break;
            }
        }
        self.terminate();
        self.kill();
        end_like(self.ended.unwrap_or(libc::SIGKILL))
    }

    /// Waits for a signal, or for the parent to end; says whether the signal was SIGTERM.
    fn wait(&self, parent: RawFd, timeout: libc::c_int) -> bool {
        let interest = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polled = [interest(self.events.as_raw_fd()), interest(parent)];
        // SAFETY: the list is as long as it says.
        unsafe { libc::poll(polled.as_mut_ptr(), 2, timeout) };
        let mut asked_to_end = false;
        loop {
            // SAFETY: all zeroes are a valid `signalfd_siginfo`.
            let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
            let size = size_of::<libc::signalfd_siginfo>();
            // SAFETY: the call writes at most one such value to `info`.
            let read = unsafe { libc::read(self.events.as_raw_fd(), (&raw mut info).cast(), size) };
            if usize::try_from(read) != Ok(size) {
                return asked_to_end;
            }
            asked_to_end |= info.ssi_signo == libc::SIGTERM as u32;
        }
    }

    /// Reaps all children that have ended; says whether any are left.
    fn reap(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: `status` is a place for a status.
            let child = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            if child == self.child {
                self.ended = Some(status);
            }
            if child <= 0 {
                return child == 0;
            }
        }
    }

    /// Asks all that is left to end, and waits for that at most as long as the grace.
    fn terminate(&mut self) {
        if self.grace.is_zero() || !self.reap() {
            return;
        }
        let until = Instant::now() + self.grace;
        // SAFETY: plain numbers. The reaper itself has the signal blocked.
        unsafe {
            if libc::getpgrp() == libc::getpid() {
                libc::kill(0, libc::SIGTERM);
            }
        }
        for child in children() {
            // SAFETY: plain numbers; only this process waits for its children, so that the number is still theirs.
            unsafe { libc::kill(child, libc::SIGTERM) };
        }
        while self.reap() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            self.wait(-1, libc::c_int::try_from(left.as_millis()).unwrap_or(libc::c_int::MAX) + 1);
        }
    }

    /// Kills all that is left: those that are killed leave their children to this process.
    fn kill(&mut self) {
        loop {
            for child in children() {
                // SAFETY: as above.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            let mut status = 0;
            // SAFETY: `status` is a place for a status.
            let child = unsafe { libc::waitpid(-1, &raw mut status, 0) };
            if child == self.child {
                self.ended = Some(status);
            }
            if child < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
                return;
            }
        }
    }
}

/// The processes that this one has started or inherited.
fn children() -> Vec<libc::pid_t> {
    let own = std::process::id().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<libc::pid_t>().ok());
    let is_child = |pid: &libc::pid_t| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name is in brackets and may hold anything; the state and the parent come after it.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        parent == Some(own.as_str())
    };
    numbers.filter(is_child).collect()
}

/// Exits as the child did, so that a process that waits for the reaper gets the child's status.
fn end_like(status: libc::c_int) -> ! {
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        let (mut action, blocked) = (default_action(), signals(&[signal]));
        let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: all of these are initialised, and the calls only read them.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::sigaction(signal, &raw mut action, ptr::null_mut());
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const blocked, ptr::null_mut());
            libc::raise(signal);
        }
    }
    // SAFETY: ends the process and does not return.
    unsafe { libc::_exit(libc::WEXITSTATUS(status)) }
}

/// A descriptor from which blocked signals are read, without waiting.
fn signal_descriptor(signals: &libc::sigset_t) -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised; -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, signals, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
    // SAFETY: the kernel just gave it to us.
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

fn default_action() -> libc::sigaction {
    // SAFETY: all zeroes are a valid `sigaction`, that of SIG_DFL.
    unsafe { std::mem::zeroed() }
}

fn signals(wanted: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: the set is initialised before it is read.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in wanted {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}
