//! A server that runs as a child process: [`ChildServer`].

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::command::ServerCommand;
use super::end_report::EndReport;
use super::text::shown;
use crate::line_reader::{BoundedLine, LineReader};

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

/// A child process and what it started. Dropping it ends both.
pub(crate) struct ChildServer(Option<Ending>);

/// The streams of a child process.
pub(crate) struct ChildStreams {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl ChildServer {
    /// Starts a server in a process group of its own, so that what it starts can be ended with it, and so that Ctrl-C at a
    /// terminal reaches only us. Where this program can be started again as a reaper, the server runs below one, which ends
    /// it also when this program is killed.
    pub(crate) fn start(command: &ServerCommand) -> io::Result<(Self, ChildStreams)> {
        let reaped = opentool_child::reaped_command(command.program(), TERMINATE);
        let is_reaped = reaped.is_some();
        if is_reaped {
            find(command)?;
        }
        let mut process = reaped.map_or_else(|| Command::new(command.program()), Command::from);
        process
            .args(command.arguments())
            .env_clear()
            .envs(command.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A reaper that is killed leaves what is below it; one that is signalled does not.
            .kill_on_drop(!is_reaped);
        if let Some(directory) = command.directory() {
            process.current_dir(directory);
        }
        #[cfg(unix)]
        process.process_group(0);
        let mut child = process.spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = group_of(&child);
        let server = Self(Some(Ending { child, group, is_reaped }));
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((server, ChildStreams { stdin, stdout, stderr })),
            _ => Err(io::Error::other("the program has no standard streams")),
        }
    }

    /// Waits until the server ends, whose input was closed before, and signals its group where it does not; says how it ended where it
    /// needed no signal.
    pub(crate) async fn end(mut self) -> Option<ExitStatus> {
        let ending = self.0.take()?;
        // Where the runtime is ending, dropping the child does it.
        tokio::task::spawn_blocking(move || ending.finish(END_OF_INPUT)).await.ok().flatten()
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        let Some(mut ending) = self.0.take() else { return };
        // At once, because the process may be about to exit.
        ending.signal(GroupSignal::Terminate);
        let spawned = thread::Builder::new().name("opentool-mcp-end".to_owned());
        // Without a thread, the child itself is killed when it is dropped.
        let _ = spawned.spawn(move || ending.finish(Duration::ZERO));
    }
}

/// A child, and how it ends. Dropping it kills the child, though not its group, unless that is below a reaper.
struct Ending {
    child: Child,
    /// The group of the child, which may outlive it.
    group: Option<ProcessGroup>,
    /// Whether the process is a reaper with the server below it.
    is_reaped: bool,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if self.is_reaped {
            self.signal(GroupSignal::Terminate);
        }
    }
}

#[derive(Clone, Copy)]
enum GroupSignal {
    Terminate,
    Kill,
}

impl Ending {
    fn finish(mut self, end_of_input: Duration) -> Option<ExitStatus> {
        if self.is_gone_within(end_of_input) {
            return self.child.try_wait().ok().flatten();
        }
        // A reaper kills by itself what does not end when it was asked to.
        let terminate = if self.is_reaped { TERMINATE + KILL } else { TERMINATE };
        for (signal, time) in [(GroupSignal::Terminate, terminate), (GroupSignal::Kill, KILL)] {
            self.signal(signal);
            if self.is_gone_within(time) {
                return None;
            }
        }
        tracing::warn!(target: "opentool::mcp", "an MCP server could not be ended");
        None
    }

    #[cfg(unix)]
    fn signal(&mut self, signal: GroupSignal) {
        use rustix::process::{Signal, kill_process, kill_process_group};
        let Some(group) = self.group else { return };
        // Each fails only where there is no such process any more.
        let _ = match signal {
            // One that has ended has left nothing, and its number may be another's.
            GroupSignal::Terminate if self.is_reaped => match self.child.id() {
                Some(_) => kill_process(group, Signal::TERM),
                None => Ok(()),
            },
            GroupSignal::Terminate => kill_process_group(group, Signal::TERM),
            GroupSignal::Kill => kill_process_group(group, Signal::KILL),
        };
    }

    #[cfg(not(unix))]
    fn signal(&mut self, signal: GroupSignal) {
        if matches!(signal, GroupSignal::Kill) {
            // It fails only where the child has ended.
            let _ = self.child.start_kill();
        }
    }

    /// Waits until the child and its group have ended.
    fn is_gone_within(&mut self, time: Duration) -> bool {
        let started = Instant::now();
        loop {
            // This also takes the child out of the table of processes.
            let has_ended = !matches!(self.child.try_wait(), Ok(None));
            if has_ended && !exists(self.group) {
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
fn group_of(child: &Child) -> Option<ProcessGroup> {
    child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
}

#[cfg(not(unix))]
fn group_of(_child: &Child) -> Option<ProcessGroup> {
    None
}

#[cfg(unix)]
fn exists(group: Option<ProcessGroup>) -> bool {
    group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

#[cfg(not(unix))]
fn exists(_group: Option<ProcessGroup>) -> bool {
    false
}

/// Says whether there is a program to start: a reaper could say it only when it runs already.
fn find(command: &ServerCommand) -> io::Result<()> {
    let program = Path::new(command.program());
    if program.components().count() > 1 {
        // A path counts from the folder in which the program runs.
        return fs::metadata(command.directory().unwrap_or(Path::new("")).join(program)).map(|_| ());
    }
    let folders = command.environment().filter(|(name, _)| name == "PATH").last().map(|(_, folders)| folders);
    // Without the variable, the system looks in folders of its own.
    let is_there = folders.is_none_or(|folders| env::split_paths(&folders).any(|folder| folder.join(program).exists()));
    if is_there { Ok(()) } else { Err(io::Error::new(io::ErrorKind::NotFound, "there is no such program in `PATH`")) }
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
