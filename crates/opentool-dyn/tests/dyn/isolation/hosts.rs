//! Whole host processes: what they leave behind when they end, and when they are killed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use opentool_dyn::Permissions;
use serde_json::json;

use super::attackers::attacker;
use super::cases::{Stage, cases, play};
use super::{call, failure, hostile, works};

/// The role that this process plays, where a test of this file started it.
const ROLE: &str = "OPENTOOL_TEST_HOST";

/// How many orders the cases are played in.
const ORDERS: u64 = 20;

/// How many hosts play at the same time.
const TOGETHER: usize = 5;

/// What the started processes do; in an ordinary run of the tests nothing.
#[tokio::test(flavor = "multi_thread")]
async fn plays_the_host_that_another_test_started() {
    let Ok(role) = std::env::var(ROLE) else { return };
    match role.split_once(':') {
        Some(("shuffled", seed)) => play_shuffled(seed.parse().unwrap()).await,
        _ if role == "forged" => take_forged_reply().await,
        _ if role == "unconfined" => open_without_landlock().await,
        _ => hang().await,
    }
}

async fn play_shuffled(seed: u64) {
    let stage = Stage::set();
    let mut cases = cases(stage.is_confined());
    shuffle(&mut cases, seed);
    for case in &cases {
        println!("seed {seed}: {}({})", case.function, case.arguments);
        play(&stage, case).await;
    }
    let unconfined = hostile(Permissions::new().unsafe_calls(true));
    call(&unconfined, "leave_daemon", json!({})).await.unwrap();
}

/// The most memory that this process has had, in KiB.
fn most_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

async fn take_forged_reply() {
    let library = attacker(Permissions::new());
    call(&library, "tell", json!({})).await.unwrap();
    let before = most_resident();
    let message = failure(&library, "forge_huge", json!({})).await;
    assert_eq!(message, "`forge_huge` failed: the library wrote into the pipe of its worker");
    let more = most_resident().saturating_sub(before);
    assert!(more < 64 << 10, "{more} KiB more");
    works(&library).await;
    println!("refused");
}

/// What a library may be opened with where the system has no Landlock.
async fn open_without_landlock() {
    let folder = tempfile::tempdir().unwrap();
    let open = |permissions: Permissions| {
        super::building(&super::hostile_document(), &crate::harness::library("hostile")).permissions(permissions).open()
    };
    let refused = |permissions: Permissions| open(permissions).unwrap_err().to_string();
    let writing = refused(Permissions::new().write(folder.path()));
    assert!(writing.contains("`--allow write=PATH` would let it write all that you may"), "{writing}");
    assert!(writing.contains("Linux does it with Landlock"), "{writing}");
    assert!(writing.contains("`--allow unconfined-files` runs it all the same"), "{writing}");
    if is_root() {
        let as_root = refused(Permissions::new());
        assert!(as_root.contains("as root it could read and change every file"), "{as_root}");
        assert!(as_root.contains("run as another user, or `--allow unconfined-files`"), "{as_root}");
    } else {
        let library = open(Permissions::new()).unwrap();
        works(&library).await;
    }
    for permissions in [Permissions::new(), Permissions::new().write(folder.path())] {
        let library = open(permissions.unconfined_files(true)).unwrap();
        works(&library).await;
        let confinement = library.confinement().unwrap();
        assert!(!confinement.files && !confinement.is_complete(), "{confinement}");
        assert!(confinement.missing.iter().any(|missing| missing.starts_with("files: ")), "{confinement}");
    }
    println!("refused");
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    uids.split_whitespace().nth(1) == Some("0")
}

async fn hang() {
    let libraries = [hostile(Permissions::new()), hostile(Permissions::new().unsafe_calls(true))];
    call(&libraries[1], "leave_daemon", json!({})).await.unwrap();
    let hung =
        libraries.clone().map(|library| tokio::spawn(async move { call(&library, "busy_loop", json!({})).await }));
    tokio::time::sleep(Duration::from_millis(300)).await;
    println!("hung");
    for hung in hung {
        let _ = hung.await;
    }
    std::future::pending::<()>().await;
}

/// Fisher and Yates, with a generator that gives the same order for the same seed everywhere.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for index in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(index, (state % (index as u64 + 1)) as usize);
    }
}

fn start_host(role: &str) -> Child {
    start_host_by(Command::new(std::env::current_exe().unwrap()), role)
}

fn start_host_by(mut command: Command, role: &str) -> Child {
    command
        .args(["--exact", "isolation::hosts::plays_the_host_that_another_test_started", "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The processes below a host: its workers, and whatever has forked off them, all of which have its number.
fn left_of(host: u32) -> Vec<String> {
    let mark = format!("--opentool-dyn-worker\0{host}\0");
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    processes
        .filter(|process| {
            let read = |name: &str| std::fs::read(format!("/proc/{process}/{name}")).unwrap_or_default();
            String::from_utf8_lossy(&read("cmdline")).contains(&mark)
        })
        .collect()
}

fn nothing_is_left_of(host: u32) {
    let began = Instant::now();
    while !left_of(host).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(10), "left of host {host}: {:?}", left_of(host));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_cases_pass_in_any_order_and_leave_nothing_behind() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let base = std::env::var("OPENTOOL_TEST_SEED").map_or(now, |seed| seed.parse().unwrap());
    println!("OPENTOOL_TEST_SEED={base}");
    let seeds: Vec<u64> = (base..base + ORDERS).collect();
    for seeds in seeds.chunks(TOGETHER) {
        let hosts: Vec<_> = seeds.iter().map(|seed| (*seed, start_host(&format!("shuffled:{seed}")))).collect();
        for (seed, host) in hosts {
            let number = host.id();
            let output = host.wait_with_output().unwrap();
            let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
            assert!(output.status.success(), "OPENTOOL_TEST_SEED={seed}: {text}");
            assert!(text.contains("shrinking_map"), "the cases were played: {text}");
            nothing_is_left_of(number);
        }
    }
}

#[test]
fn without_landlock_writing_and_root_need_the_operators_consent() {
    // The system calls of Landlock fail below it as on a kernel that has none.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("without-landlock");
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/without_landlock.c");
    assert!(Command::new("cc").arg("-o").args([&program, &source]).status().unwrap().success());
    let mut command = Command::new(&program);
    command.arg(std::env::current_exe().unwrap());
    let output = start_host_by(command, "unconfined").wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("refused"), "{text}");
}

#[test]
fn a_forged_reply_of_900_megabytes_is_not_read() {
    let output = start_host("forged").wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && text.contains("refused"), "{text}");
}

#[test]
fn a_host_that_is_killed_leaves_no_worker_and_no_daemon() {
    let mut host = start_host("hang");
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let hung = lines.map_while(Result::ok).any(|line| line.contains("hung"));
    let number = host.id();
    let before = left_of(number);
    // SIGKILL, which cannot be handled.
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(hung && before.len() >= 4, "workers, a subreaper and a daemon: {before:?}");
    nothing_is_left_of(number);
}
