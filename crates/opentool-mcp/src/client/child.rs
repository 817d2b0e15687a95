//! A server that runs as a child process: [`ChildServer`].

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::command::ServerCommand;
use super::end_report::EndReport;
use super::lines::{BoundedLine, LineReader};
use super::text::shown;

/// How long a server may take to end once its input has ended.
const END_OF_INPUT: Duration = Duration::from_secs(2);

/// How long it may take once it was asked to by a signal.
const TERMINATE: Duration = Duration::from_secs(2);

/// How long the system may take to end it.
const KILL: Duration = Duration::from_secs(1);

/// How often it is asked whether a server has ended.
const POLL: Duration = Duration::from_millis(5);

/// How many bytes of a line of standard error are kept.
const MAX_LOG_LINE: usize = 4096;

/// A child process and its process group. Dropping it ends both.
pub(crate) struct ChildServer(Option<Child>);

/// The streams of a child process.
pub(crate) struct ChildStreams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl ChildServer {
    /// Starts a server in a process group of its own, so that what it starts can be ended with it, and so that Ctrl-C at a
    /// terminal reaches only us.
    pub(crate) fn start(command: &ServerCommand) -> io::Result<(Self, ChildStreams)> {
        let mut process = Command::new(command.program());
        process
            .args(command.arguments())
            .env_clear()
            .envs(command.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(directory) = command.directory() {
            process.current_dir(directory);
        }
        #[cfg(unix)]
        process.process_group(0);
        let mut child = process.spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let server = Self(Some(child));
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((server, ChildStreams { stdin, stdout, stderr })),
            _ => Err(io::Error::other("the program has no standard streams")),
        }
    }

    /// Waits until the server ends, whose input was closed before, and signals its group where it does not.
    pub(crate) async fn end(mut self) {
        let Some(child) = self.0.take() else { return };
        // Where the runtime is ending, dropping the child does it.
        let _ = tokio::task::spawn_blocking(move || Ending(child).finish(END_OF_INPUT)).await;
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        let Some(child) = self.0.take() else { return };
        let ending = Ending(child);
        // At once, because the process may be about to exit.
        ending.signal(GroupSignal::Terminate);
        let spawned = thread::Builder::new().name("opentool-mcp-end".to_owned());
        // Without a thread, the child itself is killed when it is dropped.
        let _ = spawned.spawn(move || ending.finish(Duration::ZERO));
    }
}

/// A child that is to end. Dropping it kills the child, though not its group.
struct Ending(Child);

#[derive(Clone, Copy)]
enum GroupSignal {
    Terminate,
    Kill,
}

impl Ending {
    fn finish(mut self, end_of_input: Duration) {
        #[cfg(unix)]
        let group = self.group();
        #[cfg(not(unix))]
        let group = None;
        if self.is_gone_within(end_of_input, group) {
            return;
        }
        for (signal, time) in [(GroupSignal::Terminate, TERMINATE), (GroupSignal::Kill, KILL)] {
            signal_group(group, signal, &mut self.0);
            if self.is_gone_within(time, group) {
                return;
            }
        }
        tracing::warn!(target: "opentool::mcp", "an MCP server could not be ended");
    }

    fn signal(&self, signal: GroupSignal) {
        #[cfg(unix)]
        send(self.group(), signal);
        #[cfg(not(unix))]
        let _ = signal;
    }

    #[cfg(unix)]
    fn group(&self) -> Option<ProcessGroup> {
        self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
    }

    /// Waits until the child and its group have ended.
    fn is_gone_within(&mut self, time: Duration, group: Option<ProcessGroup>) -> bool {
        let started = Instant::now();
        loop {
            // This also takes the child out of the table of processes.
            let has_ended = !matches!(self.0.try_wait(), Ok(None));
            if has_ended && !exists(group) {
                return true;
            }
            if started.elapsed() >= time {
                return false;
            }
            thread::sleep(POLL);
        }
    }
}

#[cfg(unix)]
type ProcessGroup = rustix::process::Pid;

#[cfg(not(unix))]
type ProcessGroup = std::convert::Infallible;

#[cfg(unix)]
fn exists(group: Option<ProcessGroup>) -> bool {
    group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

#[cfg(not(unix))]
fn exists(_group: Option<ProcessGroup>) -> bool {
    false
}

#[cfg(unix)]
fn signal_group(group: Option<ProcessGroup>, signal: GroupSignal, _child: &mut Child) {
    send(group, signal);
}

#[cfg(not(unix))]
fn signal_group(_group: Option<ProcessGroup>, _signal: GroupSignal, child: &mut Child) {
    // It fails only where the child has ended.
    let _ = child.start_kill();
}

#[cfg(unix)]
fn send(group: Option<ProcessGroup>, signal: GroupSignal) {
    let signal = match signal {
        GroupSignal::Terminate => rustix::process::Signal::TERM,
        GroupSignal::Kill => rustix::process::Signal::KILL,
    };
    if let Some(group) = group {
        // It fails only where the group has ended.
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Writes what a server says on standard error to our log, a line at a time.
pub(crate) fn log(stderr: ChildStderr, server: Arc<str>, report: Arc<EndReport>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut lines = LineReader::new(stderr, MAX_LOG_LINE);
        while let Ok(Some(line)) = lines.next().await {
            let (BoundedLine::Whole(line) | BoundedLine::Beginning(line)) = line;
            let line = shown(&String::from_utf8_lossy(&line));
            if !line.is_empty() {
                tracing::info!(target: "opentool::mcp", %server, "{line}");
                report.line(line);
            }
        }
    })
}
