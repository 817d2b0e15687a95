//! What the operator lets a library do: [`Permissions`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How many threads a worker may have, where the operator does not say: more than any pool has that fits a machine.
const THREADS: u32 = 1024;

/// What the operator lets a library do in its worker process.
///
/// By default it may compute, print, start threads, and read its own file, the libraries that it links, and the folders of the
/// system's libraries. Only the one who opens a library gives more; a document cannot.
///
/// ```
/// use opentool_dyn::Permissions;
///
/// let permissions = Permissions::new().net(true).read("/srv/models").memory("512M".parse()?);
/// assert_eq!(permissions, Permissions::new().allow("net")?.allow("read=/srv/models")?.memory("512M".parse()?));
/// # Ok::<(), opentool_dyn::PermissionError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Permissions {
    net: bool,
    unconfined_calls: bool,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    env: Vec<String>,
    memory: MemorySize,
    threads: Option<u32>,
    cpu: Option<Duration>,
    unconfined_files: bool,
}

impl Permissions {
    /// Permits nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Permits what a command line says: `net`, `read=PATH`, `write=PATH`, `unconfined-files` or `unsafe`.
    ///
    /// # Errors
    ///
    /// Where it says something else.
    pub fn allow(self, grant: &str) -> Result<Self, PermissionError> {
        match grant.split_once('=') {
            None if grant == "net" => Ok(self.net(true)),
            None if grant == "unconfined-files" => Ok(self.unconfined_files(true)),
            None if grant == "unsafe" => Ok(self.unsafe_calls(true)),
            Some(("read", path)) if !path.is_empty() => Ok(self.read(path)),
            Some(("write", path)) if !path.is_empty() => Ok(self.write(path)),
            _ => Err(PermissionError::Grant(grant.to_owned())),
        }
    }

    /// Sets whether the network is permitted: it is not.
    #[must_use]
    pub fn net(mut self, permitted: bool) -> Self {
        self.net = permitted;
        self
    }

    /// Permits reading a file, or everything below a folder.
    #[must_use]
    pub fn read(mut self, path: impl AsRef<Path>) -> Self {
        self.read.push(absolute(path.as_ref()));
        self
    }

    /// Permits writing, making and removing everything below a folder, or writing a file that exists; and reading it.
    ///
    /// Changing the rights or the times of files seems to succeed and changes nothing: the system cannot keep that to a path.
    #[must_use]
    pub fn write(mut self, path: impl AsRef<Path>) -> Self {
        self.write.push(absolute(path.as_ref()));
        self
    }

    /// Passes a variable of this process's environment to the library; `NAME=VALUE` gives it a value of its own.
    ///
    /// A library has no other variables but `LC_ALL=C`, which one of that name replaces.
    #[must_use]
    pub fn env(mut self, variable: impl Into<String>) -> Self {
        self.env.push(variable.into());
        self
    }

    /// Sets how much address space a worker may have; 2 GiB by default.
    #[must_use]
    pub fn memory(mut self, size: MemorySize) -> Self {
        self.memory = size;
        self
    }

    /// Sets how many threads a worker may have; 1024 by default. One that has more is ended when the next sample shows it.
    #[must_use]
    pub fn threads(mut self, most: u32) -> Self {
        self.threads = Some(most);
        self
    }

    /// Sets how much processor time a call may use, all threads of the worker together; without limit by default. One that uses
    /// more is ended, with its worker, when the next sample shows it.
    #[must_use]
    pub fn cpu(mut self, time: Duration) -> Self {
        self.cpu = Some(time);
        self
    }

    /// Lets a library that may write, or that runs as root, run also where the system cannot keep it to the files that are
    /// permitted: on Linux without Landlock, and on other systems. Without this, such a library is not opened there.
    #[must_use]
    pub fn unconfined_files(mut self, permitted: bool) -> Self {
        self.unconfined_files = permitted;
        self
    }

    /// Sets whether the process-control functions of the C library may be called, and other programs be started: they may not.
    #[must_use]
    pub fn unsafe_calls(mut self, permitted: bool) -> Self {
        self.unconfined_calls = permitted;
        self
    }

    pub(crate) fn allows_net(&self) -> bool {
        self.net
    }

    pub(crate) fn allows_unconfined_files(&self) -> bool {
        self.unconfined_files
    }

    pub(crate) fn max_threads(&self) -> u32 {
        self.threads.unwrap_or(THREADS)
    }

    pub(crate) fn max_cpu(&self) -> Option<Duration> {
        self.cpu
    }

    pub(crate) fn allows_unsafe(&self) -> bool {
        self.unconfined_calls
    }

    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.read
    }

    pub(crate) fn writable(&self) -> &[PathBuf] {
        &self.write
    }

    pub(crate) fn variables(&self) -> &[String] {
        &self.env
    }

    pub(crate) fn memory_size(&self) -> MemorySize {
        self.memory
    }

    /// Why a function of the C library may not be a tool, where it may not.
    pub(crate) fn denial_reason(&self, symbol: &str, library: &Path) -> Option<String> {
        if self.unconfined_calls || !is_c_library(library) || !controls_processes(symbol) {
            return None;
        }
        Some(controls(symbol))
    }

    /// The same for a function that is looked for in what the library needs too, where the C library is.
    pub(crate) fn denial_reason_anywhere(&self, symbol: &str) -> Option<String> {
        (!self.unconfined_calls && controls_processes(symbol)).then(|| controls(symbol))
    }
}

fn controls(symbol: &str) -> String {
    format!("`{symbol}` controls processes: the operator permits it with `--allow unsafe`")
}

/// How much address space a worker may have, written `512M`, `2G` or `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySize(Option<u64>);

impl MemorySize {
    /// The least with which a worker can start.
    const LEAST: u64 = 64 << 20;

    /// No limit of our own.
    pub const UNLIMITED: MemorySize = MemorySize(None);

    /// The number of bytes; none where there is no limit.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        self.0
    }
}

impl Default for MemorySize {
    fn default() -> Self {
        MemorySize(Some(2 << 30))
    }
}

impl FromStr for MemorySize {
    type Err = PermissionError;

    fn from_str(text: &str) -> Result<Self, PermissionError> {
        let wrong = || PermissionError::Size(text.to_owned());
        if text == "unlimited" {
            return Ok(MemorySize::UNLIMITED);
        }
        let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(wrong()),
        };
        let number: u64 = digits.parse().map_err(|_| wrong())?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
        if bytes < Self::LEAST { Err(PermissionError::TooSmall(text.to_owned())) } else { Ok(MemorySize(Some(bytes))) }
    }
}

impl fmt::Display for MemorySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("unlimited"),
            Some(bytes) => {
                let (shift, unit) = [(40, "T"), (30, "G"), (20, "M"), (10, "K")]
                    .into_iter()
                    .find(|(shift, _)| bytes.trailing_zeros() >= *shift && bytes >> shift > 0)
                    .unwrap_or((0, ""));
                write!(f, "{}{unit}", bytes >> shift)
            }
        }
    }
}

/// Why a text is no permission.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionError {
    /// It is none of the things that can be permitted.
    #[error("`{0}` cannot be permitted: it is one of net, read=PATH, write=PATH, unconfined-files or unsafe")]
    Grant(String),
    /// It is no size.
    #[error("`{0}` is no size: write a number with K, M, G or T, such as 512M, or `unlimited`")]
    Size(String),
    /// It is less than a worker needs for itself.
    #[error("`{0}` is too little memory for a worker: give at least 64M")]
    TooSmall(String),
}

/// A path that means the same wherever it is looked at from.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a file is the C library, or a part of it.
fn is_c_library(library: &Path) -> bool {
    let real = std::fs::canonicalize(library);
    let names = [Some(library), real.as_deref().ok()];
    names.into_iter().flatten().filter_map(|path| path.file_name()?.to_str()).any(|name| {
        let stem = name.split(['.', '-']).next().unwrap_or(name).to_ascii_lowercase();
        matches!(
            stem.as_str(),
            "libc" | "libpthread" | "libdl" | "libsystem" | "ld" | "msvcrt" | "ucrtbase" | "kernel32"
        )
    })
}

/// Whether a function of the C library starts, ends or takes over processes, or loads code.
fn controls_processes(symbol: &str) -> bool {
    const NAMES: [&str; 40] = [
        "abort",
        "clone",
        "daemon",
        "dlmopen",
        "dlopen",
        "fork",
        "kill",
        "killpg",
        "longjmp",
        "mprotect",
        "pidfd_open",
        "pidfd_send_signal",
        "popen",
        "prctl",
        "prlimit",
        "process_vm_readv",
        "process_vm_writev",
        "ptrace",
        "quick_exit",
        "raise",
        "reboot",
        "setgid",
        "setns",
        "setpgid",
        "setresgid",
        "setresuid",
        "setrlimit",
        "setsid",
        "setuid",
        "sigqueue",
        "syscall",
        "system",
        "tgkill",
        "unshare",
        "vfork",
        "exit",
        "_exit",
        "_Exit",
        "seccomp",
        "wordexp",
    ];
    let plain = symbol.trim_start_matches("__libc_").trim_start_matches("__");
    NAMES.contains(&symbol) || NAMES.contains(&plain) || plain.starts_with("exec") || plain.starts_with("posix_spawn")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [("512M", 512 << 20), ("2g", 2 << 30), ("67108864", 64 << 20), ("1TiB", 1 << 40)] {
            assert_eq!(text.parse::<MemorySize>().unwrap().bytes(), Some(bytes), "{text}");
        }
        assert_eq!("unlimited".parse::<MemorySize>().unwrap(), MemorySize::UNLIMITED);
        assert_eq!(MemorySize::default().to_string(), "2G");
        for text in ["", "M", "12 M", "-1", "1.5G", "2X", "99999999999999T"] {
            assert!(matches!(text.parse::<MemorySize>(), Err(PermissionError::Size(_))), "{text}");
        }
        assert_eq!("63M".parse::<MemorySize>(), Err(PermissionError::TooSmall("63M".to_owned())));
    }

    #[test]
    fn what_cannot_be_permitted_is_refused_with_what_can() {
        for text in ["", "network", "read", "read=", "env=HOME", "UNSAFE"] {
            assert_eq!(Permissions::new().allow(text), Err(PermissionError::Grant(text.to_owned())));
        }
    }

    #[test]
    fn process_control_is_refused_in_the_c_library_only() {
        let none = Permissions::new();
        for symbol in ["system", "fork", "execve", "posix_spawnp", "kill", "ptrace", "dlopen", "__libc_system"] {
            assert!(none.denial_reason(symbol, Path::new("/lib/libc.so.6")).is_some(), "{symbol}");
        }
        assert_eq!(none.denial_reason("kill", Path::new("/opt/libgame.so")), None);
        assert_eq!(none.denial_reason("strlen", Path::new("libc.so.6")), None);
        assert_eq!(Permissions::new().unsafe_calls(true).denial_reason("system", Path::new("libc.so.6")), None);
    }
}
