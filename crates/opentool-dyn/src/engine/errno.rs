//! `errno`, which a library leaves behind for the thread that called it.

use std::cell::Cell;

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
}

/// What `errno` was when the last call on this thread returned.
pub(crate) fn last_errno() -> i32 {
    LAST.get()
}

/// Reads `errno` right after a call, and keeps it.
#[inline]
pub(super) fn keep() -> i32 {
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    LAST.set(errno);
    errno
}

/// Sets `errno` to zero.
#[inline]
pub(super) fn reset() {
    #[cfg(any(target_os = "linux", target_os = "emscripten"))]
    // SAFETY: the address of this thread's own `errno`, which lives as long as the thread.
    unsafe {
        *libc::__errno_location() = 0;
    }
    #[cfg(any(target_os = "macos", target_os = "ios", target_os = "freebsd"))]
    // SAFETY: as above.
    unsafe {
        *libc::__error() = 0;
    }
}
