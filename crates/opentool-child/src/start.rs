//! The program started again as a reaper: [`reaper_main`] and [`reaped_command`].

use std::ffi::OsStr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The first argument of a reaper. The parent's process number, the milliseconds, the program and its arguments follow.
const MARK: &str = "--opentool-child-reaper";

/// Whether this program can be started again as a reaper.
static IS_ENTRY: AtomicBool = AtomicBool::new(false);

/// Runs the reaper and never returns, if this process was started as one; otherwise returns at once.
///
/// A program calls it first thing in its `main`, before it reads its arguments, starts threads or opens files:
///
/// ```no_run
/// fn main() {
///     opentool_child::reaper_main();
///     // the program itself
/// }
/// ```
#[expect(clippy::needless_doctest_main, reason = "that it is called in `main` is the point")]
pub fn reaper_main() {
    IS_ENTRY.store(true, Ordering::Relaxed);
    #[cfg(target_os = "linux")]
    linux::run_if_marked();
}

/// A command that runs a program below a reaper, or nothing where there can be none: [`reaper_main`] was not called in this
/// process, or the system is not Linux.
///
/// The process that the command starts is the reaper, in a process group of its own. It ends as the program did. When the
/// program ends, when this process does, or when the reaper gets SIGTERM, all that is left below it gets SIGTERM, and what goes
/// on after the time of `grace` is killed; it ends last.
///
/// Arguments, environment, folder and standard streams that are set on the command are those of the program. One that cannot
/// be started says so on standard error, with exit status 127.
#[must_use]
pub fn reaped_command(program: impl AsRef<OsStr>, grace: Duration) -> Option<Command> {
    if !IS_ENTRY.load(Ordering::Relaxed) {
        return None;
    }
    #[cfg(target_os = "linux")]
    return linux::command(program.as_ref(), grace);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (program, grace, MARK);
        None
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{OsStr, OsString};
    use std::io::ErrorKind;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Command, exit};
    use std::time::Duration;

    use super::MARK;
    use crate::reaper::split;

    /// Also where the file of the running program was replaced since.
    const THIS_PROGRAM: &str = "/proc/self/exe";

    const NOT_FOUND: i32 = 127;
    const MISUSED: i32 = 2;

    pub(super) fn command(program: &OsStr, grace: Duration) -> Option<Command> {
        if !Path::new(THIS_PROGRAM).exists() {
            return None;
        }
        let mut command = Command::new(THIS_PROGRAM);
        command
            .arg0("opentool")
            .arg(MARK)
            .arg(std::process::id().to_string())
            .arg(grace.as_millis().to_string())
            .arg(program)
            .process_group(0);
        Some(command)
    }

    pub(super) fn run_if_marked() {
        let mut arguments = std::env::args_os().skip(1);
        if arguments.next().is_none_or(|first| first != MARK) {
            return;
        }
        let mut number = || arguments.next()?.to_str()?.parse::<u32>().ok();
        let (parent, grace) = (number().and_then(|parent| i32::try_from(parent).ok()), number());
        match (parent, grace, arguments.next()) {
            (Some(parent), Some(grace), Some(program)) => {
                run(parent, Duration::from_millis(grace.into()), &program, arguments)
            }
            _ => {
                eprintln!("error: a reaper is started by opentool, not by hand");
                exit(MISUSED);
            }
        }
    }

    fn run(parent: i32, grace: Duration, program: &OsStr, arguments: impl Iterator<Item = OsString>) -> ! {
        if let Err(error) = split(parent, grace, &[0, 1, 2]) {
            eprintln!("cannot be started: {error}");
            exit(NOT_FOUND);
        }
        // This returns only where it fails.
        let error = Command::new(program).args(arguments).exec();
        match error.kind() {
            ErrorKind::NotFound => eprintln!("cannot be started: there is no such program"),
            _ => eprintln!("cannot be started: {error}"),
        }
        exit(NOT_FOUND);
    }
}
