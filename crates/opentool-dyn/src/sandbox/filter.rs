//! A small assembler for seccomp filters: one program, one action per system call.

use std::io;

use libc::sock_filter;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// The first number of calls that are younger than this filter, so that they were not reviewed: the C library does without.
/// Far beyond are the same calls once more, by another convention (x32).
const YOUNGER: u32 = 463;

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

/// Where things are in what the kernel shows the filter.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;
const LAST_ARGUMENT: u32 = 5;

/// What becomes of a system call.
#[derive(Debug, Clone, Copy)]
pub(super) enum FilterAction {
    Allow,
    /// It is not made, and fails with this error; with none (0) it seems to have been made.
    Fail(i32),
    /// It fails, and the worker learns of it by a signal, with this number.
    Trap(u16),
    /// The process ends.
    Kill,
}

impl FilterAction {
    fn code(self) -> u32 {
        match self {
            FilterAction::Allow => libc::SECCOMP_RET_ALLOW,
            FilterAction::Fail(errno) => libc::SECCOMP_RET_ERRNO | (errno as u32 & libc::SECCOMP_RET_DATA),
            FilterAction::Trap(data) => libc::SECCOMP_RET_TRAP | u32::from(data),
            FilterAction::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// A filter that is being written.
#[derive(Debug)]
pub(super) struct Filter {
    program: Vec<sock_filter>,
}

impl Filter {
    /// Starts a filter; none where the processor is not known to us.
    pub(super) fn new() -> Option<Filter> {
        let architecture = ARCHITECTURE?;
        let mut filter = Filter { program: Vec::with_capacity(256) };
        filter.push(LOAD, 0, 0, ARCH);
        filter.push(JUMP_IF_EQUAL, 1, 0, architecture);
        filter.action(FilterAction::Kill);
        filter.push(LOAD, 0, 0, NUMBER);
        filter.push(JUMP_IF_AT_LEAST, 0, 1, YOUNGER);
        filter.action(FilterAction::Fail(libc::ENOSYS));
        Some(filter)
    }

    /// Takes one action on a system call, whatever its arguments.
    pub(super) fn always(&mut self, call: libc::c_long, action: FilterAction) {
        self.push(JUMP_IF_EQUAL, 0, 1, call as u32);
        self.action(action);
    }

    /// Takes an action by the lower half of an argument, of which only the bits of `mask` count.
    pub(super) fn by_argument(
        &mut self,
        call: libc::c_long,
        argument: u32,
        mask: u32,
        cases: &[(u32, FilterAction)],
        otherwise: FilterAction,
    ) {
        // Two instructions a case; no call of ours has so many that the jump would not reach.
        let length = 3 + 2 * cases.len() as u8;
        self.push(JUMP_IF_EQUAL, 0, length, call as u32);
        self.load_argument(argument);
        self.push(AND, 0, 0, mask);
        for (value, action) in cases {
            self.push(JUMP_IF_EQUAL, 0, 1, *value);
            self.action(*action);
        }
        self.action(otherwise);
    }

    /// Takes an action where the lower half of an argument is one of some, and leaves others to later rules.
    pub(super) fn where_argument(&mut self, call: libc::c_long, argument: u32, cases: &[(u32, FilterAction)]) {
        let length = 2 + 2 * cases.len() as u8;
        self.push(JUMP_IF_EQUAL, 0, length, call as u32);
        self.load_argument(argument);
        for (value, action) in cases {
            self.push(JUMP_IF_EQUAL, 0, 1, *value);
            self.action(*action);
        }
        self.push(LOAD, 0, 0, NUMBER);
    }

    /// Takes an action where the first argument is a descriptor and the lower half of the last one is not a key. The call itself does
    /// not look at that one. Others are allowed.
    pub(super) fn without_key(&mut self, call: libc::c_long, fd: u32, key: u32, action: FilterAction) {
        self.push(JUMP_IF_EQUAL, 0, 6, call as u32);
        self.load_argument(0);
        self.push(JUMP_IF_EQUAL, 0, 2, fd);
        self.load_argument(LAST_ARGUMENT);
        self.push(JUMP_IF_EQUAL, 0, 1, key);
        self.action(FilterAction::Allow);
        self.action(action);
    }

    /// Installs the filter; it cannot be removed. A call without a rule is allowed.
    pub(super) fn install(mut self) -> io::Result<()> {
        self.action(FilterAction::Allow);
        let program = libc::sock_fprog { len: self.program.len() as u16, filter: self.program.as_mut_ptr() };
        // SAFETY: plain numbers.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel copies the program, which lives until the call returns.
        let set = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
        if set != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Loads the lower half of an argument.
    fn load_argument(&mut self, argument: u32) {
        let upper_half = if cfg!(target_endian = "big") { 4 } else { 0 };
        self.push(LOAD, 0, 0, ARGUMENTS + 8 * argument + upper_half);
    }

    fn action(&mut self, action: FilterAction) {
        self.push(RETURN, 0, 0, action.code());
    }

    fn push(&mut self, code: u16, jt: u8, jf: u8, k: u32) {
        self.program.push(sock_filter { code, jt, jf, k });
    }
}
