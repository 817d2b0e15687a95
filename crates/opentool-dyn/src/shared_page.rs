//! A page of memory that a worker and its parent share: [`SharedPage`].
//!
//! A call that was given up before it began never begins: the page says which one that is, faster than a pipe could. It also keeps
//! what the library was denied last, which would otherwise be lost with a crash.
//!
//! The library can write to it, since it runs in the worker's address space. So that a call has
//! begun is believed, and nothing that is read here lets a call be sent again that may have begun by what else is known. A call
//! after which its own record is not as it must be has failed. The worker looks at that before it answers: when the parent reads
//! the answer, a later call may have run, and what that did to the page is not this one's.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::denial::Denial;

/// How many calls may be on their way to one worker.
pub(crate) const SLOTS: usize = 256;

/// How much of a path is kept.
const PATH: usize = 1024;

/// What the page holds. Every field is atomic, since the other process writes at any time.
#[repr(C)]
struct Layout {
    slots: [AtomicU64; SLOTS],
    denied: AtomicU32,
    length: AtomicU32,
    path: [AtomicU8; PATH],
}

/// How far a call has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is on its way.
    Sent,
    /// The library's function has been entered.
    Begun,
    /// It was given up before it began.
    GivenUp,
}

/// What the parent finds on the page about a call that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallRecord {
    /// It has begun, as the worker leaves it.
    Begun,
    /// It has not begun.
    NotBegun,
    /// The record is not of this call: the library has written over it, in this call or in a later one.
    Overwritten,
}

/// The page that a worker and its parent share.
#[derive(Debug)]
pub(crate) struct SharedPage {
    layout: NonNull<Layout>,
}

// SAFETY: the page is only touched through atomics, from whichever thread or process.
unsafe impl Send for SharedPage {}
// SAFETY: as above.
unsafe impl Sync for SharedPage {}

impl SharedPage {
    /// Makes a page, and the descriptor by which a worker finds it.
    pub(crate) fn create() -> io::Result<(SharedPage, OwnedFd)> {
        let fd = anonymous_memory()?;
        // SAFETY: the descriptor is open; the call touches no memory.
        if unsafe { libc::ftruncate(fd.as_raw_fd(), size_of::<Layout>() as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        #[cfg(target_os = "linux")]
        seal(&fd)?;
        Ok((SharedPage::map(&fd)?, fd))
    }

    /// Maps the page of a descriptor.
    pub(crate) fn map(fd: &impl AsFd) -> io::Result<SharedPage> {
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<Layout>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_fd().as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast())
            .map(|layout| SharedPage { layout })
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the mapping lives as long as `self`, is as large as a `Layout` and aligned to a page; zeroes and every
        // other bytes are valid atomics.
        unsafe { self.layout.as_ref() }
    }

    fn slot(&self, id: u64) -> &AtomicU64 {
        &self.layout().slots[slot_of(id)]
    }

    /// Called by the parent before it sends a call.
    pub(crate) fn mark_sent(&self, id: u64) {
        self.slot(id).store(word(id, Stage::Sent), Ordering::Release);
    }

    /// Called by the worker before it begins a call: false where the call was given up.
    ///
    /// A record that an earlier call has damaged keeps no later one from beginning.
    pub(crate) fn begin(&self, id: u64) -> bool {
        let (sent, begun) = (word(id, Stage::Sent), word(id, Stage::Begun));
        match self.slot(id).compare_exchange(sent, begun, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(found) if found == word(id, Stage::GivenUp) => false,
            Err(_) => {
                self.slot(id).store(begun, Ordering::Release);
                true
            }
        }
    }

    /// Called by the parent to give a call up: false where it has begun.
    pub(crate) fn give_up(&self, id: u64) -> bool {
        let (sent, given_up) = (word(id, Stage::Sent), word(id, Stage::GivenUp));
        self.slot(id).compare_exchange(sent, given_up, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Whether the record of a call is as the worker leaves it. Called by the worker after the call: otherwise the library has
    /// damaged it meanwhile.
    #[inline]
    pub(crate) fn has_begun(&self, id: u64) -> bool {
        self.record(id) == CallRecord::Begun
    }

    /// What the page says about a call. Called by the parent when it reads the answer, when later calls may have run already.
    #[inline]
    pub(crate) fn record(&self, id: u64) -> CallRecord {
        match self.slot(id).load(Ordering::Acquire) {
            found if found == word(id, Stage::Begun) => CallRecord::Begun,
            found if found >> STAGE_BITS == id => CallRecord::NotBegun,
            _ => CallRecord::Overwritten,
        }
    }

    /// Records what the library was denied. Called from a signal handler: it takes no lock and allocates nothing.
    pub(crate) fn record_denial(&self, code: u32, path: &[u8]) {
        let layout = self.layout();
        let length = path.len().min(PATH);
        layout.length.store(0, Ordering::Release);
        for (to, from) in layout.path.iter().zip(path) {
            to.store(*from, Ordering::Relaxed);
        }
        layout.length.store(length as u32, Ordering::Release);
        layout.denied.store(code, Ordering::Release);
    }

    /// Clears what was denied before.
    pub(crate) fn clear_denial(&self) {
        self.layout().denied.store(0, Ordering::Release);
    }

    /// What the library was denied last, if anything.
    pub(crate) fn last_denial(&self) -> Option<Denial> {
        let layout = self.layout();
        let denied = layout.denied.load(Ordering::Acquire);
        if denied == 0 {
            return None;
        }
        let length = (layout.length.load(Ordering::Acquire) as usize).min(PATH);
        let path: Vec<u8> = layout.path[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        Denial::from_code(denied, &path)
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and nothing refers to it any more.
        unsafe { libc::munmap(self.layout.as_ptr().cast(), size_of::<Layout>()) };
    }
}

/// The slot of a call on the page.
pub(crate) fn slot_of(id: u64) -> usize {
    id as usize % SLOTS
}

/// How much of a word on the page is the stage; the rest is the number of the call.
const STAGE_BITS: u32 = 2;

fn word(id: u64, stage: Stage) -> u64 {
    (id << STAGE_BITS) | stage as u64
}

#[cfg(target_os = "linux")]
fn anonymous_memory() -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string; the call touches no other memory.
    let fd = unsafe { libc::memfd_create(c"opentool-page".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    // SAFETY: a descriptor that the kernel just gave us is ours alone.
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

/// Keeps the file from being truncated, after which an access would kill the process with SIGBUS.
#[cfg(target_os = "linux")]
fn seal(fd: &OwnedFd) -> io::Result<()> {
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: plain numbers, and the descriptor is open.
    let sealed = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals) };
    if sealed != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(not(target_os = "linux"))]
fn anonymous_memory() -> io::Result<OwnedFd> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = std::ffi::CString::new(format!("/opentool-{}-{count}", std::process::id()))?;
    // SAFETY: the name is a C string; shm_open of a name that does not exist makes a new object.
    let fd = unsafe { libc::shm_open(name.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above; the object lives on through its descriptor.
    unsafe { libc::shm_unlink(name.as_ptr()) };
    // SAFETY: a descriptor that the kernel just gave us is ours alone; shm_open makes it close-on-exec.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_call_begins_or_is_given_up_and_never_both() {
        let (parent, fd) = SharedPage::create().unwrap();
        let worker = SharedPage::map(&fd).unwrap();
        parent.mark_sent(259);
        assert_eq!(parent.record(259), CallRecord::NotBegun);
        assert!(worker.begin(259));
        assert!(!parent.give_up(259));
        assert!(parent.has_begun(259));
        parent.mark_sent(515);
        assert!(parent.give_up(515));
        assert!(!worker.begin(515));
        assert_eq!(parent.record(515), CallRecord::NotBegun);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_page_cannot_be_truncated() {
        let (page, fd) = SharedPage::create().unwrap();
        page.mark_sent(7);
        // SAFETY: the descriptor is open; the call touches no memory.
        assert_eq!(unsafe { libc::ftruncate(fd.as_raw_fd(), 0) }, -1);
        assert!(page.give_up(7));
    }

    #[test]
    fn a_page_that_was_overwritten_shows_and_keeps_no_call_from_beginning() {
        let (page, _fd) = SharedPage::create().unwrap();
        page.mark_sent(7);
        assert!(page.begin(7));
        page.slot(7).store(0x5a5a_5a5a, Ordering::Relaxed);
        assert!(!page.has_begun(7));
        assert_eq!(page.record(7), CallRecord::Overwritten);
        page.mark_sent(263);
        page.slot(263).store(0x5a5a_5a5a, Ordering::Relaxed);
        assert!(page.begin(263) && page.has_begun(263));
        page.layout().length.store(u32::MAX, Ordering::Relaxed);
        page.layout().denied.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(page.last_denial(), None);
    }
}
