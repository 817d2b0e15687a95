//! The pipe of a worker's replies: [`ReplyPipe`].

use std::os::fd::RawFd;

/// The pipe of a worker's replies, and the key that each write to it carries where system calls are filtered.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux filters system calls"))]
pub(crate) struct ReplyPipe {
    pub(crate) fd: RawFd,
    pub(crate) key: u32,
}
