//! Processes that are killed at every commit point, stopped, and many at once. `scripts/crash` runs the same with `CRASH_RUNS=1000`.
//!
//! A child is this very test binary, which runs the test `child_process`; its environment says what to do.

use std::collections::HashMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentool_core::testing::FakeTool;
use opentool_core::{
    ErrorKind, Executor, Outcome, ToolCall, ToolContext, ToolMetadata, ToolOutput, Toolbox, Turn, UncertainDecision,
};
use opentool_journal::testing::CommitPoint;
use opentool_journal::{JournalError, JournalOptions, Run, RunStatus, SqliteJournal};
use rustix::process::{Pid, Signal, getpid, kill_process};
use tempfile::TempDir;
use tokio::time::sleep;

/// How long the lease of a child is.
const LEASE: Duration = Duration::from_millis(90);

/// How often each cell is run.
fn runs(default: usize) -> usize {
    env::var("CRASH_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(default)
}

const KINDS: [&str; 3] = ["read_only", "idempotent", "other"];

fn metadata(kind: &str) -> ToolMetadata {
    match kind {
        "read_only" => ToolMetadata::new().with_read_only(true),
        "idempotent" => ToolMetadata::new().with_idempotent(true),
        _ => ToolMetadata::new(),
    }
}

/// The files of one run: its journal, its effects, and what its caller has seen.
#[derive(Clone)]
struct Files(PathBuf);

impl Files {
    fn journal(&self) -> PathBuf {
        self.0.join("journal.sqlite")
    }

    fn add(&self, file: &str, line: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.0.join(file)).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// What a child does at a point: is killed, or stops until it is continued.
fn act_at(files: &Files, here: &str) {
    let (point, act) = (env::var("CRASH_POINT").unwrap_or_default(), env::var("CRASH_ACT").unwrap_or_default());
    if point != here || files.lines("acted").iter().any(|line| line == here) {
        return;
    }
    files.add("acted", here);
    let signal = if act == "stop" { Signal::STOP } else { Signal::KILL };
    kill_process(getpid(), signal).unwrap();
    // The signal may take a moment to arrive.
    std::thread::sleep(Duration::from_millis(if act == "stop" { 20 } else { 60_000 }));
}

/// A tool whose effects are lines of a file.
fn pay(files: &Files, kind: &str, acts: bool) -> FakeTool {
    let files = files.clone();
    FakeTool::new("pay").with_metadata(metadata(kind)).acts(move |arguments, context| {
        let files = files.clone();
        async move {
            if acts {
                act_at(&files, "before-effect");
            }
            let effect = format!("{} {} {}", arguments.as_str(), std::process::id(), context.attempt());
            files.add("effects", &effect);
            if acts {
                act_at(&files, "after-effect");
            }
            Ok(ToolOutput::text(effect))
        }
    })
}

async fn open(files: &Files, acts: bool) -> SqliteJournal {
    let options = JournalOptions::new().lease(LEASE);
    let hooked = files.clone();
    let options = options.commit_hook(move |point| {
        if acts {
            act_at(&hooked, point.as_str());
        }
    });
    options.open(files.journal()).await.unwrap()
}

/// Runs a round of one call.
async fn call(run: &Run, tool: FakeTool, arguments: &str, round: u32) -> Outcome {
    let tools = Toolbox::from_tools([tool]).unwrap();
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), run.context(&ToolContext::new()));
    let mut outcomes = Vec::new();
    for number in 1..=round {
        let name = if number == round { "pay" } else { "nothing" };
        let calls = vec![ToolCall::new("1", name, arguments)];
        outcomes = executor.run(&tools, calls, &mut turn, &context).finish().await.into_vec();
    }
    assert_eq!(outcomes.len(), 1, "no call is without an answer");
    outcomes.remove(0)
}

/// What the children do. In an ordinary run of the tests there is nothing to do.
#[tokio::test]
async fn child_process() {
    let Ok(folder) = env::var("CRASH_FOLDER") else { return };
    let files = Files(folder.into());
    let kind = env::var("CRASH_KIND").unwrap_or_default();
    match env::var("CRASH_TASK").unwrap_or_default().as_str() {
        "run" => child_run(&files, &kind).await,
        "decide" => child_decide(&files).await,
        "work" => child_work(&files).await,
        task => panic!("unknown task {task}"),
    }
}

/// A run from its start to its end.
async fn child_run(files: &Files, kind: &str) {
    let journal = open(files, true).await;
    let run = journal.start_run("test", "a payment").await.unwrap();
    // After a stop another process may have the run, and whatever is refused then is refused.
    let _ = run.add_step("input", "pay").await;
    for round in 1..=2 {
        let outcome = call(&run, pay(files, kind, true), &format!(r#"{{"round":{round}}}"#), round).await;
        if let Some(output) = outcome.output() {
            files.add("seen", &output.to_text());
        }
    }
    let _ = run.finish(RunStatus::Done).await;
    journal.close().await;
}

/// A call that is dropped, and the decision about it.
async fn child_decide(files: &Files) {
    let journal = open(files, true).await;
    let run = journal.start_run("test", "a payment").await.unwrap();
    let hangs = call(&run, FakeTool::new("pay").hangs(), r#"{"round":1}"#, 1);
    assert!(tokio::time::timeout(Duration::from_millis(30), hangs).await.is_err());
    let outcome = call(&run, pay(files, "other", true), r#"{"round":1}"#, 1).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain);
    let decision = UncertainDecision::Happened(ToolOutput::text("decided"));
    journal.decide_call(run.id(), "1.0", decision).await.unwrap();
    files.add("seen", "decided");
}

/// Takes whatever run it can get and finishes it, until none is left.
async fn child_work(files: &Files) {
    let journal = JournalOptions::new().lease(Duration::from_secs(15)).open(files.journal()).await.unwrap();
    for id in files.lines("runs") {
        let run = match journal.claim(&id).await {
            Ok(run) => run,
            Err(JournalError::Owned { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let outcome = call(&run, pay(files, "other", false), &format!(r#"{{"run":"{id}"}}"#), 1).await;
        assert!(outcome.output().is_some(), "{outcome:?}");
        run.finish(RunStatus::Done).await.unwrap();
    }
    journal.close().await;
}

fn spawn(files: &Files, task: &str, kind: &str, act: &str, point: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::child_process", "--nocapture", "--test-threads=1"])
        .env("CRASH_FOLDER", &files.0)
        .env("CRASH_TASK", task)
        .env("CRASH_KIND", kind)
        .env("CRASH_ACT", act)
        .env("CRASH_POINT", point)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn folders(root: &Path, count: usize) -> Vec<Files> {
    (0..count)
        .map(|n| {
            let folder = root.join(n.to_string());
            fs::create_dir(&folder).unwrap();
            Files(folder)
        })
        .collect()
}

/// Runs children, at most a few at a time, each of which is killed.
fn kill_all(folders: &[Files], task: &str, kind: &str, point: &str) {
    for some in folders.chunks(4) {
        let children: Vec<_> = some.iter().map(|files| spawn(files, task, kind, "kill", point)).collect();
        for (child, files) in children.into_iter().zip(some) {
            let ended = child.wait_with_output().unwrap();
            let killed = std::os::unix::process::ExitStatusExt::signal(&ended.status) == Some(9);
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(killed, "{kind} {point} {}: {said}", files.0.display());
        }
    }
}

/// Claims a run once the lease of its process has ended.
async fn take_over(journal: &SqliteJournal, run: &str) -> Run {
    let begun = Instant::now();
    loop {
        match journal.claim(run).await {
            Ok(run) => return run,
            Err(JournalError::Owned { .. }) if begun.elapsed() < Duration::from_secs(30) => {
                sleep(Duration::from_millis(10)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// What must be after a kill at a point in the first round, for a tool of a kind: whether there is an answer, and how many effects.
fn expected(point: &str, kind: &str) -> (bool, usize) {
    match (point, kind) {
        ("after-start" | "before-effect", "other") => (false, 0),
        ("after-effect" | "before-outcome", "other") => (false, 1),
        ("after-effect" | "before-outcome", _) => (true, 2),
        _ => (true, 1),
    }
}

async fn check(files: &Files, kind: &str, point: &str) {
    let at = format!("{kind} {point} {}", files.0.display());
    let journal = open(files, false).await;
    let Some(summary) = journal.runs(10).await.unwrap().pop() else {
        assert_eq!((point, files.lines("effects").len()), ("before-claim", 0), "{at}");
        return;
    };
    let run = take_over(&journal, &summary.id).await;
    let outcome = call(&run, pay(files, kind, false), r#"{"round":1}"#, 1).await;
    let (has_answer, effects) = expected(point, kind);
    assert_eq!((outcome.output().is_some(), files.lines("effects").len()), (has_answer, effects), "{at} {outcome:?}");
    if let Some(seen) = files.lines("seen").first() {
        assert_eq!(outcome.output().unwrap().to_text(), *seen, "{at}: what was seen is not lost");
    }
    if !has_answer {
        assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain, "{at}");
        assert_eq!(journal.runs(1).await.unwrap()[0].shown_state(), "uncertain", "{at}");
        let decision = UncertainDecision::GiveUp("the bank knows nothing of it".to_owned());
        journal.decide_call(&summary.id, "1.0", decision).await.unwrap();
        let outcome = call(&run, pay(files, kind, false), r#"{"round":1}"#, 1).await;
        assert!(outcome.error().unwrap().message().contains("given up"), "{at}");
        assert_eq!(files.lines("effects").len(), effects, "{at}");
    }
    run.finish(RunStatus::Done).await.unwrap();
    journal.close().await;
}

async fn cells(kind: &str) {
    let decisions = [CommitPoint::BeforeDecision, CommitPoint::AfterDecision];
    let points = CommitPoint::ALL.into_iter().filter(|point| !decisions.contains(point)).map(CommitPoint::as_str);
    for point in points.chain(["before-effect", "after-effect"]) {
        let root = TempDir::new().unwrap();
        let folders = folders(root.path(), runs(10));
        kill_all(&folders, "run", kind, point);
        for files in &folders {
            check(files, kind, point).await;
        }
    }
}

#[tokio::test]
async fn a_read_only_call_runs_again_after_a_kill_at_every_point() {
    cells(KINDS[0]).await;
}

#[tokio::test]
async fn an_idempotent_call_runs_again_after_a_kill_at_every_point() {
    cells(KINDS[1]).await;
}

#[tokio::test]
async fn a_call_with_an_effect_runs_at_most_once_after_a_kill_at_every_point() {
    cells(KINDS[2]).await;
}

#[tokio::test]
async fn a_decision_is_there_or_not_after_a_kill() {
    for point in [CommitPoint::BeforeDecision, CommitPoint::AfterDecision] {
        let root = TempDir::new().unwrap();
        let folders = folders(root.path(), runs(10));
        kill_all(&folders, "decide", "other", point.as_str());
        for files in &folders {
            let journal = open(files, false).await;
            let id = journal.runs(1).await.unwrap().remove(0).id;
            let run = take_over(&journal, &id).await;
            let outcome = call(&run, pay(files, "other", false), r#"{"round":1}"#, 1).await;
            match point {
                CommitPoint::AfterDecision => assert_eq!(outcome.output().unwrap().to_text(), "decided"),
                _ => assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain),
            }
            assert!(files.lines("effects").is_empty());
        }
    }
}

#[tokio::test]
async fn of_two_processes_on_one_journal_each_run_has_one() {
    let root = TempDir::new().unwrap();
    let files = Files(root.path().to_owned());
    let journal = open(&files, false).await;
    let count = env::var("CRASH_TWO").ok().and_then(|runs| runs.parse().ok()).unwrap_or(200);
    for n in 0..count {
        let run = journal.start_run("test", &n.to_string()).await.unwrap();
        run.finish(RunStatus::Waiting).await.unwrap();
        files.add("runs", run.id());
    }
    let workers = [0, 1].map(|_| spawn(&files, "work", "other", "", ""));
    let mut processes = Vec::new();
    for worker in workers {
        processes.push(worker.id().to_string());
        let ended = tokio::task::spawn_blocking(move || worker.wait_with_output().unwrap()).await.unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let mut effects: HashMap<String, usize> = HashMap::new();
    for effect in files.lines("effects") {
        *effects.entry(effect.split(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!((effects.len(), effects.values().copied().max()), (count, Some(1)), "none by two, none left by both");
    let worked = |process: &String| files.lines("effects").iter().any(|line| line.split(' ').nth(1) == Some(process));
    assert!(processes.iter().any(worked), "{processes:?}");
    assert!(journal.runs(usize::MAX).await.unwrap().iter().all(|run| run.state == RunStatus::Done));
}

/// Stops a child at a point, lets another process take its run over, and continues the child.
async fn stopped_at(point: &str, effects_of_other: usize) {
    let root = TempDir::new().unwrap();
    let files = Files(root.path().to_owned());
    let child = spawn(&files, "run", "other", "stop", point);
    let begun = Instant::now();
    while files.lines("acted").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the child did not come to {point}");
        sleep(Duration::from_millis(5)).await;
    }
    let journal = Arc::new(open(&files, false).await);
    let id = journal.runs(1).await.unwrap().remove(0).id;
    let run = take_over(&journal, &id).await;
    let outcome = call(&run, pay(&files, "other", false), r#"{"round":1}"#, 1).await;
    assert_eq!(files.lines("effects").len(), effects_of_other, "{point}");
    assert_eq!(outcome.output().is_some(), effects_of_other > 0, "{point}: {outcome:?}");

    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(files.lines("effects").len(), 1, "{point}: no second start, and nothing in the next round");
    let settled = call(&run, pay(&files, "other", false), r#"{"round":1}"#, 1).await;
    assert_eq!(
        settled.output().unwrap().to_text(),
        files.lines("effects")[0],
        "{point}: a late outcome settles the call"
    );
}

#[tokio::test]
async fn a_process_that_was_stopped_past_its_lease_starts_nothing() {
    stopped_at("before-start", 1).await;
}

#[tokio::test]
async fn the_late_outcome_of_a_stopped_process_settles_its_call() {
    stopped_at("after-start", 0).await;
    stopped_at("before-effect", 0).await;
}
