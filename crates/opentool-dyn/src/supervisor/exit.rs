//! Why a worker exited, in words: [`WorkerExit`].

use std::time::Duration;

use opentool_core::{ErrorKind, ToolError};

use crate::denial::Denial;

/// Why a worker exited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExitCause {
    /// By a signal that we did not send.
    Signal(i32),
    /// It called `exit`.
    Exit(i32),
    /// A call took too long.
    Timeout { call: u64, after: Duration },
    /// A call was given up and did not end.
    GivenUp { call: u64 },
    /// It closed its pipes and went on.
    ClosedPipes,
    /// Its pipe had bytes that are no frame of the worker.
    InvalidFrame,
    /// The record of a call on the shared page was not as the worker leaves it.
    DamagedPage,
    /// It had more threads than it may have.
    TooManyThreads { most: u32 },
    /// A call used more processor time than it may.
    TooMuchCpu { call: u64, most: Duration },
    /// Its threads used the processor while no call ran.
    BurningThreads,
    /// The library was closed, or the worker is not needed.
    Retired,
    /// It did not become ready in time.
    NotReady(Duration),
    /// Its status is lost: another part of the program has waited for it.
    Unknown,
}

/// What is known about a worker that exited.
#[derive(Debug, Clone)]
pub(super) struct WorkerExit {
    pub(super) cause: ExitCause,
    /// The last lines that it printed.
    pub(super) output: Vec<String>,
    /// Whether it had used up nearly all of the memory that it may have.
    pub(super) near_memory_limit: bool,
    /// How much memory it may have, as the operator would write it.
    pub(super) memory: String,
    /// What the sandbox denied it last.
    pub(super) denial: Option<Denial>,
}

impl WorkerExit {
    /// What happened, as the end of a sentence that begins with what was going on.
    pub(super) fn reason(&self) -> String {
        let printed = |text: &str| self.output.iter().any(|line| line.contains(text));
        let mut blames_memory = false;
        let mut reason = match &self.cause {
            ExitCause::Signal(libc::SIGABRT) if printed("has overflowed its stack") => {
                "the library crashed: stack overflow (SIGABRT)".to_owned()
            }
            ExitCause::Signal(libc::SIGABRT) if printed("memory allocation of") => {
                blames_memory = true;
                format!("the library crashed: out of memory (SIGABRT), {}", self.memory_hint())
            }
            ExitCause::Signal(libc::SIGKILL) => {
                blames_memory = true;
                "the worker was killed by SIGKILL from outside, perhaps because the machine is out of memory".to_owned()
            }
            ExitCause::Signal(signal) => {
                let (name, meaning) = named(*signal);
                let comma = if meaning.is_empty() { "" } else { ", " };
                format!("the library crashed with {name}{comma}{meaning}")
            }
            ExitCause::Exit(status) => format!("the library ended the process with exit status {status}"),
            ExitCause::Timeout { after, .. } => {
                format!("it did not answer within {after:?}, and its worker was killed")
            }
            ExitCause::GivenUp { .. } => "the call was given up, and its worker was killed".to_owned(),
            ExitCause::ClosedPipes => "the library closed the pipes of its worker".to_owned(),
            ExitCause::InvalidFrame => "the library wrote into the pipe of its worker".to_owned(),
            ExitCause::DamagedPage => "the library wrote into memory of its worker that is not its own".to_owned(),
            ExitCause::TooManyThreads { most } => {
                format!(
                    "the library had more than {most} threads, the limit that the operator sets with `--threads NUMBER`"
                )
            }
            ExitCause::TooMuchCpu { most, .. } => format!(
                "it used more than {most:?} of processor time, the limit that the operator sets with `--cpu TIME`"
            ),
            ExitCause::BurningThreads => {
                "threads of the library went on using the processor while no call ran, and its worker was replaced"
                    .to_owned()
            }
            ExitCause::Retired => "the library was closed".to_owned(),
            ExitCause::NotReady(after) => format!("it was not ready within {after:?}, and its worker was killed"),
            ExitCause::Unknown => "the worker ended, and its exit status is not known".to_owned(),
        };
        if self.near_memory_limit && !blames_memory {
            reason.push_str(&format!("; it had used nearly all of its memory: {}", self.memory_hint()));
        }
        if let Some(denial) = &self.denial {
            reason.push_str(&format!("; {}", denial.hint()));
        }
        if !self.output.is_empty() && matches!(self.cause, ExitCause::Signal(_) | ExitCause::Exit(_)) {
            reason.push_str(&format!("; it printed last: {}", self.output.join(" | ")));
        }
        reason
    }

    /// Whether it did something that it should not have done.
    pub(super) fn is_unexpected(&self) -> bool {
        !matches!(self.cause, ExitCause::Retired | ExitCause::GivenUp { .. } | ExitCause::BurningThreads)
    }

    /// Whether its library was closed, so that no other worker follows.
    pub(super) fn is_retired(&self) -> bool {
        self.cause == ExitCause::Retired
    }

    /// Whether the process ended by itself, and was not killed for something that the parent has seen.
    pub(super) fn is_natural(&self) -> bool {
        matches!(self.cause, ExitCause::Signal(_) | ExitCause::Exit(_) | ExitCause::ClosedPipes | ExitCause::Unknown)
    }

    /// Whether the library has damaged what its worker needs, which a thread that an earlier call left may have done.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self.cause, ExitCause::InvalidFrame | ExitCause::DamagedPage | ExitCause::ClosedPipes)
    }

    /// Whether the worker was killed because of this call.
    pub(super) fn is_caused_by(&self, id: u64) -> bool {
        match self.cause {
            ExitCause::Timeout { call, .. } | ExitCause::GivenUp { call } | ExitCause::TooMuchCpu { call, .. } => {
                call == id
            }
            _ => false,
        }
    }

    /// The error of a call that may have begun; `is_cause` where the worker was killed because of it, `is_one_of_many` where
    /// other calls may have been running, too.
    pub(super) fn error(&self, name: &str, is_cause: bool, is_one_of_many: bool) -> ToolError {
        let kind = match &self.cause {
            ExitCause::Timeout { .. } if is_cause => ErrorKind::Timeout,
            ExitCause::GivenUp { .. } if is_cause => ErrorKind::Cancelled,
            ExitCause::Retired => ErrorKind::Cancelled,
            _ => ErrorKind::Failed,
        };
        let message = match &self.cause {
            ExitCause::Timeout { .. } | ExitCause::GivenUp { .. } if !is_cause => {
                format!("`{name}` was lost with its worker, in which another call ran for too long; it may have run")
            }
            _ if is_one_of_many && !is_cause => {
                format!("`{name}` failed or may have run, and was lost with its worker: {}", self.reason())
            }
            _ => format!("`{name}` failed: {}", self.reason()),
        };
        let error = ToolError::new(kind, message);
        if self.output.is_empty() { error } else { error.with_detail(self.output.join("\n")) }
    }

    fn memory_hint(&self) -> String {
        format!("the limit is {}, which the operator sets with `--memory SIZE`", self.memory)
    }
}

/// A signal by its name, and what it means.
fn named(signal: i32) -> (String, &'static str) {
    let (name, meaning) = match signal {
        libc::SIGSEGV => ("SIGSEGV", "an invalid memory access"),
        libc::SIGBUS => ("SIGBUS", "memory that is not there any more: was the file replaced or cut off?"),
        libc::SIGABRT => ("SIGABRT", "it aborted itself"),
        libc::SIGFPE => ("SIGFPE", "a division by zero or the like"),
        libc::SIGILL => ("SIGILL", "an invalid instruction"),
        libc::SIGTRAP => ("SIGTRAP", "a trap"),
        libc::SIGSYS => (
            "SIGSYS",
            "a system call that is refused: the operator permits the network with `--allow net`, writing with \
             `--allow write=PATH`, other processes with `--allow unsafe`",
        ),
        libc::SIGXFSZ => ("SIGXFSZ", "a file grew too large"),
        libc::SIGXCPU => ("SIGXCPU", "too much time on the processor"),
        libc::SIGPIPE => ("SIGPIPE", ""),
        libc::SIGTERM => ("SIGTERM", ""),
        libc::SIGINT => ("SIGINT", ""),
        libc::SIGHUP => ("SIGHUP", ""),
        libc::SIGQUIT => ("SIGQUIT", ""),
        libc::SIGALRM => ("SIGALRM", ""),
        libc::SIGUSR1 => ("SIGUSR1", ""),
        libc::SIGUSR2 => ("SIGUSR2", ""),
        other => return (format!("signal {other}"), ""),
    };
    (name.to_owned(), meaning)
}
