//! Everything that hostile clients do, at once, to the real binary.

#[path = "../../../../benches/http/src/attack.rs"]
mod hostile;

use std::{
    env, fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::{serving::Served, *};

/// The address for the attacking process.
const TARGET: &str = "OPENTOOL_TEST_TARGET";

const DURATION: Duration = Duration::from_secs(8);

/// A process of its own, so that it spends its own descriptors and memory.
#[test]
#[ignore = "this is the attacking process, which the other tests start"]
fn attacker() {
    let server = env::var(TARGET).unwrap().parse().unwrap();
    for (name, times) in hostile::attack(server, Instant::now() + DURATION) {
        println!("{name}: {times}");
    }
}

/// Attacks a server while a good client calls it; returns its peak memory in KiB.
fn withstand(mut served: Served) -> u64 {
    let attacker = Command::new(env::current_exe().unwrap())
        .args(["--exact", "attack::attacker", "--ignored", "--nocapture"])
        .env(TARGET, served.address.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let calls = hostile::good_client(served.address, Instant::now() + DURATION).unwrap();
    let attacked = attacker.wait_with_output().unwrap();
    let tally = String::from_utf8(attacked.stdout).unwrap();
    let kinds = tally.lines().filter_map(|line| line.split_once(": ")?.1.parse::<usize>().ok());
    assert_eq!(kinds.filter(|times| *times > 0).count(), 7, "some attack was not carried out: {tally}");
    assert!(!calls.is_empty());
    let peak = peak_memory(&served);
    println!("{tally}{} good calls; {peak} KiB", calls.len());

    assert!(!served.logged().contains("panicked"), "{}", served.logged());
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
    peak
}

fn peak_memory(served: &Served) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn all_attacks_at_once_cost_little_memory_and_no_answer_to_a_good_client() {
    let folder = TestFolder::new();
    let peak = withstand(Served::start(&folder, &[], &[]));
    assert!(peak <= 128 * 1024, "{peak} KiB");
}

#[test]
fn the_same_holds_where_the_system_gives_the_server_few_descriptors() {
    let folder = TestFolder::new();
    let peak = withstand(Served::start_limited(&folder, 300));
    assert!(peak <= 128 * 1024, "{peak} KiB");
}
