//! How a process learns that its parent has ended: [`die_with`], [`Parent`].

use std::fmt;

/// The parent ended before this process could tie itself to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParentIsGone;

impl fmt::Display for ParentIsGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the process that started this one has ended")
    }
}

impl std::error::Error for ParentIsGone {}

/// Ties the life of this process to that of its parent, however that ends.
///
/// On Linux it is the *thread* that started this process whose end kills it, so that thread should live as long as its
/// process.
///
/// # Errors
///
/// Where the parent, known by its process number, has ended already.
#[cfg(target_os = "linux")]
pub fn die_with(parent: i32) -> Result<(), ParentIsGone> {
    set_death_signal(libc::SIGKILL);
    // It may have died before the signal was asked for.
    if has_parent(parent) { Ok(()) } else { Err(ParentIsGone) }
}

/// Ties the life of this process to that of its parent: a thread polls for it, since the system has no signal for it.
///
/// # Errors
///
/// Where the parent, known by its process number, has ended already.
#[cfg(not(target_os = "linux"))]
pub fn die_with(parent: i32) -> Result<(), ParentIsGone> {
    if !has_parent(parent) {
        return Err(ParentIsGone);
    }
    std::thread::spawn(move || {
        while has_parent(parent) {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        // SAFETY: ends the process and does not return.
        unsafe { libc::_exit(0) }
    });
    Ok(())
}

fn has_parent(parent: i32) -> bool {
    // SAFETY: takes nothing.
    unsafe { libc::getppid() == parent }
}

/// Asks for a signal when the thread that started this process ends; 0 for none.
#[cfg(target_os = "linux")]
fn set_death_signal(signal: libc::c_int) {
    // SAFETY: plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0) };
}

/// The parent of this process, whose end can be waited for, whichever of its threads started this process.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Parent {
    pid: i32,
    /// Becomes readable when it ends; none on a kernel older than 5.3.
    pidfd: Option<std::os::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Parent {
    pub(crate) fn open(pid: i32) -> Result<Parent, ParentIsGone> {
        use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

        set_death_signal(0);
        // SAFETY: plain numbers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0);
        // SAFETY: the kernel just gave it to us.
        let pidfd = fd.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        // While it is the parent, its number cannot be another's.
        if has_parent(pid) { Ok(Parent { pid, pidfd }) } else { Err(ParentIsGone) }
    }

    /// The descriptor that becomes readable when the parent ends, and how many milliseconds to wait where there is none.
    pub(crate) fn interest(&self) -> (std::os::fd::RawFd, libc::c_int) {
        use std::os::fd::AsRawFd as _;

        self.pidfd.as_ref().map_or((-1, 200), |fd| (fd.as_raw_fd(), -1))
    }

    pub(crate) fn is_gone(&self) -> bool {
        !has_parent(self.pid)
    }
}
