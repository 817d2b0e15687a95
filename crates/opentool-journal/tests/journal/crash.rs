//! Processes that are killed at every commit point and at any moment, stopped, and many at once. `scripts/crash` runs the same with
//! `CRASH_RUNS=1000`.
//!
//! A child is this very test binary, which runs the test `child_process`; its environment says what to do. It has several runs at once
//! (`CRASH_BATCH`) and is killed when all of them stand at the point.

mod child;
mod workflow;

use std::collections::HashMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use opentool_core::testing::FakeTool;
use opentool_core::{
    ErrorKind, Executor, Outcome, ToolCall, ToolContext, ToolMetadata, ToolOutput, Toolbox, Turn, UncertainDecision,
};
use opentool_journal::testing::CommitPoint;
use opentool_journal::{CallStatus, JournalError, JournalOptions, Run, RunStatus, SqliteJournal};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::sleep;

use self::child::Gate;

/// How long the lease of a child is.
const LEASE: Duration = Duration::from_millis(90);

fn number(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// How many runs each cell has, and how many of them a child has at once.
fn batches() -> Vec<usize> {
    let (runs, batch) = (number("CRASH_RUNS", 10), number("CRASH_BATCH", 5).max(1));
    (0..runs.div_ceil(batch)).map(|n| batch.min(runs - n * batch)).collect()
}

/// A folder for the files of a cell: in memory, where `CRASH_DIR` says so. A kill loses nothing that was written, synced or not.
fn root() -> TempDir {
    match env::var_os("CRASH_DIR") {
        Some(folder) => TempDir::new_in(folder).unwrap(),
        None => TempDir::new().unwrap(),
    }
}

const KINDS: [&str; 3] = ["read_only", "idempotent", "other"];

fn metadata(kind: &str) -> ToolMetadata {
    match kind {
        "read_only" => ToolMetadata::new().with_read_only(true),
        "idempotent" => ToolMetadata::new().with_idempotent(true),
        _ => ToolMetadata::new(),
    }
}

/// The files of one child: its journal, its effects, and what its callers have seen.
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

    /// How often each payment was made, by run and round.
    fn effects(&self) -> HashMap<(usize, usize), usize> {
        let mut effects = HashMap::new();
        for line in self.lines("effects") {
            let mut numbers = line.split(' ').map(|number| number.parse().unwrap());
            *effects.entry((numbers.next().unwrap(), numbers.next().unwrap())).or_default() += 1;
        }
        effects
    }

    /// What the callers of each payment have seen, by run and round.
    fn seen(&self) -> HashMap<(usize, usize), String> {
        let lines = self.lines("seen").into_iter().map(|line| {
            let mut parts = line.splitn(3, ' ');
            let mut number = || parts.next().unwrap().parse().unwrap();
            let key = (number(), number());
            (key, parts.next().unwrap().to_owned())
        });
        lines.collect()
    }
}

fn arguments(run: usize, round: usize) -> String {
    format!(r#"{{"run":{run},"round":{round}}}"#)
}

/// A tool whose effects are lines of a file.
fn pay(files: &Files, kind: &str, gate: Option<&Arc<Gate>>) -> FakeTool {
    let (files, gate) = (files.clone(), gate.cloned());
    FakeTool::new("pay").with_metadata(metadata(kind)).acts(move |arguments, context| {
        let (files, gate) = (files.clone(), gate.clone());
        async move {
            let reach = |here: &str| gate.iter().for_each(|gate| gate.reach(here));
            reach("before-effect");
            let (run, round) = (arguments.value()?["run"].clone(), arguments.value()?["round"].clone());
            let effect = format!("{run} {round} {} {}", std::process::id(), context.attempt());
            files.add("effects", &effect);
            reach("after-effect");
            Ok(ToolOutput::text(effect))
        }
    })
}

async fn open(files: &Files, gate: Option<Arc<Gate>>) -> SqliteJournal {
    let mut options = JournalOptions::new().lease(LEASE);
    if let Some(gate) = gate {
        options = options.commit_hook(move |point| gate.reach(point.as_str()));
    }
    options.open(files.journal()).await.unwrap()
}

/// Runs a round of one call.
async fn call(run: &Run, tool: FakeTool, number: usize, round: usize) -> Outcome {
    let tools = Toolbox::from_tools([tool]).unwrap();
    let (executor, mut turn, context) = (Executor::new(), Turn::new(), run.context(&ToolContext::new()));
    let mut outcomes = Vec::new();
    for current in 1..=round {
        let name = if current == round { "pay" } else { "nothing" };
        let calls = vec![ToolCall::new("1", name, arguments(number, round))];
        outcomes = executor.run(&tools, calls, &mut turn, &context).finish().await.into_vec();
    }
    assert_eq!(outcomes.len(), 1, "no call is without an answer");
    outcomes.remove(0)
}

/// A call at a place of its own.
async fn call_alone(run: &Run, tool: FakeTool, number: usize, round: usize) -> Outcome {
    let context = run.context(&ToolContext::new()).with_place(format!("{round}.0"));
    Executor::new().host(tool).run(ToolCall::new("1", "pay", arguments(number, round)), &context).await
}

/// What a child is to do.
struct Order<'a> {
    task: &'a str,
    kind: &'a str,
    act: &'a str,
    point: &'a str,
    /// The how-manieth time that a run comes to the point.
    arrival: usize,
    batch: usize,
}

impl Order<'_> {
    fn spawn(&self, files: &Files) -> Child {
        Command::new(env::current_exe().unwrap())
            .args(["--exact", "crash::child::child_process", "--nocapture", "--test-threads=1"])
            .env("CRASH_FOLDER", &files.0)
            .env("CRASH_TASK", self.task)
            .env("CRASH_KIND", self.kind)
            .env("CRASH_ACT", self.act)
            .env("CRASH_POINT", self.point)
            .env("CRASH_ARRIVAL", self.arrival.to_string())
            .env("CRASH_AT_ONCE", self.batch.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// What became of the runs of a cell.
#[derive(Default)]
struct Tally {
    runs: usize,
    answered: usize,
    uncertain: usize,
    effects: usize,
}

impl Tally {
    fn print(&self, kind: &str, point: &str) {
        let Self { runs, answered, uncertain, effects } = self;
        println!(
            "crash: {kind:22} {point:18} {runs:5} runs, {answered:5} answered, {uncertain:5} uncertain, {effects:5} effects"
        );
    }
}

/// Kills children at a point, two at a time, until there were enough runs; what each leaves is checked.
async fn cell(order: &Order<'_>, mut check: impl AsyncFnMut(&Files, &mut Tally, usize)) -> Tally {
    let root = root();
    let mut tally = Tally::default();
    for (number, two) in batches().chunks(2).enumerate() {
        let children = two.iter().enumerate().map(|(place, &batch)| {
            let files = Files(root.path().join(format!("{number}-{place}")));
            fs::create_dir(&files.0).unwrap();
            let child = Order { batch, ..*order }.spawn(&files);
            (child, files, batch)
        });
        let children: Vec<_> = children.collect();
        for (child, files, batch) in children {
            let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
            let killed = std::os::unix::process::ExitStatusExt::signal(&ended.status) == Some(9);
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(killed, "{} {} {}: {said}", order.kind, order.point, files.0.display());
            check(&files, &mut tally, batch).await;
            fs::remove_dir_all(&files.0).unwrap();
        }
    }
    tally
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

/// The runs that a child left, by their numbers.
async fn left(journal: &SqliteJournal) -> HashMap<usize, String> {
    let runs = journal.runs(usize::MAX).await.unwrap();
    runs.into_iter().map(|run| (run.title.parse().unwrap(), run.id)).collect()
}

/// Gives a call up that is uncertain, and returns whether it was.
async fn give_up(journal: &SqliteJournal, run: &str) -> bool {
    let calls = journal.run(run).await.unwrap().calls;
    let Some(call) = calls.iter().find(|call| call.state == CallStatus::Uncertain) else { return false };
    let decision = UncertainDecision::GiveUp("the bank knows nothing of it".to_owned());
    journal.decide_call(run, &call.place, decision).await.unwrap();
    true
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

async fn check(files: &Files, kind: &str, point: &str, tally: &mut Tally, batch: usize) {
    let journal = open(files, None).await;
    let (ids, seen) = (left(&journal).await, files.seen());
    assert_eq!(ids.len(), if point == "before-claim" { 0 } else { batch }, "{kind} {point}");
    tally.runs += batch;
    let mut runs = Vec::new();
    for (&number, id) in &ids {
        let at = format!("{kind} {point} {number} {}", files.0.display());
        let run = take_over(&journal, id).await;
        let outcome = call(&run, pay(files, kind, None), number, 1).await;
        let (has_answer, _) = expected(point, kind);
        assert_eq!(outcome.output().is_some(), has_answer, "{at} {outcome:?}");
        if let Some(seen) = seen.get(&(number, 1)) {
            assert_eq!(outcome.output().unwrap().to_text(), *seen, "{at}: what was seen is not lost");
        }
        if has_answer {
            tally.answered += 1;
        } else {
            tally.uncertain += 1;
            assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain, "{at}");
        }
        runs.push((number, run));
    }
    let effects = files.effects();
    for (number, run) in runs {
        let at = format!("{kind} {point} {number} {}", files.0.display());
        let (has_answer, count) = expected(point, kind);
        assert_eq!(effects.get(&(number, 1)).copied().unwrap_or(0), count, "{at}");
        if !has_answer {
            assert!(give_up(&journal, run.id()).await, "{at}");
            let outcome = call(&run, pay(files, kind, None), number, 1).await;
            assert!(outcome.error().unwrap().message().contains("given up"), "{at}");
        }
        run.finish(RunStatus::Done).await.unwrap();
    }
    assert_eq!(files.effects(), effects, "{kind} {point}: what is given up does not run");
    assert!(journal.runs(usize::MAX).await.unwrap().iter().all(|run| run.shown_state() == "done"), "{kind} {point}");
    tally.effects += effects.values().sum::<usize>();
    journal.close().await;
}

async fn cells(kind: &str) {
    let decisions = [CommitPoint::BeforeDecision, CommitPoint::AfterDecision];
    let points = CommitPoint::ALL.into_iter().filter(|point| !decisions.contains(point)).map(CommitPoint::as_str);
    for point in points.chain(["before-effect", "after-effect"]) {
        let order = Order { task: "run", kind, act: "kill", point, arrival: 1, batch: 0 };
        let checked = async |files: &Files, tally: &mut Tally, batch| check(files, kind, point, tally, batch).await;
        cell(&order, checked).await.print(kind, point);
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
        let order = Order { task: "decide", kind: "other", act: "kill", point: point.as_str(), arrival: 1, batch: 0 };
        let checked = async |files: &Files, tally: &mut Tally, batch: usize| {
            let journal = open(files, None).await;
            let ids = left(&journal).await;
            assert_eq!(ids.len(), batch);
            tally.runs += batch;
            for (number, id) in ids {
                let run = take_over(&journal, &id).await;
                let outcome = call(&run, pay(files, "other", None), number, 1).await;
                match point {
                    CommitPoint::AfterDecision => {
                        tally.answered += 1;
                        assert_eq!(outcome.output().unwrap().to_text(), "decided");
                    }
                    _ => {
                        tally.uncertain += 1;
                        assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain);
                    }
                }
            }
            assert!(files.lines("effects").is_empty());
            journal.close().await;
        };
        cell(&order, checked).await.print("decision", point.as_str());
    }
}

/// Children that pay round after round until they are killed, in the middle of whatever they do.
#[tokio::test]
async fn no_payment_is_made_twice_or_lost_whenever_the_process_is_killed() {
    let order = Order { task: "pay", kind: "other", act: "any", point: "", arrival: 1, batch: 0 };
    let checked = async |files: &Files, tally: &mut Tally, _: usize| {
        let journal = open(files, None).await;
        let (before, seen) = (files.effects(), files.seen());
        for (number, id) in left(&journal).await {
            tally.runs += 1;
            let run = take_over(&journal, &id).await;
            let calls = journal.run(&id).await.unwrap().calls.len();
            let mut uncertain = 0;
            for round in 1..=calls {
                let outcome = call_alone(&run, pay(files, "other", None), number, round).await;
                match outcome.output() {
                    Some(output) => {
                        let effects = before.get(&(number, round)).copied();
                        assert_eq!(effects, Some(1), "run {number}, round {round}: an answer without its effect");
                        let seen = seen.get(&(number, round));
                        assert!(seen.is_none_or(|seen| output.to_text() == *seen), "run {number}, round {round}");
                        tally.answered += 1;
                    }
                    None => {
                        assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain, "{outcome:?}");
                        assert_eq!(seen.get(&(number, round)), None, "what was seen is not lost");
                        uncertain += 1;
                    }
                }
            }
            assert!(uncertain <= 1, "only the last round of a run was open");
            tally.uncertain += uncertain;
        }
        assert_eq!(files.effects(), before, "nothing runs again");
        assert!(before.values().all(|count| *count == 1), "{before:?}");
        tally.effects += before.len();
        journal.close().await;
    };
    let tally = cell(&order, checked).await;
    tally.print("other", "at any moment");
    assert!(tally.answered > 0, "the children were killed before they did anything");
}

#[tokio::test]
async fn of_two_processes_on_one_journal_each_run_has_one() {
    let root = root();
    let files = Files(root.path().to_owned());
    let journal = open(&files, None).await;
    let count = number("CRASH_TWO", 200);
    for n in 0..count {
        let run = journal.start_run("test", &n.to_string()).await.unwrap();
        run.finish(RunStatus::Waiting).await.unwrap();
        files.add("runs", run.id());
    }
    let order = Order { task: "work", kind: "other", act: "", point: "", arrival: 1, batch: 1 };
    let workers = [0, 1].map(|_| order.spawn(&files));
    let mut processes = Vec::new();
    for worker in workers {
        processes.push(worker.id().to_string());
        let ended = tokio::task::spawn_blocking(move || worker.wait_with_output().unwrap()).await.unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let effects = files.effects();
    assert_eq!((effects.len(), effects.values().copied().max()), (count, Some(1)), "none by two, none left by both");
    let lines = files.lines("effects");
    let worked = |process: &String| lines.iter().filter(|line| line.split(' ').nth(2) == Some(process)).count();
    let shares: Vec<_> = processes.iter().map(worked).collect();
    println!("crash: two processes on one journal: {count} runs, {shares:?} each");
    assert_eq!(shares.iter().sum::<usize>(), count);
    assert!(journal.runs(usize::MAX).await.unwrap().iter().all(|run| run.state == RunStatus::Done));
}

/// Says whether a stopped child keeps the lock of the file, since it was renewing its lease just then: no other can write until it goes on.
async fn is_locked(files: &Files) -> bool {
    match JournalOptions::new().max_wait(Duration::from_secs(2)).open(files.journal()).await {
        Err(JournalError::Busy { .. }) => true,
        opened => {
            opened.unwrap().close().await;
            false
        }
    }
}

/// Starts a child that stops at a point.
async fn stopped_child(point: &str) -> (TempDir, Child) {
    let order = Order { task: "run", kind: "other", act: "stop", point, arrival: 1, batch: 1 };
    loop {
        let root = root();
        let files = Files(root.path().to_owned());
        let mut child = order.spawn(&files);
        let begun = Instant::now();
        while files.lines("stopped").is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(30), "the child did not come to {point}");
            sleep(Duration::from_millis(5)).await;
        }
        if !is_locked(&files).await {
            return (root, child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Stops a child at a point, lets another process take its run over, and continues the child.
async fn stopped_at(point: &str, effects_of_other: usize) {
    let (root, child) = stopped_child(point).await;
    let files = Files(root.path().to_owned());
    let journal = open(&files, None).await;
    let id = journal.runs(1).await.unwrap().remove(0).id;
    let run = take_over(&journal, &id).await;
    let outcome = call(&run, pay(&files, "other", None), 0, 1).await;
    assert_eq!(files.lines("effects").len(), effects_of_other, "{point}");
    assert_eq!(outcome.output().is_some(), effects_of_other > 0, "{point}: {outcome:?}");

    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(files.lines("effects").len(), 1, "{point}: no second start, and nothing in the next round");
    let settled = call(&run, pay(&files, "other", None), 0, 1).await;
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
