//! What the system says about this process.

/// How many bytes of memory the process has, where the system says so.
#[cfg(target_os = "linux")]
pub(crate) fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn resident_bytes() -> Option<usize> {
    None
}
