//! This program, executed again as the reaper of another one.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, exit};
use std::time::Duration;

use crate::reaper::split;

/// The first argument of a reaper. The parent's process number, the milliseconds, the program and its arguments follow.
const MARK: &str = "--opentool-child-reaper";

/// Also where the file of the running program was replaced since.
const THIS_PROGRAM: &str = "/proc/self/exe";

const NOT_FOUND: i32 = 127;
const MISUSED: i32 = 2;

pub(crate) fn command(program: &OsStr, grace: Duration) -> Option<Command> {
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

pub(crate) fn run_if_marked() {
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
