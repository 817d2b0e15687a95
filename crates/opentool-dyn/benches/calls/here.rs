//! Calls in this process.

use std::ffi::c_void;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

use libffi::middle::{Cif, CodePtr, Type, arg};
use opentool_core::{Arguments, Invocation, Tool, ToolContext, ToolOutput};
use opentool_dyn::Isolation;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::runtime::{Builder, Runtime};

use crate::library::{ARGUMENTS, RESULT, builder, compile};

const ROUNDS: usize = 300;
const CALLS: u32 = 3_000;

#[derive(Deserialize)]
struct Pair {
    a: i32,
    b: i32,
}

#[derive(Serialize)]
struct Sum {
    sum: i32,
}

/// Code by hand for this one function: typed reading, libffi, typed writing into a reused buffer.
struct ByHand {
    _library: libloading::Library,
    code: CodePtr,
    cif: Cif,
    out: Vec<u8>,
}

impl ByHand {
    fn new(path: &std::path::Path) -> Self {
        // SAFETY: the library is the one that was just compiled, and has no constructors.
        let library = unsafe { libloading::Library::new(path) }.unwrap();
        // SAFETY: nothing is called; the address is all that is wanted.
        let code = unsafe { *library.get::<*const c_void>("add").unwrap() };
        let cif = Cif::new([Type::i32(), Type::i32()], Type::i32());
        ByHand { _library: library, code: CodePtr::from_ptr(code), cif, out: Vec::new() }
    }

    fn call(&mut self, arguments: &str) -> &[u8] {
        let Pair { a, b } = serde_json::from_str(arguments).unwrap();
        // SAFETY: `add` takes two integers and returns one, as the description says.
        let sum: i32 = unsafe { self.cif.call(self.code, &[arg(&a), arg(&b)]) };
        self.out.clear();
        serde_json::to_writer(&mut self.out, &Sum { sum }).unwrap();
        &self.out
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn call(tool: &dyn Tool, arguments: &Arguments, context: &ToolContext) -> ToolOutput {
    tool.call(Invocation::new(black_box(arguments), context)).await.unwrap()
}

/// Runs contenders in turns and returns the nanoseconds a call of each in its best round, and in its median one.
fn race(mut contenders: Vec<Box<dyn FnMut() + '_>>) -> Vec<(f64, f64)> {
    let mut rounds = vec![Vec::new(); contenders.len()];
    for _ in 0..ROUNDS {
        for (contender, rounds) in contenders.iter_mut().zip(&mut rounds) {
            let start = Instant::now();
            contender();
            rounds.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
    }
    rounds
        .into_iter()
        .map(|mut rounds| {
            rounds.sort_by(f64::total_cmp);
            (rounds[0], rounds[rounds.len() / 2])
        })
        .collect()
}

pub(crate) fn race_by_hand() {
    let (_directory, path) = compile();
    let mut by_hand = ByHand::new(&path);
    assert_eq!(by_hand.call(ARGUMENTS), RESULT.as_bytes());
    let (runtime, context) = (runtime(), ToolContext::new());
    let library = builder(&path).isolation(Isolation::None).open().unwrap();
    let tool = |name: &str| &**library.toolbox().get(name).unwrap();
    let (add, fill) = (tool("add"), tool("fill"));
    let arguments = Arguments::from(ARGUMENTS);
    let named = Arguments::from(r#"{"name":"a name of some length"}"#);
    assert_eq!(runtime.block_on(call(add, &arguments, &context)).to_text(), RESULT);
    let calling = |tool, arguments| -> Box<dyn FnMut()> {
        let (runtime, context) = (&runtime, &context);
        Box::new(move || {
            runtime.block_on(async {
                for _ in 0..CALLS {
                    black_box(call(tool, arguments, context).await);
                }
            });
        })
    };
    let costs = race(vec![
        Box::new(|| {
            for _ in 0..CALLS {
                black_box(by_hand.call(black_box(ARGUMENTS)));
            }
        }),
        calling(add, &arguments),
        calling(fill, &named),
    ]);
    println!("one call in this process, at `Tool::call`: best round, median round");
    for (name, (best, median)) in
        ["add by hand: serde and libffi", "add, from its document", "text in, buffer out"].iter().zip(&costs)
    {
        println!("  {name:30} {best:7.1} ns {median:7.1} ns  {:.2} times", best / costs[0].0);
    }
    println!("  wanted: the second at most 1.7 times the first");
    race_shortcuts();
    std::io::stdout().flush().unwrap();
}

/// What the two shortcuts of such a call take, each beside what it stands for.
fn race_shortcuts() {
    let (std_mutex, tokio_mutex) = (std::sync::Mutex::new(()), tokio::sync::Mutex::new(()));
    let repeat = |work: fn()| -> Box<dyn FnMut()> { Box::new(move || (0..CALLS).for_each(|_| work())) };
    let costs = race(vec![
        repeat(|| {
            let text = std::str::from_utf8(black_box(RESULT.as_bytes())).unwrap();
            drop(black_box(RawValue::from_string(text.to_owned()).unwrap()));
        }),
        repeat(|| {
            // SAFETY: the result of the function is JSON in UTF-8.
            let json = unsafe {
                let text = std::str::from_utf8_unchecked(black_box(RESULT.as_bytes()));
                RawValue::from_string_unchecked(text.to_owned())
            };
            drop(black_box(json));
        }),
        Box::new(|| (0..CALLS).for_each(|_| drop(black_box(tokio_mutex.try_lock().unwrap())))),
        Box::new(|| (0..CALLS).for_each(|_| drop(black_box(std_mutex.try_lock().unwrap())))),
    ]);
    println!("shortcuts of that call, each after what it stands for");
    let names = ["the result, read again", "the result, trusted", "a mutex of tokio", "a mutex of std"];
    for (name, (best, median)) in names.iter().zip(&costs) {
        println!("  {name:30} {best:7.1} ns {median:7.1} ns");
    }
}

/// The nanoseconds of a call, for scripts that compare.
pub(crate) fn number() {
    let (_directory, path) = compile();
    let (runtime, context) = (runtime(), ToolContext::new());
    let library = builder(&path).isolation(Isolation::None).open().unwrap();
    let add = &**library.toolbox().get("add").unwrap();
    let arguments = Arguments::from(ARGUMENTS);
    let costs = race(vec![Box::new(|| {
        runtime.block_on(async {
            for _ in 0..CALLS {
                black_box(call(add, &arguments, &context).await);
            }
        });
    })]);
    println!("{:.1} {:.1}", costs[0].0, costs[0].1);
}

/// A million calls must leave nothing behind.
pub(crate) fn grow() {
    const MANY: usize = 1_000_000;
    let (_directory, path) = compile();
    let (runtime, context) = (runtime(), ToolContext::new());
    let library = builder(&path).isolation(Isolation::None).open().unwrap();
    let tools: Vec<_> = library.toolbox().iter().collect();
    let arguments = [Arguments::from(ARGUMENTS), Arguments::from(r#"{"name":"a name of some length"}"#)];
    let run = |calls: usize| {
        runtime.block_on(async {
            for index in 0..calls {
                black_box(call(&**tools[index % 2], &arguments[index % 2], &context).await);
            }
        });
        resident()
    };
    let before = run(MANY / 10);
    let after = run(MANY);
    println!("resident memory: {before} KiB after {} calls, {after} KiB after {} more", MANY / 10, MANY);
    assert!(after <= before + 512, "memory grew");
}

/// Resident memory in KiB, where the system reports it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or(0)
}
