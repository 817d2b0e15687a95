//! The program started again as a reaper: [`reaper_main`] and [`reaped_command`].

use std::ffi::OsStr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[cfg(target_os = "linux")]
use crate::reexec;

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
    reexec::run_if_marked();
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
    return reexec::command(program.as_ref(), grace);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (program, grace);
        None
    }
}
