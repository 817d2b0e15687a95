//! What a call in a worker process costs, beside a bare ping-pong of the same bytes over two pipes.
//!
//! `cargo bench -p opentool-dyn --bench isolated [-- one | many | start | million]`
//!
//! The contenders take turns, round after round, so that a noisy machine is noisy for all of them; each is compared by its
//! best round, and its median is printed beside it. Two processes that exchange messages are fast in one way where they share a
//! processor and in another where each has its own, and left alone they change between the two. So both contenders are put
//! where they are compared: each side on a processor of its own, then both on one; before that, the system puts them.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use futures_util::future::join_all;
use opentool_core::{Arguments, Invocation, Tool, ToolContext, ToolOutput};
use opentool_dyn::DynLibrary;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

const ARGUMENTS: &str = r#"{"a":1,"b":2}"#;
const RESULT: &str = r#"{"sum":3}"#;

/// What stands before arguments and results on the pipes.
const HEADER: usize = 24;

const ROUNDS: usize = 200;
const STARTS: usize = 60;
const CALLS: usize = 256;
const PIPELINED: usize = 64;

fn document() -> Value {
    let int = json!({ "type": "integer", "cType": { "type": "int", "isPointer": false } });
    let takes = |name: &str| json!({ "name": name, "schema": int, "isIn": true, "required": true });
    json!({
        "opendyn": "1.0.0",
        "info": { "title": "Bench", "version": "1.0.0", "callingConvention": "cdecl" },
        "functions": [{
            "name": "add", "description": "Adds.", "parameters": [takes("a"), takes("b")],
            "return": { "name": "sum", "schema": int },
        }],
    })
}

/// A library with one function.
fn library() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, library) = (folder.join("bench_add.c"), folder.join("libbench_add.so"));
    std::fs::write(&source, "int add(int a, int b) { return a + b; }\n").unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).args([&library, &source]).status();
    assert!(compiled.unwrap().success());
    library
}

fn open(library: &PathBuf) -> DynLibrary {
    DynLibrary::builder().document_text(document().to_string()).library(library).open().unwrap()
}

async fn call(tool: &dyn Tool, arguments: &Arguments, context: &ToolContext) -> ToolOutput {
    tool.call(Invocation::new(arguments, context)).await.unwrap()
}

/// The other side of the bare ping-pong: as many bytes back as a reply has.
fn echo() -> ! {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut request = [0; HEADER + ARGUMENTS.len()];
    let reply = [b'x'; HEADER + RESULT.len()];
    while input.read_exact(&mut request).is_ok() && output.write_all(&reply).and_then(|()| output.flush()).is_ok() {}
    std::process::exit(0)
}

/// Puts a process on some of the processors, or this thread where it is number 0; says whether that was possible.
#[cfg(target_os = "linux")]
fn pin(process: i32, processors: std::ops::Range<usize>) -> bool {
    // SAFETY: all zeroes are an empty set, and the call reads as much as the size says.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        processors.for_each(|processor| libc::CPU_SET(processor, &mut set));
        libc::sched_setaffinity(process, size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
}

#[cfg(not(target_os = "linux"))]
fn pin(_process: i32, _processors: std::ops::Range<usize>) -> bool {
    false
}

/// Runs contenders in turns; gives the best and the median of each, in nanoseconds a call.
fn race(rounds: usize, calls: usize, mut contenders: Vec<Box<dyn FnMut() + '_>>) -> Vec<(f64, f64)> {
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let start = Instant::now();
            contender();
            times.push(start.elapsed().as_secs_f64() * 1e9 / calls as f64);
        }
    }
    let sorted = times.into_iter().map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    });
    sorted.collect()
}

fn show(name: &str, time: (f64, f64), bare: (f64, f64), at_most: &str) {
    let ((best, median), (bare_best, bare_median)) = (time, bare);
    let (ratio, median_ratio) = (best / bare_best, median / bare_median);
    println!(
        "  {name:<24} {:8.2} µs  {ratio:5.2} times{at_most}; median {:8.2} µs, {median_ratio:5.2} times",
        best / 1e3,
        median / 1e3
    );
}

/// One call after another, and 64 at a time. The caller runs on the first processor, the worker on the given one; where
/// none is given, the system puts them.
fn calls(runtime: &Runtime, answering: Option<usize>, one: bool, many: bool) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("--echo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let library = open(&library());
    let (tool, arguments, context) =
        (library.toolbox().get("add").unwrap(), Arguments::from(ARGUMENTS), ToolContext::new());
    assert_eq!(runtime.block_on(call(tool, &arguments, &context)).to_text(), RESULT);
    if let Some(answering) = answering {
        let pinned = pin(0, 0..1) && children().into_iter().all(|child| pin(child, answering..answering + 1));
        assert!(pinned, "two processors are needed");
    }

    let request = [b'x'; HEADER + ARGUMENTS.len()];
    let mut reply = [0; HEADER + RESULT.len()];
    let mut contenders: Vec<Box<dyn FnMut() + '_>> = vec![Box::new(|| {
        for _ in 0..CALLS {
            to.write_all(&request).unwrap();
            from.read_exact(&mut reply).unwrap();
        }
    })];
    contenders.push(Box::new(|| {
        runtime.block_on(async {
            for _ in 0..CALLS {
                call(tool, &arguments, &context).await;
            }
        });
    }));
    contenders.push(Box::new(|| {
        runtime.block_on(async {
            for _ in 0..CALLS / PIPELINED {
                join_all((0..PIPELINED).map(|_| call(tool, &arguments, &context))).await;
            }
        });
    }));
    let times = race(ROUNDS, CALLS, contenders);
    let place = match answering {
        None => "wherever the system puts them",
        Some(0) => "both sides on one processor",
        Some(_) => "each side on its own processor",
    };
    println!("add({ARGUMENTS}) in a worker process, at `Tool::call`, {place}");
    show("bare ping-pong", times[0], times[0], "");
    if one {
        show("one call", times[1], times[0], " (at most 1.5)");
    }
    if many {
        show("64 pipelined, each", times[2], times[0], " (at most 0.33)");
    }
    drop(to);
    child.wait().unwrap();
}

/// From nothing to the first answer.
fn start(runtime: &Runtime) {
    let library = library();
    let (arguments, context) = (Arguments::from(ARGUMENTS), ToolContext::new());
    let times = race(
        STARTS,
        1,
        vec![
            Box::new(|| assert!(Command::new("true").status().unwrap().success())),
            Box::new(|| {
                let opened = open(&library);
                let tool = opened.toolbox().get("add").unwrap();
                runtime.block_on(call(tool, &arguments, &context));
            }),
        ],
    );
    println!("from the document to the first answer");
    show("fork + exec of `true`", times[0], times[0], "");
    show("open and first call", times[1], times[0], " (at most 10)");
}

/// What is left of a million calls.
fn million(runtime: &Runtime) {
    const MILLION: usize = 1_000_000;
    let opened = open(&library());
    let (tool, arguments, context) =
        (opened.toolbox().get("add").unwrap(), Arguments::from(ARGUMENTS), ToolContext::new());
    let run = |calls: usize| {
        runtime.block_on(async {
            for _ in 0..calls / PIPELINED {
                join_all((0..PIPELINED).map(|_| call(tool, &arguments, &context))).await;
            }
        });
    };
    run(MILLION / 10);
    // By then the spare is there, too.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let before = resident();
    let begun = Instant::now();
    run(MILLION);
    let after = resident();
    println!("a million calls in {:.1} s", begun.elapsed().as_secs_f64());
    for ((name, before), (_, after)) in before.iter().zip(&after) {
        println!("  {name:<24} {before} KiB before, {after} KiB after");
    }
}

/// What is in memory of this process and of its children, in KiB.
fn resident() -> Vec<(String, usize)> {
    let status = |process: &str| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    let workers = children().into_iter().map(|child| (format!("worker {child}"), status(&child.to_string())));
    std::iter::once(("this process".to_owned(), status("self"))).chain(workers).collect()
}

/// The processes that this one has started.
fn children() -> Vec<i32> {
    let own = std::process::id().to_string();
    let is_child = |process: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.split_whitespace().nth(1) == Some(own.as_str()))
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_child).collect()
}

fn main() {
    opentool_dyn::worker_main();
    if std::env::args().any(|argument| argument == "--echo") {
        echo();
    }
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let wanted = |part: &str| {
        let mut parts = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).peekable();
        parts.peek().is_none() || parts.any(|wanted| part.contains(&wanted))
    };
    if wanted("one") || wanted("many") {
        let places: &[Option<usize>] = if cfg!(target_os = "linux") { &[None, Some(1), Some(0)] } else { &[None] };
        for place in places {
            calls(&runtime, *place, wanted("one"), wanted("many"));
        }
        pin(0, 0..64);
    }
    if wanted("start") {
        start(&runtime);
    }
    if wanted("million") {
        million(&runtime);
    }
}
