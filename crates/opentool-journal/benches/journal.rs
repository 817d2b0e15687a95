//! What the journal costs: `scripts/bench journal`. Figures of one run, in turns, so that ratios can be compared.

#![allow(clippy::panic, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentool_core::{Executor, FnTool, Host, ToolCall, ToolContext, ToolMetadata};
use opentool_journal::{RunStatus, SqliteJournal};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn host(metadata: ToolMetadata) -> Host {
    Executor::new().host(FnTool::new("add", |i: Add| i.a + i.b).metadata(metadata).inline())
}

async fn call(host: &Host, context: &ToolContext) {
    let outcome = host.run(ToolCall::new("1", "add", r#"{"a":1,"b":2}"#), context).await;
    assert!(black_box(outcome).output().is_some());
}

fn percentile(times: &mut [Duration], part: usize) -> Duration {
    times.sort_unstable();
    times[times.len() * part / 100]
}

/// Times calls of a run, each at a place of its own.
async fn recorded(journal: &SqliteJournal, host: &Host, count: usize) -> Vec<Duration> {
    let run = match journal.start_run("bench", "calls").await {
        Ok(run) => run,
        Err(error) => panic!("{error}"),
    };
    let context = ToolContext::new().with_run(Arc::new(journal.clone()), run.id());
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        call(host, &context).await;
        times.push(begun.elapsed());
    }
    times
}

fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let journal = SqliteJournal::open(folder.path().join("journal.sqlite")).await?;
    let count = std::env::var("BENCH_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(5_000);

    let plain = host(ToolMetadata::new());
    let context = ToolContext::new();
    let begun = Instant::now();
    for _ in 0..100_000 {
        call(&plain, &context).await;
    }
    println!("without a journal: {:?} a call", begun.elapsed() / 100_000);

    let idempotent = host(ToolMetadata::new().with_idempotent(true));
    recorded(&journal, &idempotent, 200).await;
    let mut normal = recorded(&journal, &idempotent, count).await;
    let mut full = recorded(&journal, &plain, count.min(2_000)).await;
    let (p50, p99) = (percentile(&mut normal, 50), percentile(&mut normal, 99));
    println!("NORMAL: p50 {p50:?}, wanted 60 µs or less; p99 {p99:?}");
    let (p50, p99) = (percentile(&mut full, 50), percentile(&mut full, 99));
    println!("FULL: p50 {p50:?}, wanted 500 µs or less; p99 {p99:?}");

    for n in 0..10_000 {
        journal.start_run("bench", &n.to_string()).await?.finish(RunStatus::Done).await?;
    }
    let mut lists = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        assert!(journal.runs(10_000).await?.len() == 10_000);
        lists.push(begun.elapsed());
    }
    println!("10,000 runs listed: {:?}, wanted 50 ms or less", percentile(&mut lists, 50));

    let total = std::env::var("BENCH_JOURNAL_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(20_000);
    recorded(&journal, &idempotent, total / 10).await;
    let before = resident_kilobytes();
    for _ in 0..10 {
        drop(recorded(&journal, &idempotent, total / 10).await);
    }
    println!("{total} more calls: memory {before} kB before, {} kB after", resident_kilobytes());
    journal.close().await;
    Ok(())
}
