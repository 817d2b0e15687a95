//! How much a worker may use of the machine.

use std::io;

use crate::Permissions;

/// How many descriptors a worker may have; its own are beyond 64.
const DESCRIPTORS: u64 = 256;

/// How large a file may become where files may be written, and a file in memory where they may not.
const WRITABLE_FILE: u64 = 4 << 30;
const MEMORY_FILE: u64 = 256 << 20;

/// Sets the limits, so that they cannot be raised again.
pub(super) fn apply(permissions: &Permissions) -> io::Result<()> {
    let file = if permissions.writable().is_empty() { MEMORY_FILE } else { WRITABLE_FILE };
    set(libc::RLIMIT_CORE, 0)?;
    set(libc::RLIMIT_NOFILE, DESCRIPTORS)?;
    set(libc::RLIMIT_FSIZE, file)?;
    match permissions.memory_size().bytes() {
        Some(bytes) => set(libc::RLIMIT_AS, bytes),
        None => Ok(()),
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
type Resource = libc::c_int;

fn set(resource: Resource, at_most: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a place for one limit.
    if unsafe { libc::getrlimit(resource, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The parent may have set a lower one, which only root could raise.
    limit.rlim_max = limit.rlim_max.min(at_most);
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    if unsafe { libc::setrlimit(resource, &raw const limit) } != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Drops all that root may do beyond what any user may: a worker that root started can read only what its owner, its group or
/// everyone may.
#[cfg(target_os = "linux")]
pub(super) fn drop_capabilities() {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let data = [Data { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: the header and both halves are as version 3 of the call wants them. Dropping capabilities always succeeds; where there were none, nothing changes.
    unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
}
