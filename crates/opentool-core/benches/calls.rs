//! What a call through the executor costs, beside the same call written by hand.
//!
//! `cargo bench -p opentool-core --bench calls [-- one | tools | many | pool]`
//!
//! With `-- rounds N`, as `scripts/bench journal` runs it, it makes so many rounds of checked calls and nothing else, and prints the
//! nanoseconds a call of the best round and of the median one.
//!
//! The contenders alternate, round after round, so that noise hits all of them; the best round of each counts. The
//! floors are for inline tools; a sync tool on the pool pays for the hop to its thread, which is measured by its median.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use opentool_core::{Executor, FnTool, Host, Toolbox};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

const ARGUMENTS: &str = r#"{"a":1,"b":2}"#;
const ROUNDS: usize = 200;
const CALLS: u32 = 2_000;

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

/// The same two tools without a library.
fn by_hand(name: &str, arguments: &str) -> Result<String, serde_json::Error> {
    let Pair { a, b } = serde_json::from_str(arguments)?;
    match name {
        "add" => serde_json::to_string(&(a + b)),
        "subtract" => serde_json::to_string(&(a - b)),
        _ => Ok(String::new()),
    }
}

/// The same tool with the library.
fn add(name: impl Into<String>) -> FnTool {
    FnTool::new(name, |i: Pair| i.a + i.b).inline()
}

/// The same arguments, in a schema that only the validator crate can check.
fn nested() -> Value {
    json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/n" }, "b": { "anyOf": [{ "$ref": "#/$defs/n" }, { "type": "array", "items": { "type": "integer" } }] } },
        "required": ["a", "b"],
        "additionalProperties": false,
        "$defs": { "n": { "type": "integer" } },
    })
}

fn subtract() -> FnTool {
    FnTool::new("subtract", |i: Pair| i.a - i.b).inline()
}

/// Runs contenders in turns and returns the nanoseconds a call of each in its best round.
fn race(mut contenders: Vec<Box<dyn FnMut() + '_>>) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..ROUNDS {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            let start = Instant::now();
            contender();
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
    }
    best
}

/// A contender that calls `add`, in the very loop in which it is done by hand.
fn adding<'a>(runtime: &'a Runtime, host: &'a Host) -> Box<dyn FnMut() + 'a> {
    Box::new(|| {
        runtime.block_on(async {
            for _ in 0..CALLS {
                let _ = black_box(host.call(black_box("add"), black_box(ARGUMENTS)).await.unwrap());
            }
        });
    })
}

/// A contender that calls tools of a host, one after another.
fn calling<'a>(runtime: &'a Runtime, host: &'a Host, names: &'a [String]) -> Box<dyn FnMut() + 'a> {
    let mut next = 0;
    Box::new(move || {
        runtime.block_on(async {
            for _ in 0..CALLS {
                let _ = black_box(host.call(black_box(&names[next]), black_box(ARGUMENTS)).await.unwrap());
                next = if next + 1 == names.len() { 0 } else { next + 1 };
            }
        });
    })
}

fn one_call(runtime: &Runtime) {
    let flat = Executor::new().host((add("add"), subtract()));
    let nested = Executor::new().host((add("add").input_schema(nested()), subtract().input_schema(nested())));
    let costs = race(vec![
        Box::new(|| {
            for _ in 0..CALLS {
                let _ = black_box(by_hand(black_box("add"), black_box(ARGUMENTS)).unwrap());
            }
        }),
        adding(runtime, &flat),
        adding(runtime, &nested),
    ]);
    println!("one call of add({ARGUMENTS}), with checks, context, deadline and panic guard");
    println!("  by hand          {:7.1} ns", costs[0]);
    println!("  flat schema      {:7.1} ns  {:.2} times (at most 7)", costs[1], costs[1] / costs[0]);
    println!("  any other schema {:7.1} ns  {:.2} times (at most 9)", costs[2], costs[2] / costs[0]);
}

/// Makes nothing but checked calls.
fn checked_calls(runtime: &Runtime, rounds: usize) {
    let host = Executor::new().host((add("add"), subtract()));
    let mut contender = adding(runtime, &host);
    let mut costs: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            contender();
            start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    println!("{:.1} {:.1}", costs[0], costs[rounds / 2]);
}

fn look_up(runtime: &Runtime) {
    println!("one call, by the number of tools");
    let sizes = [10, 100, 1_000, 10_000, 100_000];
    let hosts: Vec<_> = sizes
        .iter()
        .map(|size| {
            let tools = Toolbox::from_tools((0..*size).map(|n| add(format!("tool_{n}")))).unwrap();
            let host = Executor::new().host(tools);
            // A caller uses some of the tools, not all: what is measured is the look-up, not the memory.
            let names: Vec<_> = (0..10).map(|n| format!("tool_{}", n * size / 10)).collect();
            (host, names)
        })
        .collect();
    let costs = race(hosts.iter().map(|(host, names)| calling(runtime, host, names)).collect());
    for (size, cost) in sizes.iter().zip(&costs) {
        println!("  {size:7} tools {cost:7.1} ns  {:.2} times", cost / costs[0]);
    }
}

fn many_at_once(runtime: &Runtime) {
    const MANY: usize = 10_000;
    let open = Arc::new(Semaphore::new(0));
    let gate = open.clone();
    let host = Executor::new().host(FnTool::new("wait", move || {
        let gate = gate.clone();
        async move { gate.acquire().await.is_ok() }
    }));
    let future = std::mem::size_of_val(&host.call("wait", ARGUMENTS));
    let before = resident();
    let start = Instant::now();
    let (answered, peak) = runtime.block_on(async {
        let calls = join_all((0..MANY).map(|_| host.call("wait", "{}")));
        let release = async {
            // By now every call has been polled once and waits, each with its timer.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let peak = resident();
            open.add_permits(MANY);
            peak
        };
        let (results, peak) = futures_util::future::join(calls, release).await;
        (results.iter().filter(|result| result.is_ok()).count(), peak)
    });
    println!("{MANY} concurrent calls of an async tool");
    println!("  {answered} answered in {:.0} ms, 200 of which they wait", start.elapsed().as_secs_f64() * 1e3);
    println!("  {} bytes a waiting call (resident), of which its future is {future}", (peak - before) / MANY);
}

/// The time from a call to its result for a tool that does nothing on a thread of the pool, beside tokio alone and two threads that
/// wake each other: what a machine takes for that differs most. `taskset -c 1` leaves out the way to another core.
///
/// On a worker thread, where a server runs its calls. A runtime of one thread would be woken twice for each call here: tokio's
/// feature `test-util`, which the tests of this crate need, makes every task of the pool do so when it ends.
fn pool_hop() {
    const HOPS: usize = 20_000;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let host = Executor::new().host(FnTool::new("add", |i: Pair| i.a + i.b));
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    };
    let measured = runtime.spawn(async move {
        let (mut ours, mut tokio) = (Vec::with_capacity(HOPS), Vec::with_capacity(HOPS));
        for _ in 0..HOPS {
            let start = Instant::now();
            let _ = black_box(host.call(black_box("add"), black_box(ARGUMENTS)).await.unwrap());
            ours.push(start.elapsed());
            let start = Instant::now();
            let by_hand = tokio::task::spawn_blocking(|| by_hand(black_box("add"), black_box(ARGUMENTS)));
            let _ = black_box(by_hand.await.unwrap().unwrap());
            tokio.push(start.elapsed());
        }
        (median(ours), median(tokio))
    });
    let (ours, tokio) = runtime.block_on(measured).unwrap();
    let threads = median(two_threads(HOPS));
    println!("one call of a sync tool on the blocking pool, median of {HOPS}");
    println!("  two threads alone      {threads:5.1} µs");
    println!("  spawn_blocking by hand {tokio:5.1} µs");
    println!("  through the executor   {ours:5.1} µs (at most 20)");
}

/// How long it takes to wake another thread and to be woken by it.
fn two_threads(times: usize) -> Vec<Duration> {
    let (ask, asked) = mpsc::sync_channel(1);
    let (answer, answered) = mpsc::sync_channel(1);
    thread::spawn(move || asked.iter().try_for_each(|()| answer.send(())));
    let wake = |_| {
        let start = Instant::now();
        ask.send(()).unwrap();
        answered.recv().unwrap();
        start.elapsed()
    };
    (0..times).map(wake).collect()
}

/// How many bytes of the process are in memory.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4096
}

fn main() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    if let Some(rounds) = std::env::args().skip_while(|argument| argument != "rounds").nth(1) {
        return checked_calls(&runtime, rounds.parse().unwrap());
    }
    let wanted = |part: &str| {
        let mut parts = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).peekable();
        parts.peek().is_none() || parts.any(|wanted| part.contains(&wanted))
    };
    // First, while the heap is still small: memory that others freed would hide what the calls take.
    if wanted("many") {
        many_at_once(&runtime);
    }
    if wanted("one") {
        one_call(&runtime);
    }
    if wanted("tools") {
        look_up(&runtime);
    }
    if wanted("pool") {
        pool_hop();
    }
}
