//! What a worker does to itself before anything else.

use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::protocol::{PAGE, REPLIES, REQUESTS};
use crate::spin::{Spinner, spin_until};

/// The descriptors that the parent passed on.
#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) requests: PipeReader,
    pub(super) replies: PipeWriter,
    pub(super) page: OwnedFd,
}

/// Takes the descriptors that the parent passed on, and closes all others that it left open.
pub(super) fn take_descriptors() -> io::Result<Descriptors> {
    let own = [REQUESTS, REPLIES, PAGE];
    for fd in own {
        // SAFETY: plain numbers; a descriptor that is not open is an error.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "a worker is started by opentool, not by hand"));
        }
    }
    close(3, REQUESTS - 1);
    close(PAGE + 1, RawFd::MAX);
    // SAFETY: these are open, and nothing else in this process has taken them.
    let [requests, replies, page] = own.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(Descriptors { requests: requests.into(), replies: replies.into(), page })
}

/// Closes descriptors, also unknown ones: a library must not find what its parent had open.
fn close(first: RawFd, last: RawFd) {
    #[cfg(target_os = "linux")]
    // SAFETY: nothing in this process uses a descriptor of this range.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    // SAFETY: takes a number only.
    let most = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) };
    let most = RawFd::try_from(most).unwrap_or(1024).clamp(0, 65_536);
    for fd in first..=last.min(most) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// Reads what is there, and waits until something is: a moment awake, then asleep. Returns 0 at the end of the pipe.
pub(super) fn read(pipe: &PipeReader, chunk: &mut [u8], spinner: &mut Spinner) -> io::Result<usize> {
    if spinner.is_due() && !spin_until(|| poll(pipe, libc::POLLIN, 0)) {
        spinner.record_failure();
    }
    loop {
        match (&*pipe).read(chunk) {
            Ok(read) => return Ok(read),
            Err(error) => wait_after(error, pipe, libc::POLLIN)?,
        }
    }
}

/// Writes bytes to the end, by system calls that carry a key.
pub(super) fn write(pipe: &PipeWriter, key: u32, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write_some(pipe, key, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) => wait_after(error, pipe, libc::POLLOUT)?,
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn write_some(pipe: &PipeWriter, key: u32, bytes: &[u8]) -> io::Result<usize> {
    const UNUSED: libc::c_long = 0;
    let (fd, key) = (pipe.as_raw_fd() as libc::c_long, key as libc::c_long);
    // SAFETY: the pipe is open and the bytes are as long as it says. The kernel does not look at the last three arguments.
    let written = unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len(), UNUSED, UNUSED, key) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

#[cfg(not(target_os = "linux"))]
fn write_some(mut pipe: &PipeWriter, _key: u32, bytes: &[u8]) -> io::Result<usize> {
    io::Write::write(&mut pipe, bytes)
}

/// Says whether an error is one after which to go on, and waits where there is something to wait for.
fn wait_after(error: io::Error, pipe: &impl AsRawFd, events: libc::c_short) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock => {
            poll(pipe, events, -1);
            Ok(())
        }
        _ => Err(error),
    }
}

/// Waits so many milliseconds until a descriptor is ready, or without limit where they are negative; says whether it is.
fn poll(fd: &impl AsRawFd, events: libc::c_short, timeout: libc::c_int) -> bool {
    let mut wanted = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: one entry, as it says.
    unsafe { libc::poll(&raw mut wanted, 1, timeout) > 0 }
}
