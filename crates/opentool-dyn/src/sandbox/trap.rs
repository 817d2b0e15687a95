//! The signal by which the worker learns that a system call was denied.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::denial::{Denial, Operation};
use crate::shared_page::SharedPage;

/// Where denials are recorded.
static PAGE: AtomicPtr<SharedPage> = AtomicPtr::new(ptr::null_mut());

const NULL_PATH: &str = "/dev/null";

/// Where the worker keeps `/dev/null` open, which a library may write to though it may write to no file: beyond the descriptors
/// that it has from its parent.
pub(super) const NULL: RawFd = 67;

/// How much of a path is copied.
const PATH: usize = 1024;

/// Turns a denied system call into one that fails, and records it.
pub(super) fn catch(page: &'static SharedPage) -> io::Result<()> {
    PAGE.store(ptr::from_ref(page).cast_mut(), Ordering::Release);
    keep_null_open()?;
    // SAFETY: all zeroes are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_denial as extern "C" fn(_, _, _) as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler only does what a handler may: it reads registers, stores atomics, and makes a system call.
    let set = unsafe { libc::sigaction(libc::SIGSYS, &raw const action, ptr::null_mut()) };
    if set != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Opens `/dev/null` while that is not filtered yet.
fn keep_null_open() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open(NULL_PATH)?;
    // SAFETY: the first is open, and nothing uses the second.
    let kept = unsafe { libc::dup3(null.as_raw_fd(), NULL, libc::O_CLOEXEC) };
    if kept < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

extern "C" fn on_denial(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    const SYS_SECCOMP: libc::c_int = 1;
    // SAFETY: the kernel hands a handler with SA_SIGINFO valid pointers to both.
    let (info, context) = unsafe { (&*info, &mut *context.cast::<libc::ucontext_t>()) };
    if info.si_code != SYS_SECCOMP {
        return;
    }
    // The filter's number arrives as the error number.
    let code = info.si_errno as u32;
    let Some(operation) = Operation::from_code(code) else { return };
    let mut path = [0_u8; PATH];
    let length = Denial::path_argument(code).map_or(0, |index| copy_text(argument(context, index), &mut path));
    if operation == Operation::Write
        && path[..length] == *NULL_PATH.as_bytes()
        && let Some(flags) = open_flags(context)
    {
        return set_result(context, open_null(flags));
    }
    Denial::record_for_thread(code);
    // SAFETY: `catch` stored a `'static` reference.
    if let Some(page) = unsafe { PAGE.load(Ordering::Acquire).as_ref() } {
        page.record_denial(code, &path[..length]);
    }
    set_result(context, -i64::from(operation.errno()));
}

/// The flags of a system call that opens a file; none for another one.
fn open_flags(context: &libc::ucontext_t) -> Option<usize> {
    let number = system_call(context);
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_open {
        return Some(argument(context, 1));
    }
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_creat {
        return Some(0);
    }
    (number == libc::SYS_openat).then(|| argument(context, 2))
}

/// A descriptor of `/dev/null`, or an error number below zero.
fn open_null(flags: usize) -> i64 {
    // SAFETY: plain numbers, and the descriptor is open.
    let fd = unsafe { libc::dup(NULL) };
    if fd < 0 {
        // SAFETY: points to the error number of this thread.
        return -i64::from(unsafe { *libc::__errno_location() });
    }
    if flags & libc::O_CLOEXEC as usize != 0 {
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    i64::from(fd)
}

/// Copies a C string from wherever the library says it is, which may be nowhere.
fn copy_text(from: usize, to: &mut [u8; PATH]) -> usize {
    const PAGE_SIZE: usize = 4096;
    let first = (PAGE_SIZE - from % PAGE_SIZE).min(PATH);
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: PATH };
    // What lies on the next page may not be there, which must not spoil what lies on this one.
    let remote = [
        libc::iovec { iov_base: from as *mut libc::c_void, iov_len: first },
        libc::iovec { iov_base: from.wrapping_add(first) as *mut libc::c_void, iov_len: PATH - first },
    ];
    // SAFETY: the kernel checks the remote addresses; the local buffer is as long as it says.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, remote.as_ptr(), 2, 0) };
    let copied = usize::try_from(copied).unwrap_or(0).min(PATH);
    to[..copied].iter().position(|byte| *byte == 0).unwrap_or(copied)
}

#[cfg(target_arch = "x86_64")]
fn system_call(context: &libc::ucontext_t) -> libc::c_long {
    context.uc_mcontext.gregs[libc::REG_RAX as usize]
}

#[cfg(target_arch = "x86_64")]
fn argument(context: &libc::ucontext_t, index: usize) -> usize {
    const ORDER: [libc::c_int; 6] =
        [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10, libc::REG_R8, libc::REG_R9];
    ORDER.get(index).map_or(0, |register| context.uc_mcontext.gregs[*register as usize] as usize)
}

#[cfg(target_arch = "x86_64")]
fn set_result(context: &mut libc::ucontext_t, result: i64) {
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = result;
}

#[cfg(target_arch = "aarch64")]
fn system_call(context: &libc::ucontext_t) -> libc::c_long {
    context.uc_mcontext.regs[8] as libc::c_long
}

#[cfg(target_arch = "aarch64")]
fn argument(context: &libc::ucontext_t, index: usize) -> usize {
    context.uc_mcontext.regs.get(index).map_or(0, |register| *register as usize)
}

#[cfg(target_arch = "aarch64")]
fn set_result(context: &mut libc::ucontext_t, result: i64) {
    context.uc_mcontext.regs[0] = result as u64;
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn system_call(_context: &libc::ucontext_t) -> libc::c_long {
    -1
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn argument(_context: &libc::ucontext_t, _index: usize) -> usize {
    0
}

// No filter is installed on such a processor, so that there is nothing to answer.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set_result(_context: &mut libc::ucontext_t, _result: i64) {}
