//! Which system calls a worker may make: seccomp.

use std::io;
use std::os::fd::RawFd;

use super::filter::{Filter, FilterAction};
use super::reply_pipe::ReplyPipe;
use crate::Permissions;
use crate::denial::Operation::{self, Control, Network, Pipe, Process, Program, Write};
use crate::denial::SPAWN_DENIED;

/// What no tool needs: to change the machine, its clock, its mounts, its kernel, or to see through it.
const NEVER: [libc::c_long; 45] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_setfsgid,
    libc::SYS_setfsuid,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
];

/// What would pass the filter unseen, because its meaning is in memory or in a queue: the C library does without.
const UNSEEN: [libc::c_long; 4] =
    [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_openat2];

/// What ends, stops or looks into other processes, or leaves the group that is killed with the worker.
const CONTROL: [libc::c_long; 13] = [
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_ptrace,
    libc::SYS_setgid,
    libc::SYS_setpgid,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setsid,
    libc::SYS_setuid,
    libc::SYS_setgroups,
];

/// What changes files by their path, with the argument that is the path. Landlock checks these where writing is permitted.
const CHANGES: [(libc::c_long, u8); 7] = [
    (libc::SYS_truncate, 0),
    (libc::SYS_unlinkat, 1),
    (libc::SYS_renameat2, 3),
    (libc::SYS_mkdirat, 1),
    (libc::SYS_mknodat, 1),
    (libc::SYS_linkat, 3),
    (libc::SYS_symlinkat, 2),
];

/// The same, older.
#[cfg(target_arch = "x86_64")]
const OLDER_CHANGES: [(libc::c_long, u8); 9] = [
    (libc::SYS_creat, 0),
    (libc::SYS_unlink, 0),
    (libc::SYS_rename, 1),
    (libc::SYS_renameat, 3),
    (libc::SYS_mkdir, 0),
    (libc::SYS_rmdir, 0),
    (libc::SYS_mknod, 0),
    (libc::SYS_link, 1),
    (libc::SYS_symlink, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CHANGES: [(libc::c_long, u8); 1] = [(libc::SYS_renameat, 3)];

/// `fchmodat2`, which not every list of system calls has yet.
const SYS_FCHMODAT2: libc::c_long = 452;

/// What changes rights and times, which Landlock does not check. Where files may be written, it seems to succeed and changes
/// nothing, since programs that copy or unpack files do it and need no more.
const RIGHTS_AND_TIMES: [libc::c_long; 4] = [SYS_FCHMODAT2, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_utimensat];
#[cfg(target_arch = "x86_64")]
const OLDER_RIGHTS_AND_TIMES: [libc::c_long; 4] =
    [libc::SYS_chmod, libc::SYS_futimesat, libc::SYS_utime, libc::SYS_utimes];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_RIGHTS_AND_TIMES: [libc::c_long; 0] = [];

/// What changes owners and attributes, or locks files that others use, which Landlock does not check: never without `unsafe`.
const ATTRIBUTES: [libc::c_long; 9] = [
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_setxattr,
    libc::SYS_flock,
];
#[cfg(target_arch = "x86_64")]
const OLDER_ATTRIBUTES: [libc::c_long; 2] = [libc::SYS_chown, libc::SYS_lchown];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_ATTRIBUTES: [libc::c_long; 0] = [];

/// The same by `ioctl`, for every file that can be read: flags such as "immutable", project ids, versions, labels, and what
/// freezes, trims, seals or encrypts.
const ATTRIBUTE_REQUESTS: [u32; 15] = [
    0x4008_6602, /* FS_IOC_SETFLAGS */
    0x4004_6602, /* FS_IOC32_SETFLAGS */
    0x4008_7602, /* FS_IOC_SETVERSION */
    0x4004_7602, /* FS_IOC32_SETVERSION */
    0x401c_5820, /* FS_IOC_FSSETXATTR */
    0x4100_9432, /* FS_IOC_SETFSLABEL */
    0x4080_6685, /* FS_IOC_ENABLE_VERITY */
    0x800c_6613, /* FS_IOC_SET_ENCRYPTION_POLICY */
    0xc050_6617, /* FS_IOC_ADD_ENCRYPTION_KEY */
    0xc004_5877, /* FIFREEZE */
    0xc004_5878, /* FITHAW */
    0xc018_5879, /* FITRIM */
    0xc018_9436, /* FIDEDUPERANGE */
    0x4004_9409, /* FICLONE */
    0x4020_940d, /* FICLONERANGE */
];

/// What reports what others do with files.
const WATCHES: [libc::c_long; 3] = [libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_inotify_rm_watch];
#[cfg(target_arch = "x86_64")]
const OLDER_WATCHES: [libc::c_long; 1] = [libc::SYS_inotify_init];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_WATCHES: [libc::c_long; 0] = [];

/// `memfd_secret`, which not every list of system calls has yet.
const SYS_MEMFD_SECRET: libc::c_long = 447;

/// Files in memory: what they hold while they are not mapped is counted by no limit.
const MEMORY_FILES: [libc::c_long; 2] = [libc::SYS_memfd_create, SYS_MEMFD_SECRET];

/// Memory, semaphores and messages that other processes have too, and that outlive their maker: no files to Landlock.
const COMMON: [libc::c_long; 13] = [
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// What says how processors are shared, by the number of a process or thread in the first argument.
const SHARES: [libc::c_long; 4] =
    [libc::SYS_sched_setaffinity, libc::SYS_sched_setattr, libc::SYS_sched_setparam, libc::SYS_sched_setscheduler];

/// What types into the terminal that the process was started from, as if the user did.
const TYPING: [u32; 2] = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */];

/// What names a process that is sent signals when something happens to a descriptor.
const OWNER: [u32; 3] = [libc::F_SETOWN as u32, 15 /* F_SETOWN_EX */, 10 /* F_SETSIG */];
const OWNER_OF_SOCKET: [u32; 2] = [0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */];

const EVERY_BIT: u32 = u32::MAX;

/// Installs the filter. `own` are the descriptors that the worker cannot do without.
pub(super) fn apply(permissions: &Permissions, landlocked: bool, own: &[RawFd], replies: ReplyPipe) -> io::Result<()> {
    let mut filter = Filter::new()
        .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "opentool has no filter for this processor"))?;
    let free = permissions.allows_unsafe();
    // Other programs have no handler that would turn a trap into an error: they would die of it.
    let deny = |operation: Operation, trap: u16| {
        if free { FilterAction::Fail(operation.errno()) } else { FilterAction::Trap(trap) }
    };

    if !free {
        // The first rule, since it is for every reply.
        keep_unwritten(&mut filter, replies);
    }
    for call in NEVER {
        filter.always(call, FilterAction::Fail(libc::EPERM));
    }
    for call in UNSEEN {
        filter.always(call, FilterAction::Fail(libc::ENOSYS));
    }
    filter.where_argument(libc::SYS_ioctl, 1, &TYPING.map(|request| (request, FilterAction::Fail(libc::EPERM))));
    network(&mut filter, permissions, &deny);
    if !(free && landlocked) {
        writes(&mut filter, permissions, &deny);
    }
    if !free {
        processes(&mut filter);
        others(&mut filter);
        keep_open(&mut filter, own);
        attributes(&mut filter, permissions);
    }
    filter.install()
}

/// Keeps what Landlock does not check from files that are only readable.
fn attributes(filter: &mut Filter, permissions: &Permissions) {
    let no = FilterAction::Fail(libc::EPERM);
    let rights = if permissions.writable().is_empty() { no } else { FilterAction::Fail(0) };
    for call in RIGHTS_AND_TIMES.into_iter().chain(OLDER_RIGHTS_AND_TIMES) {
        filter.always(call, rights);
    }
    let refused = ATTRIBUTES.into_iter().chain(OLDER_ATTRIBUTES).chain(WATCHES).chain(OLDER_WATCHES);
    for call in refused.chain(MEMORY_FILES) {
        filter.always(call, no);
    }
    filter.where_argument(libc::SYS_ioctl, 1, &ATTRIBUTE_REQUESTS.map(|request| (request, no)));
}

fn network(filter: &mut Filter, permissions: &Permissions, deny: &impl Fn(Operation, u16) -> FilterAction) {
    let internet = if permissions.allows_net() { FilterAction::Allow } else { deny(Network, Network.code(None)) };
    let mut families = vec![(libc::AF_INET as u32, internet), (libc::AF_INET6 as u32, internet)];
    if permissions.allows_net() {
        families.push((libc::AF_NETLINK as u32, FilterAction::Allow));
    }
    if permissions.allows_unsafe() {
        families.push((libc::AF_UNIX as u32, FilterAction::Allow));
    }
    // The C library asks local services for names and goes on without them: these fail quietly.
    filter.by_argument(libc::SYS_socket, 0, EVERY_BIT, &families, FilterAction::Fail(libc::EACCES));
}

fn writes(filter: &mut Filter, permissions: &Permissions, deny: &impl Fn(Operation, u16) -> FilterAction) {
    if !permissions.writable().is_empty() {
        return;
    }
    for (call, path) in CHANGES.into_iter().chain(OLDER_CHANGES) {
        filter.always(call, deny(Write, Write.code(Some(path))));
    }
    const READ_WRITE: u32 = libc::O_RDWR as u32;
    const CREATE: u32 = libc::O_CREAT as u32;
    let mask = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;
    let mut opening = |call, path, flags| {
        // A library that opens a file to read and write often goes on with reading only.
        let maybe = deny(Write, Write.soft_code(Some(path)));
        let cases = [(0, FilterAction::Allow), (READ_WRITE, maybe), (READ_WRITE | CREATE, maybe)];
        filter.by_argument(call, flags, mask, &cases, deny(Write, Write.code(Some(path))));
    };
    opening(libc::SYS_openat, 1, 2);
    #[cfg(target_arch = "x86_64")]
    opening(libc::SYS_open, 0, 1);
}

fn processes(filter: &mut Filter) {
    let control = FilterAction::Trap(Control.code(None));
    let fork = FilterAction::Trap(Process.code(None));
    let exec = FilterAction::Trap(Program.code(Some(0)));
    for call in CONTROL {
        filter.always(call, control);
    }
    let (thread, spawn) = (libc::CLONE_THREAD as u32, libc::CLONE_VFORK as u32);
    // The C library starts programs with every signal blocked, so that a trap would kill: an `errno` of its own reports it.
    let kinds = [(0, fork), (spawn, FilterAction::Fail(SPAWN_DENIED))];
    filter.by_argument(libc::SYS_clone, 0, thread | spawn, &kinds, FilterAction::Allow);
    // Its flags are in memory; without it the C library takes `clone`.
    filter.always(libc::SYS_clone3, FilterAction::Fail(libc::ENOSYS));
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_fork, libc::SYS_vfork] {
        filter.always(call, fork);
    }
    filter.always(libc::SYS_execve, exec);
    filter.always(libc::SYS_execveat, FilterAction::Trap(Program.code(Some(1))));

    let own = [(std::process::id(), FilterAction::Allow)];
    for call in [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo] {
        filter.by_argument(call, 0, EVERY_BIT, &own, control);
    }
    // musl raises signals by it, and a thread's number says nothing about whose it is.
    #[cfg(not(target_env = "musl"))]
    filter.always(libc::SYS_tkill, control);
    for call in [libc::SYS_process_vm_readv, libc::SYS_process_vm_writev] {
        filter.by_argument(call, 0, EVERY_BIT, &own, control);
    }
    let own_or_self = [(0, FilterAction::Allow), own[0]];
    filter.by_argument(libc::SYS_prlimit64, 0, EVERY_BIT, &own_or_self, control);
    filter.where_argument(libc::SYS_fcntl, 1, &OWNER.map(|command| (command, control)));
    filter.where_argument(libc::SYS_ioctl, 1, &OWNER_OF_SOCKET.map(|request| (request, control)));
    // A process that survives its parent would be left behind.
    filter.by_argument(
        libc::SYS_prctl,
        0,
        EVERY_BIT,
        &[(libc::PR_SET_PDEATHSIG as u32, FilterAction::Fail(libc::EPERM))],
        FilterAction::Allow,
    );
}

/// Keeps from other processes what they share with this one. Libraries ask for their own share and go on without it.
fn others(filter: &mut Filter) {
    let no = FilterAction::Fail(libc::EPERM);
    for call in COMMON {
        filter.always(call, no);
    }
    let own = [(0, FilterAction::Allow), (std::process::id(), FilterAction::Allow)];
    for call in SHARES {
        filter.by_argument(call, 0, EVERY_BIT, &own, no);
    }
    // Of a whole group or user.
    filter.where_argument(libc::SYS_setpriority, 0, &[(1, no), (2, no)]);
    filter.where_argument(libc::SYS_ioprio_set, 0, &[(2, no), (3, no)]);
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        filter.by_argument(call, 1, EVERY_BIT, &own, no);
    }
}

/// Keeps a library that writes to whatever descriptor it finds from writing into the pipe of the replies.
///
/// One that copies the descriptor first can: the parent notices that.
fn keep_unwritten(filter: &mut Filter, replies: ReplyPipe) {
    let (fd, refused) = (replies.fd as u32, FilterAction::Trap(Pipe.code(None)));
    filter.without_key(libc::SYS_write, fd, replies.key, refused);
    filter.by_argument(libc::SYS_writev, 0, EVERY_BIT, &[(fd, refused)], FilterAction::Allow);
}

/// Keeps the worker's own pipes from a library that closes or replaces whatever it finds.
fn keep_open(filter: &mut Filter, own: &[RawFd]) {
    let cases: Vec<_> = own.iter().map(|fd| (*fd as u32, FilterAction::Fail(libc::EBADF))).collect();
    filter.by_argument(libc::SYS_close, 0, EVERY_BIT, &cases, FilterAction::Allow);
    // Where it fails, the C library closes one after another until none is left, which would not end.
    filter.always(libc::SYS_close_range, FilterAction::Fail(0));
    filter.by_argument(libc::SYS_dup3, 1, EVERY_BIT, &cases, FilterAction::Allow);
    filter.by_argument(libc::SYS_fcntl, 0, EVERY_BIT, &cases, FilterAction::Allow);
    #[cfg(target_arch = "x86_64")]
    filter.by_argument(libc::SYS_dup2, 1, EVERY_BIT, &cases, FilterAction::Allow);
}
