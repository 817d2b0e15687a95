//! What a worker does to itself before anything else.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{BOARD, REPLIES, REQUESTS};
use crate::lookout::Lookout;

/// The parent died before the worker could tie itself to it.
#[derive(Debug)]
pub(super) struct ParentIsGone;

/// What the parent handed over.
#[derive(Debug)]
pub(super) struct Descriptors {
    pub(super) requests: OwnedFd,
    pub(super) replies: OwnedFd,
    pub(super) board: OwnedFd,
}

/// Ties the life of this process to that of its parent, however that ends.
#[cfg(target_os = "linux")]
pub(super) fn die_with(parent: i32) -> Result<(), ParentIsGone> {
    die_by(libc::SIGKILL, parent)
}

/// The same by a signal of choice.
#[cfg(target_os = "linux")]
pub(super) fn die_by(signal: libc::c_int, parent: i32) -> Result<(), ParentIsGone> {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) };
    // It may have died before we asked to be told.
    // SAFETY: takes nothing.
    if unsafe { libc::getppid() } == parent { Ok(()) } else { Err(ParentIsGone) }
}

/// Ties the life of this process to that of its parent: a thread looks for it, since the system has no signal for it.
#[cfg(not(target_os = "linux"))]
pub(super) fn die_with(parent: i32) -> Result<(), ParentIsGone> {
    // SAFETY: takes nothing.
    let has_parent = move || unsafe { libc::getppid() } == parent;
    if !has_parent() {
        return Err(ParentIsGone);
    }
    std::thread::spawn(move || {
        while has_parent() {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        // SAFETY: ends the process and returns to nobody.
        unsafe { libc::_exit(0) }
    });
    Ok(())
}

/// Takes what the parent handed over and closes whatever else it left open.
pub(super) fn adopt() -> io::Result<Descriptors> {
    let own = [REQUESTS, REPLIES, BOARD];
    for fd in own {
        // SAFETY: plain numbers; a descriptor that is not open is an error.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "a worker is started by opentool, not by hand"));
        }
    }
    close(3, REQUESTS - 1);
    close(BOARD + 1, RawFd::MAX);
    // SAFETY: these are open, and nothing else in this process has taken them.
    let [requests, replies, board] = own.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(Descriptors { requests, replies, board })
}

/// Closes descriptors, also those that nobody knows of: a library must not find what its parent had open.
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

/// Reads what is there, and waits until something is; how to wait depends on what else is expected.
pub(super) fn read(fd: &OwnedFd, to: &mut Vec<u8>, lookout: &mut Lookout, alone: bool) -> io::Result<usize> {
    const CHUNK: usize = 64 << 10;
    if to.capacity() - to.len() < CHUNK / 4 {
        to.reserve(CHUNK);
    }
    if let Some(look) = lookout.begin(alone) {
        let found = look.find(|| poll(fd, libc::POLLIN, 0));
        lookout.learn(look, found);
    }
    loop {
        let space = to.spare_capacity_mut();
        // SAFETY: the kernel writes at most as many bytes as there is space.
        let read = unsafe { libc::read(fd.as_raw_fd(), space.as_mut_ptr().cast(), space.len()) };
        if let Ok(read) = usize::try_from(read) {
            // SAFETY: the kernel has written these bytes.
            unsafe { to.set_len(to.len() + read) };
            return Ok(read);
        }
        wait_after(&io::Error::last_os_error(), fd, libc::POLLIN)?;
    }
}

/// Writes bytes to the end.
pub(super) fn write(fd: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the kernel only reads the slice.
        let written = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) => wait_after(&io::Error::last_os_error(), fd, libc::POLLOUT)?,
        }
    }
    Ok(())
}

/// Says whether an error is one after which to go on, and waits where there is something to wait for.
fn wait_after(error: &io::Error, fd: &OwnedFd, events: libc::c_short) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock => {
            poll(fd, events, -1);
            Ok(())
        }
        kind => Err(error.raw_os_error().map_or_else(|| kind.into(), io::Error::from_raw_os_error)),
    }
}

/// Waits so many milliseconds until a descriptor is ready, or for ever where they are negative; says whether it is.
fn poll(fd: &OwnedFd, events: libc::c_short, timeout: libc::c_int) -> bool {
    let mut wanted = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: one entry, as it says.
    unsafe { libc::poll(&raw mut wanted, 1, timeout) > 0 }
}
