//! What the children do.

use std::cell::Cell;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{ErrorKind, ToolOutput, UncertainDecision};
use opentool_journal::{JournalError, JournalOptions, RunStatus, SqliteJournal};
use rustix::process::{Signal, getpid, kill_process};

use super::{Files, call, call_alone, number, open, pay, workflow};

tokio::task_local! {
    /// How often the run of this task came to the point.
    static ARRIVALS: Cell<usize>;
}

/// The point at which a child is killed, when all of its runs are there, or stopped.
pub(super) struct Gate {
    point: String,
    act: String,
    arrival: usize,
    at_once: usize,
    arrived: AtomicUsize,
    files: Files,
}

impl Gate {
    fn of_order(files: &Files) -> Arc<Self> {
        Arc::new(Self {
            point: env::var("CRASH_POINT").unwrap_or_default(),
            act: env::var("CRASH_ACT").unwrap_or_default(),
            arrival: number("CRASH_ARRIVAL", 1),
            at_once: number("CRASH_AT_ONCE", 1),
            arrived: AtomicUsize::new(0),
            files: files.clone(),
        })
    }

    pub(super) fn reach(&self, here: &str) {
        if self.point != here {
            return;
        }
        let arrivals = ARRIVALS.with(|arrivals| arrivals.replace(arrivals.get() + 1) + 1);
        if arrivals != self.arrival {
            return;
        }
        // The thread waits; the other runs go on with other threads.
        tokio::task::block_in_place(|| {
            if self.act == "stop" {
                self.files.add("stopped", here);
                kill_process(getpid(), Signal::STOP).unwrap();
                // The signal may take a moment to arrive.
                std::thread::sleep(Duration::from_millis(20));
                return;
            }
            if self.arrived.fetch_add(1, SeqCst) + 1 == self.at_once {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
            std::thread::sleep(Duration::from_secs(60));
        });
    }
}

/// In an ordinary run of the tests there is nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process() {
    let Ok(folder) = env::var("CRASH_FOLDER") else { return };
    let files = Files(folder.into());
    let (kind, task) = (env::var("CRASH_KIND").unwrap_or_default(), env::var("CRASH_TASK").unwrap_or_default());
    if task == "work" {
        return work(&files).await;
    }
    let gate = Gate::of_order(&files);
    let journal = open(&files, Some(gate.clone())).await;
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..gate.at_once {
        let (files, kind, task) = (files.clone(), kind.clone(), task.clone());
        let (journal, gate) = (journal.clone(), gate.clone());
        runs.spawn(ARRIVALS.scope(Cell::new(0), async move {
            match task.as_str() {
                "run" => run(&journal, &files, &kind, &gate, number).await,
                "decide" => decide(&journal, &files, &gate, number).await,
                "flow" => workflow::run(&journal, &files, &kind, &gate, number).await,
                "pay" => pay_on(&journal, &files, &kind, &gate, number).await,
                task => panic!("unknown task {task}"),
            }
        }));
    }
    if gate.act == "any" {
        // A moment that no one chose: anywhere in the first payments of the runs.
        let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 1) as usize;
        while gate.arrived.load(SeqCst) < random % (3 * gate.at_once) {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        tokio::time::sleep(Duration::from_micros(random as u64 % 3_000)).await;
        kill_process(getpid(), Signal::KILL).unwrap();
    }
    while let Some(ended) = runs.join_next().await {
        ended.unwrap();
    }
    journal.close().await;
}

/// A run from its start to its end.
async fn run(journal: &SqliteJournal, files: &Files, kind: &str, gate: &Arc<Gate>, number: usize) {
    let run = journal.start_run("test", &number.to_string()).await.unwrap();
    // After a stop another process may have the run, and whatever is refused then is refused.
    let _ = run.add_step("input", "pay").await;
    for round in 1..=2 {
        let outcome = call(&run, pay(files, kind, Some(gate)), number, round).await;
        if let Some(output) = outcome.output() {
            files.add("seen", &format!("{number} {round} {}", output.to_text()));
        }
    }
    let _ = run.finish(RunStatus::Done).await;
}

/// A call that is dropped, and the decision about it.
async fn decide(journal: &SqliteJournal, files: &Files, gate: &Arc<Gate>, number: usize) {
    let run = journal.start_run("test", &number.to_string()).await.unwrap();
    let hangs = call(&run, FakeTool::new("pay").hangs(), number, 1);
    assert!(tokio::time::timeout(Duration::from_millis(300), hangs).await.is_err());
    let outcome = call(&run, pay(files, "other", Some(gate)), number, 1).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain);
    let decision = UncertainDecision::Happened(ToolOutput::text("decided"));
    journal.decide_call(run.id(), "1.0", decision).await.unwrap();
}

/// A run that goes on until it is killed.
async fn pay_on(journal: &SqliteJournal, files: &Files, kind: &str, gate: &Arc<Gate>, number: usize) {
    let run = journal.start_run("test", &number.to_string()).await.unwrap();
    for round in 1.. {
        let outcome = call_alone(&run, pay(files, kind, Some(gate)), number, round).await;
        files.add("seen", &format!("{number} {round} {}", outcome.output().unwrap().to_text()));
        gate.arrived.fetch_add(1, SeqCst);
    }
}

/// Takes whatever run it can get and finishes it, until none is left.
async fn work(files: &Files) {
    let journal = JournalOptions::new().lease(Duration::from_secs(15)).open(files.journal()).await.unwrap();
    for (number, id) in files.lines("runs").into_iter().enumerate() {
        let run = match journal.claim(&id).await {
            Ok(run) => run,
            Err(JournalError::Owned { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let outcome = call(&run, pay(files, "other", None), number, 1).await;
        assert!(outcome.output().is_some(), "{outcome:?}");
        run.finish(RunStatus::Done).await.unwrap();
    }
    journal.close().await;
}
