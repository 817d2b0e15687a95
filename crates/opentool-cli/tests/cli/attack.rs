//! Everything that hostile clients do, at once, to the real binary.

#[path = "../../../../benches/http/src/attack.rs"]
mod hostile;

use std::{
    env, fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::{serving::Served, *};

use hostile::{Route, Target};

/// The address for the attacking process, and the protocol that it attacks.
const TARGET: &str = "OPENTOOL_TEST_TARGET";
const ROUTE: &str = "OPENTOOL_TEST_ROUTE";

const DURATION: Duration = Duration::from_secs(8);

/// A process of its own, so that it spends its own descriptors and memory.
#[test]
#[ignore = "this is the attacking process, which the other tests start"]
fn attacker() {
    let server = env::var(TARGET).unwrap().parse().unwrap();
    let route = Route::named(&env::var(ROUTE).unwrap()).unwrap();
    for (name, times) in hostile::attack(Target { server, route }, Instant::now() + DURATION) {
        println!("{name}: {times}");
    }
}

/// Attacks a server while a good client calls it; returns its peak memory in KiB, without the pages of its program file, which
/// are most of a debug build and which the system can drop at any time.
fn withstand(mut served: Served, route: &str) -> u64 {
    let attacker = Command::new(env::current_exe().unwrap())
        .args(["--exact", "attack::attacker", "--ignored", "--nocapture"])
        .env(TARGET, served.address.to_string())
        .env(ROUTE, route)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let calls = hostile::good_client(served.address, Instant::now() + DURATION).unwrap();
    let attacked = attacker.wait_with_output().unwrap();
    let tally = String::from_utf8(attacked.stdout).unwrap();
    let kinds = tally.lines().filter_map(|line| line.split_once(": ")?.1.parse::<usize>().ok());
    assert_eq!(kinds.filter(|times| *times > 0).count(), 8, "some attack was not carried out: {tally}");
    assert!(!calls.is_empty());
    let (peak, file) = (peak_memory(&served), memory(&served, "RssFile:"));
    println!("{tally}{} good calls; {peak} KiB, {file} KiB of them of the program file", calls.len());

    assert!(!served.logged().contains("panicked"), "{}", served.logged());
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
    peak - file
}

fn peak_memory(served: &Served) -> u64 {
    memory(served, "VmHWM:")
}

/// A line of what the system says about the memory of a process, in KiB.
fn memory(served: &Served, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// What the server's budget allows for bodies and their check, by default, in KiB.
const BUDGET: u64 = 64 * 1024;

/// A body that is copied is in memory twice for a moment; one at a time, of 16 MiB at most.
const COPIED: u64 = 16 * 1024;

/// Buffers of connections and small bodies, and what the allocator keeps.
const REST: u64 = 32 * 1024;

const PEAK: u64 = BUDGET + COPIED + REST;

#[test]
fn all_attacks_at_once_cost_little_memory_and_no_answer_to_a_good_client() {
    let folder = TestFolder::new();
    let peak = withstand(Served::start(&folder, &[], &[]), "opentool");
    assert!(peak <= PEAK, "{peak} KiB");
}

#[test]
fn the_same_holds_for_mcp() {
    let folder = TestFolder::new();
    let peak = withstand(Served::start(&folder, &[], &[]), "mcp");
    assert!(peak <= PEAK, "{peak} KiB");
}

#[test]
fn the_same_holds_where_the_system_gives_the_server_few_descriptors() {
    let folder = TestFolder::new();
    let peak = withstand(Served::start_limited(&folder, 300), "opentool");
    assert!(peak <= PEAK, "{peak} KiB");
}

/// A tool whose schema needs an index of its arguments, while that of the demo tool `add` needs none. Its server is never
/// there.
const LISTS: &str = r#"{"opentool": "1.1.0", "info": {"title": "x", "version": "1.0.0"}, "server": {"url": "http://127.0.0.1:9"},
    "functions": [{"name": "measure", "description": "Measures.", "parameters": [
        {"name": "a", "schema": {"type": "array", "items": {"type": "array", "items": {"type": "object"}}}}]}]}"#;

/// Sends a body to a server of its own, and returns the answer; the memory for it must be in proportion. Pages of the program file
/// do not count: the first call of a server reads some.
fn sent_within_bounds(folder: &TestFolder, source: &str, route: Route, body: &[u8]) -> String {
    let mut served = Served::start(folder, &[source], &[]);
    let before = memory(&served, "VmRSS:") - memory(&served, "RssFile:");
    let answer = hostile::send_body(Target { server: served.address, route }, body).unwrap();
    let peak = peak_memory(&served) - memory(&served, "RssFile:") - before;
    let size = body.len() as u64 / 1024;
    let start = String::from_utf8_lossy(&body[..80]).into_owned();
    println!("{start}: {peak} KiB for {size} KiB; {}", answer.lines().last().unwrap());
    assert!(peak <= 4 * size, "{peak} KiB for {size} KiB: {start}");
    served.signal("TERM");
    served.wait();
    answer
}

#[test]
fn bodies_of_short_arrays_take_at_most_four_times_their_size() {
    let folder = TestFolder::with("lists.json", LISTS);
    for route in [Route::OpenTool, Route::Mcp] {
        for (source, tool) in [("demo", "add"), ("lists.json", "measure")] {
            for body in hostile::short_array_bodies(route, tool) {
                let answer = sent_within_bounds(&folder, source, route, &body);
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
            }
        }
        let answer = sent_within_bounds(&folder, "demo", route, &hostile::largest_batch());
        assert!(answer.contains("-32600"), "{answer}");
    }
}

/// A tool whose schema refers to itself: lists of lists, and objects in objects.
const RECURSIVE: &str = r##"{"opentool": "1.1.0", "info": {"title": "x", "version": "1.0.0"}, "server": {"url": "http://127.0.0.1:9"},
    "functions": [{"name": "nest", "description": "Nests.", "parameters": [
        {"name": "a", "schema": {"type": "array", "items": {"$ref": "#/schemas/list"}}},
        {"name": "b", "schema": {"type": "array", "items": {"$ref": "#/schemas/object"}}}]}],
    "schemas": {
        "list": {"type": "array", "items": {"$ref": "#/schemas/list"}},
        "object": {"type": "object", "properties": {"a": {"$ref": "#/schemas/object"}}}}}"##;

#[test]
fn bodies_of_recursive_schemas_use_at_most_four_times_their_size() {
    let folder = TestFolder::with("recursive.json", RECURSIVE);
    let lists = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let objects = |levels: usize| format!("{}{{}}{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    for (argument, part) in [("a", lists(20)), ("a", lists(60)), ("b", objects(20)), ("b", objects(60))] {
        // Smaller than it may be: a debug build takes long for these.
        let parts = vec![part.as_str(); (4 << 20) / (part.len() + 1)].join(",");
        let body = format!(r#"{{"jsonrpc":"2.0","id":"1","method":"nest","params":{{"{argument}":[{parts}]}}}}"#);
        let answer = sent_within_bounds(&folder, "recursive.json", Route::OpenTool, body.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}

#[test]
fn four_bodies_of_short_arrays_do_not_block_other_calls() {
    let folder = TestFolder::with("lists.json", LISTS);
    let mut served = Served::start(&folder, &["lists.json", "demo"], &[]);
    let (address, until) = (served.address, Instant::now() + DURATION);
    let mut times = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                let target = Target { server: address, route: Route::OpenTool };
                let body = hostile::largest_body(target.route, "measure", "a", "[],[{}]");
                while Instant::now() < until {
                    hostile::send_body(target, &body).unwrap();
                }
            });
        }
        hostile::good_client(address, until).unwrap()
    });
    times.sort_unstable();
    let file = memory(&served, "RssFile:");
    let (peak, kept) = (peak_memory(&served) - file, memory(&served, "VmRSS:") - file);
    println!("{} answers, p99 {:?}, peak {peak} KiB, {kept} KiB kept", times.len(), times[times.len() * 99 / 100]);
    assert!(peak <= PEAK, "{peak} KiB");
    assert!(kept <= BUDGET, "{kept} KiB are kept");
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
}
