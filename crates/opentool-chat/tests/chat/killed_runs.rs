//! Processes that are killed or stopped at every commit of a chat turn, with a model over real HTTP. `scripts/crash` runs the same with
//! `CRASH_RUNS=1000`.
//!
//! A child is this very test binary, which runs the test `child_process`; its environment says what to do. It has several turns at once
//! (`CRASH_BATCH`) and is killed when all of them stand at the point.

mod child;
mod model;

use std::collections::HashMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use opentool_chat::provider::OpenAi;
use opentool_chat::{Cause, ChatClient, ChatResponse, TurnEnd};
use opentool_core::testing::FakeTool;
use opentool_core::{RunError, ToolMetadata, ToolOutput, UncertainDecision};
use opentool_journal::testing::CommitPoint;
use opentool_journal::{JournalError, JournalOptions, RunSummary, SqliteJournal};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::sleep;

use self::child::Gate;
use self::model::Model;
use crate::support::assert_sound;

/// How long the lease of a process is.
const LEASE: Duration = Duration::from_millis(150);

fn number(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// How many turns are killed at each point, and how many of them a child has at once.
fn batches() -> Vec<usize> {
    let (runs, batch) = (number("CRASH_RUNS", 10), number("CRASH_BATCH", 5).max(1));
    (0..runs.div_ceil(batch)).map(|n| batch.min(runs - n * batch)).collect()
}

/// A folder for the files of a test: in memory, where `CRASH_DIR` says so. A kill loses nothing that was written, synced or not.
fn root() -> TempDir {
    match env::var_os("CRASH_DIR") {
        Some(folder) => TempDir::new_in(folder).unwrap(),
        None => TempDir::new().unwrap(),
    }
}

/// The files of one child: its journal, its effects, and what happened to its processes.
#[derive(Clone)]
struct Files(PathBuf);

impl Files {
    fn make(root: &TempDir, name: &str) -> Self {
        let folder = root.path().join(name);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn add(&self, file: &str, line: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.0.join(file)).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// What a turn asks, which no other turn does.
    fn prompt(&self, number: usize) -> String {
        format!("Pay both, {number} of {}.", self.0.file_name().unwrap().to_string_lossy())
    }

    async fn open(&self, hook: impl Fn(CommitPoint) + Send + Sync + 'static) -> SqliteJournal {
        let options = JournalOptions::new().lease(LEASE).commit_hook(hook);
        options.open(self.0.join("runs.sqlite")).await.unwrap()
    }

    /// Says whether a stopped child keeps the lock of its journal, since it was renewing its lease just then: no other can write until it
    /// goes on.
    async fn are_locked(&self) -> bool {
        match JournalOptions::new().max_wait(Duration::from_secs(2)).open(self.0.join("runs.sqlite")).await {
            Err(JournalError::Busy { .. }) => true,
            opened => {
                opened.unwrap().close().await;
                false
            }
        }
    }

    /// Waits until a child has written a line.
    fn wait_for(&self, file: &str, count: usize) {
        let begun = Instant::now();
        while self.lines(file).len() < count {
            assert!(begun.elapsed() < Duration::from_secs(60), "{file} has {:?}", self.lines(file));
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// How often each of the two calls of a run had its effect, by run.
    fn effects(&self) -> HashMap<String, [usize; 2]> {
        let mut effects: HashMap<String, [usize; 2]> = HashMap::new();
        for key in self.lines("effects") {
            let mut parts = key.split('/');
            let counts = effects.entry(parts.next().unwrap().to_owned()).or_default();
            match parts.next() {
                Some("1.0") => counts[0] += 1,
                Some("2.0") => counts[1] += 1,
                place => panic!("{place:?} is no place of a call"),
            }
        }
        effects
    }

    /// How often each of the two calls of the only run had its effect.
    fn effects_of_one(&self) -> [usize; 2] {
        self.effects().into_values().next().unwrap_or_default()
    }
}

fn client(files: &Files, url: &str, kind: &str, gate: Option<&Arc<Gate>>, journal: SqliteJournal) -> ChatClient {
    let metadata = match kind {
        "read_only" => ToolMetadata::new().with_read_only(true),
        "idempotent" => ToolMetadata::new().with_idempotent(true),
        _ => ToolMetadata::new(),
    };
    let (files, gate) = (files.clone(), gate.cloned());
    let pay = FakeTool::new("pay").with_metadata(metadata).acts(move |arguments, context| {
        let (files, gate) = (files.clone(), gate.clone());
        async move {
            let reach = |here: &str| gate.iter().for_each(|gate| gate.reach(here));
            reach("before-effect");
            let key = context.call_key().map(ToString::to_string).unwrap_or_default();
            files.add("effects", &key);
            reach("after-effect");
            while files.0.join("hold").exists() {
                sleep(Duration::from_millis(5)).await;
            }
            // No two attempts have the same outcome.
            let (process, attempt) = (std::process::id(), context.attempt());
            Ok(ToolOutput::text(format!("paid {} by {process} in attempt {attempt}", arguments.as_str())))
        }
    });
    let provider = OpenAi::new("tiny").base_url(url).api_key("k");
    ChatClient::builder(provider).default_tools(pay).journal(journal).build()
}

fn spawn(files: &Files, model: &Model, kind: &str, environment: &[(&str, &str)]) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "killed_runs::child::child_process", "--nocapture", "--test-threads=1"])
        .env("RUN_FOLDER", &files.0)
        .env("RUN_URL", model.url())
        .env("RUN_KIND", kind)
        .envs(environment.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Resumes a run once the lease of its process has ended; none where it had not begun.
async fn resume(client: &ChatClient, run: &str) -> Option<ChatResponse> {
    let begun = Instant::now();
    loop {
        match client.resume_run(run).call().await {
            Ok(response) => return Some(response),
            Err(error) => match error.cause() {
                Cause::Run(RunError::Owned { .. }) if begun.elapsed() < Duration::from_secs(60) => {
                    sleep(Duration::from_millis(20)).await;
                }
                Cause::Run(RunError::Unusable { .. }) => return None,
                _ => panic!("{error}"),
            },
        }
    }
}

/// The end of a run that was resumed.
struct Finished {
    /// How many calls were uncertain.
    uncertain: usize,
    /// What the calls answered, with their ids.
    outcomes: Vec<(String, String)>,
}

/// Goes on with a run, says of a call of which it is not known what became of it that it happened, and checks the end; none where
/// nothing was asked.
async fn finish(journal: &SqliteJournal, client: &ChatClient, run: &RunSummary) -> Option<Finished> {
    let (id, prompt) = (&run.id, &run.title);
    let mut uncertain = 0;
    let answer = loop {
        let Some(response) = resume(client, id).await else {
            assert_eq!(journal.run(id).await.unwrap().summary.shown_state(), "failed", "{prompt}");
            return None;
        };
        if response.end() != TurnEnd::Suspended {
            break response;
        }
        uncertain += 1;
        let record = journal.run(id).await.unwrap();
        assert_eq!(record.summary.shown_state(), "uncertain", "{prompt}");
        let call = record.calls.iter().find(|call| call.outcome.is_none()).unwrap();
        let decision = UncertainDecision::Happened(ToolOutput::text("paid, says the bank"));
        journal.decide_call(id, &call.place, decision).await.unwrap();
    };
    assert_eq!((answer.text().as_str(), answer.messages().len()), ("Both are paid.", 6), "{prompt}");
    assert_sound(&answer.exchange().history);
    assert_eq!(answer.usage.input_tokens, 30, "{prompt}");
    let record = journal.run(id).await.unwrap();
    assert_eq!((record.summary.shown_state(), record.calls.len()), ("done", 2), "{prompt}");
    let outcomes = answer.exchange().history.iter().flat_map(|message| message.answers());
    let outcomes = outcomes.map(|answer| (answer.call_id.to_string(), answer.text.to_string())).collect();
    Some(Finished { uncertain, outcomes })
}

/// Goes on with the only run of a child.
async fn finish_one(files: &Files, model: &Model) -> Option<Finished> {
    let journal = files.open(|_| ()).await;
    let client = client(files, &model.url(), "other", None, journal.clone());
    let run = journal.runs(10).await.unwrap().pop()?;
    let finished = finish(&journal, &client, &run).await;
    journal.close().await;
    finished
}

/// What became of the turns that were killed at a point.
#[derive(Default)]
struct Tally {
    point: String,
    runs: usize,
    /// Turns of which nothing was asked, or not even a run was recorded.
    unbegun: usize,
    answered: usize,
    uncertain: usize,
    effects: usize,
}

/// Goes on with every turn of a child that was killed, and checks how often its calls had their effects.
async fn check(files: &Files, model: &Model, kind: &str, tally: &mut Tally, batch: usize) {
    let journal = files.open(|_| ()).await;
    let client = client(files, &model.url(), kind, None, journal.clone());
    let (runs, before) = (journal.runs(usize::MAX).await.unwrap(), files.effects());
    assert!(runs.is_empty() || runs.len() == batch, "{} of {batch} runs", runs.len());
    tally.runs += batch;
    tally.unbegun += batch - runs.len();
    for run in &runs {
        let at = format!("{kind}, killed at {}: {}", tally.point, run.title);
        let Some(Finished { uncertain, outcomes }) = finish(&journal, &client, run).await else {
            tally.unbegun += 1;
            assert_eq!(before.get(&run.id), None, "{at}");
            continue;
        };
        tally.answered += 1;
        tally.uncertain += uncertain;
        let asked = model.asked(&run.title);
        // Of three answers at most one came and was not recorded.
        assert!((3..=4).contains(&asked.times), "{at}: asked {} times", asked.times);
        assert_eq!(
            asked.outcomes.into_iter().collect::<Vec<_>>(),
            outcomes,
            "{at}: what the model has seen is not lost"
        );
        let effects = files.effects();
        let after = effects.get(&run.id).copied().unwrap_or_default();
        tally.effects += after.iter().sum::<usize>();
        if kind == "other" {
            assert!(after.iter().all(|count| *count <= 1), "{at}: {after:?}");
            assert!(uncertain > 0 || after == [1, 1], "{at}: {after:?}");
        } else {
            assert!(after.iter().all(|count| (1..=2).contains(count)) && uncertain == 0, "{at}: {after:?}");
            let mut keys = files.lines("effects");
            keys.retain(|key| key.starts_with(&format!("{}/", run.id)));
            keys.sort();
            keys.dedup();
            assert_eq!(keys.len(), 2, "{at}: the same key for every attempt");
        }
    }
    journal.close().await;
}

/// Kills children at a point, two at a time, until there were enough turns; none where a turn does not come to so many points.
async fn killed_at(kind: &str, at: usize, model: &Model) -> Option<Tally> {
    let root = root();
    let mut tally = Tally::default();
    for (number, two) in batches().chunks(2).enumerate() {
        let children = two.iter().enumerate().map(|(place, &batch)| {
            let files = Files::make(&root, &format!("{kind}-{at}-{number}-{place}"));
            let environment = [("RUN_AT", at.to_string()), ("RUN_AT_ONCE", batch.to_string())];
            let child =
                spawn(&files, model, kind, &environment.each_ref().map(|(name, value)| (*name, value.as_str())));
            (child, files, batch)
        });
        let children: Vec<_> = children.collect();
        let mut ended = 0;
        for (mut child, files, batch) in children {
            let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
            let acted = files.lines("acted");
            if status.signal() != Some(9) {
                assert!(status.success() && acted.is_empty(), "{kind} {at}: {status}, {acted:?}");
                assert_eq!(files.lines("answers"), vec!["Answered Both are paid."; batch]);
                ended += 1;
                continue;
            }
            tally.point = format!("{at:2} {}", acted[0]);
            assert_eq!(acted, vec![acted[0].clone(); batch], "{kind} {at}");
            check(&files, model, kind, &mut tally, batch).await;
            fs::remove_dir_all(&files.0).unwrap();
        }
        if ended > 0 {
            assert_eq!((ended, tally.runs), (two.len(), 0), "{kind} {at}: every turn has as many points");
            return None;
        }
    }
    Some(tally)
}

async fn killed_at_every_point(kind: &str) {
    let (model, runs) = (Model::start(), batches().iter().sum::<usize>());
    let (mut points, mut unbegun, mut uncertain) = (0, 0, 0);
    while let Some(tally) = killed_at(kind, points + 1, &model).await {
        let Tally { point, runs, unbegun: nothing, answered, uncertain: open, effects } = tally;
        println!(
            "crash: {:22} {point:18} {runs:5} runs, {answered:5} answered, {open:5} uncertain, {effects:5} effects, \
             {nothing:5} not begun",
            format!("chat, {kind}")
        );
        (points, unbegun, uncertain) = (points + 1, unbegun + nothing, uncertain + open);
        assert_eq!(answered + nothing, runs, "{kind}: every turn that began has its answer");
    }
    assert!(points >= 24, "{kind}: {points} points");
    // Before and after the run, and before its request.
    assert_eq!(unbegun, 3 * runs, "{kind}");
    // After the start, before the effect, after it, and before the outcome: of each of two calls.
    assert_eq!(uncertain, if kind == "other" { 8 * runs } else { 0 }, "{kind}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_effect_happens_twice_wherever_a_process_is_killed() {
    killed_at_every_point("other").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotent_calls_run_again_with_their_key_wherever_a_process_is_killed() {
    killed_at_every_point("idempotent").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_calls_run_again_wherever_a_process_is_killed() {
    killed_at_every_point("read_only").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_that_resume_a_run_one_gets_it() {
    let (root, model) = (TempDir::new().unwrap(), Model::start());
    let files = Files::make(&root, "two");
    // Killed when the first call has its outcome.
    let mut at = 12;
    while files.effects_of_one() != [1, 0] || files.lines("answers").len() == 1 {
        let _ = fs::remove_dir_all(&files.0);
        fs::create_dir(&files.0).unwrap();
        spawn(&files, &model, "other", &[("RUN_AT", &at.to_string())]).wait().unwrap();
        at += 2;
    }
    sleep(LEASE * 2).await;
    let journal = files.open(|_| ()).await;
    let run = journal.runs(10).await.unwrap().pop().unwrap().id;
    files.add("hold", "");
    let children = [(); 2].map(|()| spawn(&files, &model, "other", &[("RUN_ID", &run)]));
    files.wait_for("answers", 1);
    assert!(files.lines("answers")[0].contains("which is alive"), "{:?}", files.lines("answers"));
    fs::remove_file(files.0.join("hold")).unwrap();
    for mut child in children {
        child.wait().unwrap();
    }
    assert_eq!(files.lines("answers")[1], "Answered Both are paid.");
    assert_eq!(files.effects_of_one(), [1, 1]);
}

/// Starts a child that stops at a point.
async fn stopped_child(root: &TempDir, model: &Model, at: usize) -> (Files, Child) {
    for attempt in 1.. {
        let files = Files::make(root, &format!("stop-{at}-{attempt}"));
        let mut child = spawn(&files, model, "other", &[("RUN_AT", &at.to_string()), ("RUN_ACT", "stop")]);
        files.wait_for("acted", 1);
        if !files.are_locked().await {
            return (files, child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    unreachable!()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_stopped_for_too_long_does_nothing_more() {
    let (root, model) = (TempDir::new().unwrap(), Model::start());
    let mut refused = 0;
    for at in 3..=18 {
        let (files, mut child) = stopped_child(&root, &model, at).await;
        sleep(LEASE * 2).await;
        let place = format!("stopped at point {at}");
        let begun = finish_one(&files, &model).await;
        kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
        child.wait().unwrap();
        let after = files.effects_of_one();
        assert!(after.iter().all(|count| *count <= 1), "{place}: {after:?}");
        if begun.is_some() {
            let answers = files.lines("answers");
            assert!(
                answers[0].contains("another one has taken it over") || answers[0].contains("Both are paid"),
                "{place}: {answers:?}"
            );
            refused += usize::from(answers[0].starts_with("error"));
            // What the other process recorded stands.
            finish_one(&files, &model).await;
        }
    }
    assert!(refused >= 10, "{refused}");
}
