//! Two clocks: the time since boot, by which leases end, and the time of day, which is only shown.

use std::time::{SystemTime, UNIX_EPOCH};

/// The clock of one boot of the machine. Its times mean nothing after the next boot.
#[derive(Clone, Debug)]
pub(crate) struct BootClock {
    boot: String,
}

impl BootClock {
    pub(crate) fn new() -> Self {
        Self { boot: boot_id() }
    }

    /// Returns what names this boot.
    pub(crate) fn boot(&self) -> &str {
        &self.boot
    }

    /// Returns the milliseconds since boot, those during which the machine slept included.
    pub(crate) fn now(&self) -> i64 {
        since_boot()
    }
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn since_boot() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
}

/// Other systems have no such clock without unsafe code: the time of day stands for it.
#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    "time of day".to_owned()
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> i64 {
    unix_ms()
}

/// The milliseconds since 1970.
pub(crate) fn unix_ms() -> i64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_on_and_its_boot_has_a_name() {
        let clock = BootClock::new();
        let before = clock.now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(clock.now() >= before + 20);
        assert!(!clock.boot().is_empty());
    }
}
