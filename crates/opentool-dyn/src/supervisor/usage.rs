//! What a worker uses of the machine, sampled now and then: [`Usage`], [`Sampler`].

use std::time::{Duration, Instant};

use super::exit::ExitCause;

/// How often a worker is sampled that is used, and one that nothing happens in.
const OFTEN: Duration = Duration::from_millis(250);
const SELDOM: Duration = Duration::from_secs(2);

/// How much processor time a library's threads may use while no call runs.
const IDLE_CPU: Duration = Duration::from_secs(1);

/// What a process has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Processor time of all threads, since it was started.
    pub(super) cpu: Duration,
    pub(super) threads: u32,
}

/// What a worker is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Activity {
    /// How many calls were ever sent to it.
    pub(super) calls: u64,
    /// The call that has run longest, if one runs.
    pub(super) running: Option<u64>,
}

/// How much a worker may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct UsageLimits {
    pub(super) threads: u32,
    /// For one call.
    pub(super) cpu: Option<Duration>,
}

/// Compares what a worker uses with what it may, sample by sample.
#[derive(Debug)]
pub(super) struct Sampler {
    limits: UsageLimits,
    next: Instant,
    interval: Duration,
    /// The last sample.
    last: Option<(Activity, Usage)>,
    /// The call that runs, and the processor time when it was first seen.
    call: Option<(u64, Duration)>,
    /// The number of calls so far, and the processor time when none was seen running.
    idle: Option<(u64, Duration)>,
}

impl Sampler {
    pub(super) fn new(limits: UsageLimits, now: Instant) -> Sampler {
        Sampler { limits, next: now + OFTEN, interval: OFTEN, last: None, call: None, idle: None }
    }

    /// When the next sample is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Postpones the next sample.
    pub(super) fn skip(&mut self, now: Instant) {
        self.next = now + SELDOM;
    }

    /// Takes a sample; says why the worker has to end, where it has to.
    pub(super) fn record(&mut self, activity: Activity, usage: Usage, now: Instant) -> Option<ExitCause> {
        let is_quiet = self.last == Some((activity, usage));
        self.interval = if is_quiet { (2 * self.interval).min(SELDOM) } else { OFTEN };
        self.next = now + self.interval;
        self.last = Some((activity, usage));
        if usage.threads > self.limits.threads {
            return Some(ExitCause::TooManyThreads { most: self.limits.threads });
        }
        match activity.running {
            Some(call) => {
                self.idle = None;
                let begun = self.call.filter(|(seen, _)| *seen == call).map_or(usage.cpu, |(_, cpu)| cpu);
                self.call = Some((call, begun));
                let most = self.limits.cpu?;
                (usage.cpu.saturating_sub(begun) > most).then_some(ExitCause::TooMuchCpu { call, most })
            }
            None => {
                self.call = None;
                let begun = self.idle.filter(|(calls, _)| *calls == activity.calls).map_or(usage.cpu, |(_, cpu)| cpu);
                self.idle = Some((activity.calls, begun));
                (usage.cpu.saturating_sub(begun) > IDLE_CPU).then_some(ExitCause::BurningThreads)
            }
        }
    }
}

/// What a process has used; with `group`, all processes of the group that it leads.
#[cfg(target_os = "linux")]
pub(super) fn usage_of(pid: libc::pid_t, group: bool) -> Option<Usage> {
    if !group {
        return parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).map(|(usage, _)| usage);
    }
    let processes = std::fs::read_dir("/proc").ok()?.filter_map(|entry| Some(entry.ok()?.path().join("stat")));
    let stats = processes.filter_map(|path| parse(&std::fs::read_to_string(path).ok()?));
    let mut all = Usage::default();
    for (usage, _) in stats.filter(|(_, leader)| *leader == pid) {
        all.cpu += usage.cpu;
        all.threads = all.threads.saturating_add(usage.threads);
    }
    Some(all)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn usage_of(_pid: libc::pid_t, _group: bool) -> Option<Usage> {
    None
}

/// Reads the line that the kernel has about a process: what it has used, and the leader of its group.
#[cfg(target_os = "linux")]
fn parse(stat: &str) -> Option<(Usage, libc::pid_t)> {
    // SAFETY: asks for a number.
    let ticks = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|ticks| *ticks > 0)?;
    // The name is in brackets and may hold anything; what follows are the third value and later ones.
    let values: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |position: usize| values.get(position - 3)?.parse::<u64>().ok();
    let cpu = Duration::from_millis((number(14)? + number(15)?) * 1000 / ticks);
    let leader = values.get(2)?.parse().ok()?;
    Some((Usage { cpu, threads: u32::try_from(number(20)?).ok()? }, leader))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn sampler(cpu: Option<Duration>) -> Sampler {
        Sampler::new(UsageLimits { threads: 4, cpu }, Instant::now())
    }

    fn used(cpu: Duration) -> Usage {
        Usage { cpu, threads: 2 }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_seen_as_it_is() {
        let stat = "7 (a) b) S 1 5 7 0 -1 0 0 0 0 0 250 50 0 0 20 0 3 0 100 0 0";
        assert_eq!(parse(stat).unwrap(), (Usage { cpu: 3 * SECOND, threads: 3 }, 5));
        let own = usage_of(std::process::id().cast_signed(), false).unwrap();
        assert!(own.threads >= 1);
    }

    #[test]
    fn idle_threads_stay_and_burning_ones_do_not() {
        let (mut sampler, now) = (sampler(None), Instant::now());
        let idle = |calls| Activity { calls, running: None };
        assert_eq!(sampler.record(idle(1), used(5 * SECOND), now), None);
        assert_eq!(sampler.record(idle(1), used(6 * SECOND), now), None);
        assert_eq!(sampler.record(idle(2), used(7 * SECOND), now), None, "a call was made meanwhile");
        let busy = Activity { calls: 3, running: Some(9) };
        assert_eq!(sampler.record(busy, used(60 * SECOND), now), None, "a call runs");
        assert_eq!(sampler.record(idle(3), used(61 * SECOND), now), None);
        assert_eq!(sampler.record(idle(3), used(62 * SECOND + SECOND / 100), now), Some(ExitCause::BurningThreads));
    }

    #[test]
    fn a_call_may_use_so_much_processor_time_and_no_more() {
        let (mut sampler, now) = (sampler(Some(2 * SECOND)), Instant::now());
        let busy = |call| Activity { calls: call, running: Some(call) };
        assert_eq!(sampler.record(busy(1), used(10 * SECOND), now), None);
        assert_eq!(sampler.record(busy(1), used(12 * SECOND), now), None);
        assert_eq!(sampler.record(busy(2), used(13 * SECOND), now), None, "another call");
        let too_much = ExitCause::TooMuchCpu { call: 2, most: 2 * SECOND };
        assert_eq!(sampler.record(busy(2), used(16 * SECOND), now), Some(too_much));
        let many = Usage { cpu: SECOND, threads: 5 };
        assert_eq!(sampler.record(busy(3), many, now), Some(ExitCause::TooManyThreads { most: 4 }));
    }

    #[test]
    fn a_worker_in_which_nothing_happens_is_sampled_seldom() {
        let (mut sampler, now) = (sampler(None), Instant::now());
        let idle = Activity { calls: 1, running: None };
        for _ in 0..8 {
            sampler.record(idle, used(SECOND), now);
        }
        assert_eq!(sampler.next(), now + SELDOM);
        sampler.record(Activity { calls: 2, running: None }, used(SECOND), now);
        assert_eq!(sampler.next(), now + OFTEN);
    }
}
