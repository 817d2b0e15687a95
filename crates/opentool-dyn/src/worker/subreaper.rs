//! A library that may start processes may leave some behind: [`split`] puts a process above the worker that kills them.
//!
//! The subreaper inherits every orphan below it, so that none escapes by leaving the process group, and it gets a signal
//! when the program that started it dies. It runs no code of the library.

use std::io;
use std::ptr;

use super::process::die_by;
use crate::protocol::{PAGE, REPLIES, REQUESTS};

/// Forks this process: the child returns and becomes the worker, the parent stays as its subreaper.
pub(super) fn split() -> io::Result<()> {
    let signals = signals(&[libc::SIGTERM, libc::SIGCHLD]);
    // SAFETY: takes nothing.
    let parent = unsafe { libc::getppid() };
    // SAFETY: the set is initialised; the other arguments are numbers. They are blocked so that they can be waited for.
    unsafe {
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, ptr::null_mut());
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
    if die_by(libc::SIGTERM, parent).is_err() {
        std::process::exit(0);
    }
    // SAFETY: takes nothing.
    let subreaper = unsafe { libc::getpid() };
    // SAFETY: there is one thread, so that no lock is held in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: as above.
            unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const signals, ptr::null_mut()) };
            if die_by(libc::SIGKILL, subreaper).is_err() {
                std::process::exit(0);
            }
            Ok(())
        }
        worker => watch(worker, &signals),
    }
}

/// Waits for the worker to exit, or for SIGTERM, and kills all that is left.
fn watch(worker: libc::pid_t, signals: &libc::sigset_t) -> ! {
    for fd in [0, 1, 2, REQUESTS, REPLIES, PAGE] {
        // The parent must see the pipes close when the worker's are closed.
        // SAFETY: nothing in this process uses them any more.
        unsafe { libc::close(fd) };
    }
    let mut ended = None;
    while ended.is_none() {
        let mut signal = 0;
        // SAFETY: both point to what the call wants.
        unsafe { libc::sigwait(signals, &raw mut signal) };
        if signal == libc::SIGTERM {
            break;
        }
        ended = reap(worker);
    }
    loop {
        for child in children() {
            // SAFETY: plain numbers; only this process waits for its children, so that the number is still theirs.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        let mut status = 0;
        // SAFETY: `status` is a place for a status.
        let child = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if child == worker {
            ended = Some(status);
        }
        if child < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) {
            break;
        }
    }
    end_like(ended.unwrap_or(libc::SIGKILL))
}

/// Reaps all children that have exited; returns the status of the worker once it is among them.
fn reap(worker: libc::pid_t) -> Option<libc::c_int> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a place for a status.
        let child = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if child == worker {
            return Some(status);
        }
        if child <= 0 {
            return None;
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

/// Exits as the worker did, so that the parent, which waits for the subreaper, gets the worker's status.
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
