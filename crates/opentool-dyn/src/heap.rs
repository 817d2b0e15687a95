//! The heap of this process: [`return_large_blocks`].

/// Makes the allocator give every large block back to the system as soon as it is freed.
///
/// By itself the allocator of glibc stops doing so once a large block was freed, and keeps up to tens of megabytes for each
/// thread that ever had one. A server that now and then gets a body of many megabytes would keep far more than it uses (`scripts/bench attack`).
/// Where there is another allocator this does nothing.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// Larger than what a call usually needs, so that only the rare ones cost a system call.
        const LARGE: libc::c_int = 512 * 1024;
        // SAFETY: it takes two integers and is safe to call at any time; glibc locks its arenas meanwhile.
        let set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
        if set == 0 {
            tracing::debug!("the allocator does not take a threshold");
        }
    }
}
