//! Memory for out buffers that ends at a guard page, so that an overflow is a crash with a name and not silent
//! damage: [`GuardedPages`].

use std::io;
use std::ptr::NonNull;

/// Pages to read and write, and behind them one that is neither.
///
/// Where the system has no such pages (it is not a Unix), nothing but ordinary memory stands behind a buffer.
#[derive(Debug)]
pub(crate) struct GuardedPages {
    start: NonNull<u8>,
    /// How many bytes may be used.
    size: usize,
}

impl GuardedPages {
    /// Pages for a buffer of so many bytes.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let page = page_size();
        let size = bytes.max(1).next_multiple_of(page);
        Ok(GuardedPages { start: map(size, page)?, size })
    }

    /// How many bytes a buffer may have.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The start of a buffer of so many bytes, at most [`size`](Self::size), that ends where the pages end; all zero.
    pub(crate) fn clear(&mut self, bytes: usize) -> *mut u8 {
        let bytes = bytes.min(self.size);
        // SAFETY: the last `bytes` of the `size` bytes that are mapped, readable, writable and this value's own.
        unsafe {
            let start = self.start.as_ptr().add(self.size - bytes);
            start.write_bytes(0, bytes);
            start
        }
    }

    /// Copies bytes to the end, at most [`size`](Self::size), and gives back where they start.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> *mut u8 {
        let start = self.clear(bytes.len());
        // SAFETY: `clear` gave back as many bytes as there are, or all that there is, which are this value's own.
        unsafe { start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(self.size)) };
        start
    }

    /// The last so many bytes, at most [`size`](Self::size).
    pub(crate) fn tail(&self, bytes: usize) -> &[u8] {
        let bytes = bytes.min(self.size);
        // SAFETY: the last `bytes` of what is mapped, which was zero from the start, and which only a call writes.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(self.size - bytes), bytes) }
    }
}

// SAFETY: the memory is this value's own; nothing else knows where it is but a library that was given it.
unsafe impl Send for GuardedPages {}

impl Drop for GuardedPages {
    fn drop(&mut self) {
        unmap(self.start, self.size, page_size());
    }
}

#[cfg(unix)]
fn page_size() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(unix)]
fn map(size: usize, page: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: a new private mapping at an address of the system's choice touches nothing that is there.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size + page,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the last page of the mapping that was just made.
    let guarded = unsafe { libc::mprotect(start.cast::<u8>().add(size).cast(), page, libc::PROT_NONE) };
    let error = io::Error::last_os_error();
    match NonNull::new(start.cast()) {
        Some(start) if guarded == 0 => Ok(start),
        _ => {
            // SAFETY: the mapping that was just made, to which no other pointer exists.
            unsafe { libc::munmap(start, size + page) };
            Err(error)
        }
    }
}

#[cfg(unix)]
fn unmap(start: NonNull<u8>, size: usize, page: usize) {
    // SAFETY: exactly the mapping that `map` made, and its owner is gone.
    unsafe { libc::munmap(start.as_ptr().cast(), size + page) };
}

#[cfg(not(unix))]
fn page_size() -> usize {
    4096
}

#[cfg(not(unix))]
fn map(size: usize, page: usize) -> io::Result<NonNull<u8>> {
    let layout = std::alloc::Layout::from_size_align(size, page).map_err(io::Error::other)?;
    // SAFETY: the size is not zero, as `GuardedPages::new` sees to.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

#[cfg(not(unix))]
fn unmap(start: NonNull<u8>, size: usize, page: usize) {
    if let Ok(layout) = std::alloc::Layout::from_size_align(size, page) {
        // SAFETY: what `map` allocated with the same layout, and its owner is gone.
        unsafe { std::alloc::dealloc(start.as_ptr(), layout) };
    }
}
