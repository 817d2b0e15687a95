//! Processes that are killed or stopped at every commit of a chat turn, with a model over real HTTP.
//!
//! A child is this very test binary, which runs the test `child_process`; its environment says what to do.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use opentool_chat::provider::OpenAi;
use opentool_chat::{Cause, ChatClient, ChatResponse, TurnEnd};
use opentool_core::testing::FakeTool;
use opentool_core::{RunError, ToolMetadata, ToolOutput, UncertainDecision};
use opentool_journal::{JournalOptions, SqliteJournal};
use rustix::process::{Pid, Signal, getpid, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::support::assert_sound;

/// How long the lease of a process is.
const LEASE: Duration = Duration::from_millis(150);

/// The files of one run: its journal, its effects, and what happened to its processes.
#[derive(Clone)]
struct Files(PathBuf);

impl Files {
    fn add(&self, file: &str, line: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.0.join(file)).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    async fn open(&self, hook: impl Fn() + Send + Sync + 'static) -> SqliteJournal {
        let options = JournalOptions::new().lease(LEASE).commit_hook(move |_| hook());
        options.open(self.0.join("runs.sqlite")).await.unwrap()
    }

    /// Waits until a child has written a line.
    fn wait_for(&self, file: &str, count: usize) {
        let begun = Instant::now();
        while self.lines(file).len() < count {
            assert!(begun.elapsed() < Duration::from_secs(60), "{file} has {:?}", self.lines(file));
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A model that speaks the wire format of OpenAI: it pays twice and then says so, whichever process asks.
struct Model {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Model {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
        let seen = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = seen.clone();
                thread::spawn(move || answer(stream, &seen));
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

fn answer(stream: TcpStream, seen: &Mutex<Vec<usize>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request: Value = serde_json::from_slice(&body).ok()?;
    let rounds = request["messages"].as_array()?.iter().filter(|message| message["tool_calls"].is_array()).count();
    seen.lock().unwrap().push(rounds);
    let call = |delta: bool| {
        let mut call = json!({ "id": format!("call_{rounds}"), "type": "function",
            "function": { "name": "pay", "arguments": format!(r#"{{"round":{}}}"#, rounds + 1) } });
        if delta {
            call["index"] = 0.into();
        }
        json!({ "role": "assistant", "content": null, "tool_calls": [call] })
    };
    let said = json!({ "role": "assistant", "content": "Both are paid." });
    let (message, reason) = if rounds < 2 { (call(request["stream"] == true), "tool_calls") } else { (said, "stop") };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let (kind, text) = if request["stream"] == true {
        let chunk = |choices: Value, usage: Value| json!({ "id": "c", "object": "chat.completion.chunk", "model": "tiny", "choices": choices, "usage": usage });
        let events = [
            chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }]), Value::Null),
            chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]), Value::Null),
            chunk(json!([]), usage),
        ];
        ("text/event-stream", events.map(|event| format!("data: {event}\n\n")).concat() + "data: [DONE]\n\n")
    } else {
        let choices = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
        let whole =
            json!({ "id": "c", "object": "chat.completion", "model": "tiny", "choices": choices, "usage": usage });
        ("application/json", whole.to_string())
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    let mut stream = stream;
    stream.write_all((head + &text).as_bytes()).ok()
}

/// What a process does when it comes to a point: is killed or stops at the one that it is meant to.
fn reach(files: &Files) {
    static POINTS: AtomicUsize = AtomicUsize::new(0);
    let at: usize = env::var("RUN_AT").ok().and_then(|at| at.parse().ok()).unwrap_or(usize::MAX);
    if POINTS.fetch_add(1, SeqCst) + 1 != at {
        return;
    }
    files.add("acted", &at.to_string());
    let stops = env::var("RUN_ACT").is_ok_and(|act| act == "stop");
    kill_process(getpid(), if stops { Signal::STOP } else { Signal::KILL }).unwrap();
    // The signal may take a moment to arrive.
    thread::sleep(Duration::from_millis(if stops { 20 } else { 60_000 }));
}

fn client(files: &Files, url: &str, kind: &str, acts: bool, journal: SqliteJournal) -> ChatClient {
    let metadata = match kind {
        "read_only" => ToolMetadata::new().with_read_only(true),
        "idempotent" => ToolMetadata::new().with_idempotent(true),
        _ => ToolMetadata::new(),
    };
    let files = files.clone();
    let pay = FakeTool::new("pay").with_metadata(metadata).acts(move |arguments, context| {
        let files = files.clone();
        async move {
            if acts {
                reach(&files);
            }
            let key = context.call_key().map(ToString::to_string).unwrap_or_default();
            files.add("effects", &key);
            if acts {
                reach(&files);
            }
            while files.0.join("hold").exists() {
                sleep(Duration::from_millis(5)).await;
            }
            Ok(ToolOutput::text(format!("paid {}", arguments.as_str())))
        }
    });
    let provider = OpenAi::new("tiny").base_url(url).api_key("k");
    ChatClient::builder(provider).default_tools(pay).journal(journal).build()
}

/// What the children do. In an ordinary run of the tests there is nothing to do.
#[tokio::test]
async fn child_process() {
    let Ok(folder) = env::var("RUN_FOLDER") else { return };
    let files = Files(folder.into());
    let (url, kind) = (env::var("RUN_URL").unwrap(), env::var("RUN_KIND").unwrap());
    let hooked = files.clone();
    let journal = files.open(move || reach(&hooked)).await;
    let client = client(&files, &url, &kind, true, journal.clone());
    let request = match env::var("RUN_ID") {
        Ok(id) => client.resume_run(id),
        Err(_) => client.prompt("Pay both."),
    };
    let streams = env::var("RUN_AT").ok().and_then(|at| at.parse::<usize>().ok()).is_some_and(|at| at % 2 == 1);
    let ended = if streams { request.stream().finish().await } else { request.call().await };
    match ended {
        Ok(response) => files.add("answers", &format!("{:?} {}", response.end(), response.text())),
        Err(error) => files.add("answers", &format!("error: {error}")),
    }
    journal.close().await;
}

fn spawn(files: &Files, model: &Model, kind: &str, environment: &[(&str, &str)]) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "killed_runs::child_process", "--nocapture", "--test-threads=1"])
        .env("RUN_FOLDER", &files.0)
        .env("RUN_URL", model.url())
        .env("RUN_KIND", kind)
        .envs(environment.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn folder(root: &TempDir, name: &str) -> Files {
    let folder = root.path().join(name);
    fs::create_dir(&folder).unwrap();
    Files(folder)
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

/// Goes on with the only run, says of a call of which it is not known what became of it that it happened, and checks the end.
///
/// Returns how many calls were uncertain.
async fn finish(files: &Files, model: &Model, kind: &str, at: &str) -> Option<usize> {
    let journal = files.open(|| ()).await;
    let run = journal.runs(10).await.unwrap().pop()?.id;
    let client = client(files, &model.url(), kind, false, journal.clone());
    let mut uncertain = 0;
    let answer = loop {
        let response = resume(&client, &run).await?;
        if response.end() != TurnEnd::Suspended {
            break response;
        }
        uncertain += 1;
        let calls = journal.run(&run).await.unwrap().calls;
        let call = calls.iter().find(|call| call.outcome.is_none()).unwrap();
        let decision = UncertainDecision::Happened(ToolOutput::text("paid, says the bank"));
        journal.decide_call(&run, &call.place, decision).await.unwrap();
    };
    assert_eq!((answer.text().as_str(), answer.messages().len()), ("Both are paid.", 6), "{at}");
    assert_sound(&answer.exchange().history);
    assert_eq!(answer.usage.input_tokens, 30, "{at}");
    if journal.runs(1).await.unwrap()[0].state.as_str() == "running" {
        // Its process was killed after its last step, and the run is closed once the lease of that process has ended.
        sleep(LEASE * 2).await;
        resume(&client, &run).await?;
    }
    let record = journal.run(&run).await.unwrap();
    assert_eq!((record.summary.state.as_str(), record.calls.len()), ("done", 2), "{at}");
    journal.close().await;
    Some(uncertain)
}

/// How often each call had its effect.
fn effects(files: &Files) -> [usize; 2] {
    let keys = files.lines("effects");
    ["/1.0/", "/2.0/"].map(|place| keys.iter().filter(|key| key.contains(place)).count())
}

async fn killed_at_every_point(kind: &str) {
    let (root, model) = (TempDir::new().unwrap(), Model::start());
    let (mut uncertain, mut unbegun) = (0, 0);
    let mut points = 0;
    loop {
        let number = points + 1;
        let files = folder(&root, &number.to_string());
        let asked_before = model.asked.lock().unwrap().len();
        let ended = spawn(&files, &model, kind, &[("RUN_AT", &number.to_string())]).wait().unwrap();
        if ended.signal() != Some(9) {
            assert!(ended.success() && files.lines("acted").is_empty(), "{kind} {number}");
            assert_eq!(files.lines("answers"), ["Answered Both are paid."]);
            break;
        }
        points = number;
        let at = format!("{kind}, killed at point {number}");
        let before = effects(&files);
        match finish(&files, &model, kind, &at).await {
            None => {
                unbegun += 1;
                assert_eq!(before, [0, 0], "{at}");
            }
            Some(calls) => {
                uncertain += calls;
                let after = effects(&files);
                if kind == "other" {
                    assert!(after.iter().all(|count| *count <= 1), "{at}: {after:?}");
                    assert!(calls > 0 || after == [1, 1], "{at}: {after:?}");
                } else {
                    assert!(after.iter().all(|count| (1..=2).contains(count)) && calls == 0, "{at}: {after:?}");
                    let mut keys = files.lines("effects");
                    keys.sort();
                    keys.dedup();
                    assert_eq!(keys.len(), 2, "{at}: the same key for every attempt");
                }
                // Of three answers at most one came and was not recorded.
                let asked = model.asked.lock().unwrap().len() - asked_before;
                assert!((3..=4).contains(&asked), "{at}: asked {asked} times");
            }
        }
    }
    assert!(points >= 24, "{kind}: {points} points");
    assert!((1..=6).contains(&unbegun), "{kind}: {unbegun} runs had not begun");
    // After the start, before the effect, after it, and before the outcome: of each of two calls.
    assert_eq!(uncertain, if kind == "other" { 8 } else { 0 }, "{kind}");
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
async fn of_two_processes_that_resume_a_run_one_gets_it() {
    let (root, model) = (TempDir::new().unwrap(), Model::start());
    let files = folder(&root, "two");
    // Killed when the first call has its outcome.
    let mut at = 12;
    while effects(&files) != [1, 0] || files.lines("answers").len() == 1 {
        let _ = fs::remove_dir_all(&files.0);
        fs::create_dir(&files.0).unwrap();
        spawn(&files, &model, "other", &[("RUN_AT", &at.to_string())]).wait().unwrap();
        at += 2;
    }
    sleep(LEASE * 2).await;
    let journal = files.open(|| ()).await;
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
    assert_eq!(effects(&files), [1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_stopped_for_too_long_does_nothing_more() {
    let (root, model) = (TempDir::new().unwrap(), Model::start());
    let mut refused = 0;
    for at in 3..=18 {
        let files = folder(&root, &format!("stop-{at}"));
        let mut child = spawn(&files, &model, "other", &[("RUN_AT", &at.to_string()), ("RUN_ACT", "stop")]);
        files.wait_for("acted", 1);
        sleep(LEASE * 2).await;
        let place = format!("stopped at point {at}");
        let begun = finish(&files, &model, "other", &place).await;
        kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
        child.wait().unwrap();
        let after = effects(&files);
        assert!(after.iter().all(|count| *count <= 1), "{place}: {after:?}");
        if begun.is_some() {
            let answers = files.lines("answers");
            assert!(
                answers[0].contains("another one has taken it over") || answers[0].contains("Both are paid"),
                "{place}: {answers:?}"
            );
            refused += usize::from(answers[0].starts_with("error"));
            // What the other process recorded stands.
            finish(&files, &model, "other", &place).await;
        }
    }
    assert!(refused >= 10, "{refused}");
}
