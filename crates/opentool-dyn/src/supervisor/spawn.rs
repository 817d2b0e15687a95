//! How a worker is started.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, pipe};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;

use super::settings::Settings;
use crate::protocol::{MARK, PAGE, REPLIES, REQUESTS};
use crate::shared_page::SharedPage;
use crate::worker;

/// The descriptors that a worker gets are first moved above the numbers that they will have there, so that none overwrites
/// another.
const ABOVE: libc::c_int = 80;

/// A worker that was started, and what the parent keeps of it.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) pid: libc::pid_t,
    pub(super) requests: PipeWriter,
    pub(super) replies: PipeReader,
    /// What it prints.
    pub(super) output: PipeReader,
    pub(super) page: SharedPage,
}

/// What every worker of a library is started with.
#[derive(Debug)]
pub(super) struct Launcher {
    program: CString,
    arguments: [CString; 3],
    environment: Vec<CString>,
}

impl Launcher {
    /// Prepares the start of workers.
    pub(super) fn new(settings: &Settings) -> Result<Launcher, String> {
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
        Ok(Launcher { program, arguments, environment })
    }

    /// Starts a worker in a process group of its own.
    pub(super) fn spawn(&self) -> io::Result<Spawned> {
        let (worker_requests, requests) = pipe()?;
        let (replies, worker_replies) = pipe()?;
        let (output, worker_output) = pipe()?;
        let (page, worker_page) = SharedPage::create()?;
        let worker_page = move_above(worker_page)?;
        let (worker_requests, worker_replies) =
            (move_above(worker_requests.into())?, move_above(worker_replies.into())?);
        let worker_output = move_above(worker_output.into())?;
        set_nonblocking(&requests)?;
        set_nonblocking(&replies)?;
        set_nonblocking(&output)?;
        let mut actions = Actions::new()?;
        actions.open_null(0)?;
        actions.add_dup2(&worker_output, 1)?;
        actions.add_dup2(&worker_output, 2)?;
        actions.add_dup2(&worker_requests, REQUESTS)?;
        actions.add_dup2(&worker_replies, REPLIES)?;
        actions.add_dup2(&worker_page, PAGE)?;
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
        Ok(Spawned { pid, requests, replies, output, page })
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

fn move_above(fd: OwnedFd) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers, and the descriptor is open.
    let moved = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, ABOVE) };
    // SAFETY: the kernel just gave it to us.
    if moved < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(moved) }) }
}

/// Makes a descriptor non-blocking.
pub(super) fn set_nonblocking(fd: &impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
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

    fn add_dup2(&mut self, fd: &OwnedFd, number: libc::c_int) -> io::Result<()> {
        // SAFETY: the actions are initialised; the rest are numbers.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, fd.as_raw_fd(), number) })
    }

    fn open_null(&mut self, number: libc::c_int) -> io::Result<()> {
        let null = c"/dev/null".as_ptr();
        // SAFETY: the actions are initialised, and the path is a C string with static lifetime.
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
