//! How a worker is started.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

use super::Settings;
use crate::worker::{self, BOARD, Board, MARK, REPLIES, REQUESTS};

/// The ends that a worker gets are put beyond those numbers that they will have there, so that none overwrites another.
const BEYOND: libc::c_int = 80;

/// A worker that was started, and what the parent keeps of it.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) pid: libc::pid_t,
    pub(super) requests: OwnedFd,
    pub(super) replies: OwnedFd,
    /// What it prints.
    pub(super) output: OwnedFd,
    pub(super) board: Board,
}

/// What every worker of a library is started with.
#[derive(Debug)]
pub(super) struct Launch {
    program: CString,
    arguments: [CString; 3],
    environment: Vec<CString>,
}

impl Launch {
    /// Prepares the start of workers.
    pub(super) fn new(settings: &Settings) -> Result<Launch, String> {
        let program = match &settings.worker {
            Some(program) if program.is_file() => c_string(program.as_os_str())?,
            Some(program) => return Err(format!("the worker {} is no file", program.display())),
            None if worker::is_entry() => this_program()?,
            None => {
                let message = "this program cannot be its own worker: call `opentool_dyn::worker_main()` first thing in \
                               `main`, or name a worker by `DynLibrary::builder().worker(path)`";
                return Err(message.to_owned());
            }
        };
        let arguments = [c"opentool".to_owned(), c_string(MARK)?, c_string(std::process::id().to_string())?];
        let mut variables = BTreeMap::from([("LC_ALL", OsString::from("C"))]);
        for variable in settings.permissions.variables() {
            if let Some((name, value)) = variable.split_once('=') {
                variables.insert(name, value.into());
            } else if let Some(value) = std::env::var_os(variable) {
                variables.insert(variable, value);
            }
        }
        let assigned = variables.into_iter().map(|(name, value)| {
            let mut variable = OsString::from(name);
            variable.push("=");
            variable.push(value);
            c_string(variable)
        });
        let environment = assigned.collect::<Result<_, _>>()?;
        Ok(Launch { program, arguments, environment })
    }

    /// Starts a worker in a process group of its own.
    pub(super) fn spawn(&self) -> io::Result<Spawned> {
        let (worker_requests, requests) = pipe()?;
        let (replies, worker_replies) = pipe()?;
        let (output, worker_output) = pipe()?;
        let (board, worker_board) = Board::make()?;
        let worker_board = beyond(worker_board)?;
        let (worker_requests, worker_replies) = (beyond(worker_requests)?, beyond(worker_replies)?);
        let worker_output = beyond(worker_output)?;
        for fd in [&requests, &replies, &output] {
            unblock(fd)?;
        }
        let mut actions = Actions::new()?;
        actions.open_null(0)?;
        actions.give(&worker_output, 1)?;
        actions.give(&worker_output, 2)?;
        actions.give(&worker_requests, REQUESTS)?;
        actions.give(&worker_replies, REPLIES)?;
        actions.give(&worker_board, BOARD)?;
        let attributes = Attributes::new()?;
        let arguments = pointers(&self.arguments);
        let environment = pointers(&self.environment);
        let mut pid = 0;
        // SAFETY: every list is of C strings and ends in a null; the actions and attributes are initialised.
        let failed = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.program.as_ptr(),
                &raw const actions.0,
                &raw const attributes.0,
                arguments.as_ptr(),
                environment.as_ptr(),
            )
        };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        Ok(Spawned { pid, requests, replies, output, board })
    }
}

/// The running program, also where its file was replaced since.
fn this_program() -> Result<CString, String> {
    if cfg!(target_os = "linux") && Path::new("/proc/self/exe").exists() {
        return Ok(c"/proc/self/exe".to_owned());
    }
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    c_string(program.as_os_str())
}

fn c_string(text: impl AsRef<OsStr>) -> Result<CString, String> {
    let text = text.as_ref();
    CString::new(text.as_bytes()).map_err(|_| format!("{} has a zero byte in it", text.to_string_lossy()))
}

/// A list as C has it.
fn pointers(strings: &[CString]) -> Vec<*mut libc::c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

/// A pipe whose ends no other program inherits: where one reads, and where one writes.
pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    #[cfg(target_os = "linux")]
    // SAFETY: there is room for both ends.
    let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    #[cfg(not(target_os = "linux"))]
    // SAFETY: there is room for both ends.
    let made = unsafe { libc::pipe(ends.as_mut_ptr()) };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave them to us.
    let [read, write] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    #[cfg(not(target_os = "linux"))]
    for fd in [&read, &write] {
        // SAFETY: plain numbers, and the descriptor is open.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok((read, write))
}

fn beyond(fd: OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers, and the descriptor is open.
    let moved = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, BEYOND) };
    // SAFETY: the kernel just gave it to us.
    if moved < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(moved) }) }
}

/// Makes reading and writing return where they would wait.
pub(super) fn unblock(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: plain numbers, and the descriptor is open.
    let set = unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What is done with descriptors between fork and exec.
struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> io::Result<Actions> {
        // SAFETY: the call initialises what it is given.
        unsafe {
            let mut actions = std::mem::zeroed();
            check(libc::posix_spawn_file_actions_init(&raw mut actions))?;
            Ok(Actions(actions))
        }
    }

    fn give(&mut self, fd: &OwnedFd, number: libc::c_int) -> io::Result<()> {
        // SAFETY: the actions are initialised; the rest are numbers.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, fd.as_raw_fd(), number) })
    }

    fn open_null(&mut self, number: libc::c_int) -> io::Result<()> {
        let null = c"/dev/null".as_ptr();
        // SAFETY: the actions are initialised, and the path is a C string that lives for ever.
        check(unsafe { libc::posix_spawn_file_actions_addopen(&raw mut self.0, number, null, libc::O_RDONLY, 0) })
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: they were initialised and are not used again.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// A group of its own, no signal blocked, none ignored.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> io::Result<Attributes> {
        let flags = libc::POSIX_SPAWN_SETPGROUP | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        // SAFETY: the calls initialise what they are given before it is read.
        unsafe {
            let mut attributes = std::mem::zeroed();
            check(libc::posix_spawnattr_init(&raw mut attributes))?;
            let mut attributes = Attributes(attributes);
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            check(libc::posix_spawnattr_setsigmask(&raw mut attributes.0, &raw const set))?;
            libc::sigfillset(&raw mut set);
            check(libc::posix_spawnattr_setsigdefault(&raw mut attributes.0, &raw const set))?;
            check(libc::posix_spawnattr_setpgroup(&raw mut attributes.0, 0))?;
            check(libc::posix_spawnattr_setflags(&raw mut attributes.0, flags as libc::c_short))?;
            Ok(attributes)
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: they were initialised and are not used again.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

fn check(error: libc::c_int) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
