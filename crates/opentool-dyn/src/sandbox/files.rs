//! Which files a worker can reach: Landlock.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::linked::linked_files;
use crate::Permissions;

/// The newest rights that we know; an older kernel enforces those that it has.
const NEWEST: ABI = ABI::V6;

/// What a library may read without asking: other libraries, what the C library looks up, and of the own process what says nothing
/// about the machine's network and mounts.
const SYSTEM: [&str; 36] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/locale.alias",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
    "/proc/self/auxv",
    "/proc/self/cgroup",
    "/proc/self/cmdline",
    "/proc/self/comm",
    "/proc/self/fd",
    "/proc/self/limits",
    "/proc/self/maps",
    "/proc/self/smaps",
    "/proc/self/stat",
    "/proc/self/statm",
    "/proc/self/status",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
];

/// What names of hosts are looked up in, and whom to trust.
const NETWORK: [&str; 10] = [
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/pki",
    "/run/systemd/resolve",
];

/// Where programs are, for a library that may start some.
const PROGRAMS: [&str; 5] = ["/bin", "/sbin", "/usr", "/lib", "/lib64"];

/// How much of the rules the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LandlockCoverage {
    /// All of it.
    Full,
    /// What an older kernel knows.
    Partial,
}

/// Puts all files out of reach but those that are permitted. The inner error says that the system cannot.
pub(super) fn apply(permissions: &Permissions, library: &Path) -> Result<Result<LandlockCoverage, String>, String> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = match rules(all) {
        Ok(ruleset) => ruleset,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let no = |error: RulesetError| error.to_string();
    for path in SYSTEM {
        ruleset = allow(ruleset, Path::new(path), read).map_err(no)?;
    }
    ruleset = allow(ruleset, Path::new("/dev/null"), AccessFs::ReadFile | AccessFs::WriteFile).map_err(no)?;
    if permissions.allows_net() {
        for path in NETWORK {
            ruleset = allow(ruleset, Path::new(path), read).map_err(no)?;
        }
    }
    if permissions.allows_unsafe() {
        for path in PROGRAMS {
            ruleset = allow(ruleset, Path::new(path), read | AccessFs::Execute).map_err(no)?;
        }
    }
    // What else is in their folders is none of the library's business.
    for file in linked_files(library) {
        ruleset = allow(ruleset, &file, read).map_err(no)?;
    }
    for (paths, option, access) in [(permissions.readable(), "read", read), (permissions.writable(), "write", all)] {
        for path in paths {
            if let Err(error) = std::fs::metadata(path) {
                return Err(format!("`--allow {option}={}`: {}", path.display(), plain(&error)));
            }
            ruleset = allow(ruleset, path, access).map_err(no)?;
        }
    }
    Ok(match ruleset.restrict_self() {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err("the kernel has no Landlock, or it is switched off".to_owned())
        }
        Ok(status) if status.ruleset == RulesetStatus::PartiallyEnforced => Ok(LandlockCoverage::Partial),
        Ok(_) => Ok(LandlockCoverage::Full),
        Err(error) => Err(error.to_string()),
    })
}

fn rules(all: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        // Signals to processes outside, and sockets without a file.
        .scope(Scope::from_all(NEWEST))?
        .create()
}

/// Permits a path, if there is one: what does not exist needs no permission.
fn allow(ruleset: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    let Ok(opened) = PathFd::new(path) else { return Ok(ruleset) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    ruleset.add_rule(PathBeneath::new(opened, access))
}

fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        _ => error.to_string(),
    }
}
