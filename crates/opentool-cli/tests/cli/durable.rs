//! Calls with a key survive the server: what `docs/durable.md` shows, and servers that are killed.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use opentool::prelude::{Executor, FnTool, ToolCall, ToolContext};
use opentool_journal::{Run, RunStatus, SqliteJournal};

use super::readme::walk;
use super::serving::{Connection, Served, envelope, wait_until};
use super::*;

const GUIDE: &str = include_str!("../../../../docs/durable.md");

#[test]
fn every_console_sample_of_the_guide_prints_what_it_shows() {
    let folder = TestFolder::new();
    let blocks = GUIDE.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("console\n"));
    // Those with a model are with the tests of chats.
    let blocks = blocks.filter(|block| !block.contains("opentool chat"));
    let commands: usize = blocks.map(|block| walk(&folder, block, "")).sum();
    assert!(commands >= 8, "{commands}");
}

#[test]
fn a_journal_that_cannot_be_used_is_a_clear_error() {
    let folder = TestFolder::with("letter.txt", "this is a letter and no database, ".repeat(100));
    for (arguments, said) in [
        (&["serve", "--port", "0", "--journal", "letter.txt"][..], "letter.txt is no SQLite database"),
        (&["serve", "--port", "0", "--journal", "no/folder/j.sqlite"], "j.sqlite cannot be opened"),
        (&["runs", "--journal", "nothing.sqlite"], "cannot read nothing.sqlite"),
        (&["runs"], "`opentool runs` needs `--journal FILE`"),
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}

/// A run with two steps, and a call with an effect after each.
async fn run_with_effects(path: &Path, paid: &Arc<AtomicUsize>) -> (SqliteJournal, String) {
    let journal = SqliteJournal::open(path).await.unwrap();
    let run = journal.start_run("batch", "two payments").await.unwrap();
    for n in 1..=2 {
        run.add_step("bill", &serde_json::json!({ "n": n, "card-token": "tok-8f2b1c" })).await.unwrap();
        pay_in(&run, n, paid).await;
        // Times are in milliseconds.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    run.finish(RunStatus::Done).await.unwrap();
    (journal, run.id().to_owned())
}

/// Pays in a run, and returns the key of the call.
async fn pay_in(run: &Run, n: u32, paid: &Arc<AtomicUsize>) -> String {
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let (paid, seen) = (paid.clone(), keys.clone());
    let pay = FnTool::new("pay", move |context: ToolContext| {
        paid.fetch_add(1, SeqCst);
        seen.lock().unwrap().push(context.call_key().unwrap().to_string());
        "paid"
    });
    let context = run.context(&ToolContext::new()).with_place(n.to_string());
    let outcome = Executor::new().host(pay).run(ToolCall::new("1", "pay", "{}"), &context).await;
    assert!(outcome.output().is_some(), "{outcome:?}");
    let keys = keys.lock().unwrap();
    keys[0].clone()
}

#[test]
fn a_fork_asks_before_effects_are_repeated_and_has_new_keys() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = TestFolder::new();
    let (path, paid) = (folder.path("runs.sqlite"), Arc::new(AtomicUsize::new(0)));
    let (journal, id) = runtime.block_on(run_with_effects(&path, &paid));
    let runs = |arguments: &[&str]| folder.run(&[&["runs", "--journal", "runs.sqlite"], arguments].concat());

    // No one can be asked here.
    let asked = runs(&["fork", &id, "1"]);
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains(&format!("2 calls of run {id} with effects came after step 1")), "{}", asked.stderr);
    assert!(asked.stderr.contains("call 2  pay {}  done") && asked.stderr.contains("give `--yes`"), "{}", asked.stderr);
    let asked = runs(&["fork", &id, "2"]);
    assert!(asked.stderr.contains("1 call of run"), "the first payment is before the second step: {}", asked.stderr);
    assert_eq!(runs(&["list", "--json"]).stdout.lines().count(), 1, "nothing was forked");

    let forked = runs(&["fork", &id, "2", "--yes"]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    let fork = forked.stdout.trim();
    let shown = runs(&["show", fork]).stdout;
    assert!(shown.contains(&format!("forked from {id} after step 2")) && shown.contains("step 2  bill"), "{shown}");
    assert!(!shown.contains("call "), "{shown}");

    // It runs from its step, with new keys: the payment after it happens again.
    let key = runtime.block_on(async {
        let run = journal.claim(fork).await.unwrap();
        let key = pay_in(&run, 2, &paid).await;
        assert!(run.add_step("bill", &3).await.unwrap() == 3, "it goes on after its step");
        run.finish(RunStatus::Done).await.unwrap();
        journal.close().await;
        key
    });
    assert_eq!(paid.load(SeqCst), 3);
    assert!(key.starts_with(&format!("{fork}/2/pay/")), "{key}");
}

#[test]
fn an_export_is_without_the_secrets_that_are_named() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = TestFolder::new();
    let (journal, id) = runtime.block_on(run_with_effects(&folder.path("runs.sqlite"), &Arc::default()));
    runtime.block_on(journal.close());
    let plain = folder.run(&["runs", "--journal", "runs.sqlite", "export", &id]).stdout;
    assert!(plain.contains("tok-8f2b1c"), "{plain}");
    let redacted = folder.run(&["runs", "--journal", "runs.sqlite", "export", &id, "--redact", "Card-Token"]).stdout;
    assert!(!redacted.contains("tok-8f2b1c") && redacted.contains(r#""card-token":"[redacted]""#), "{redacted}");
    assert_eq!(redacted.lines().count(), plain.lines().count());
}

#[test]
fn what_is_deleted_and_exported_can_be_had_as_json() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = TestFolder::new();
    let (journal, id) = runtime.block_on(run_with_effects(&folder.path("runs.sqlite"), &Arc::default()));
    runtime.block_on(journal.close());
    let runs = |arguments: &[&str]| folder.run(&[&["runs", "--journal", "runs.sqlite"], arguments].concat());
    assert_eq!(runs(&["export", &id, "--json"]).stdout, runs(&["export", &id]).stdout);
    let deleted = runs(&["delete", &id, "--json"]);
    assert_eq!(json(&deleted.stdout), serde_json::json!({ "run": id }), "{deleted:?}");
    let missing = runs(&["delete", &id, "--json"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(2), ""), "{missing:?}");
}

/// A server with a function `pay` whose effects are counted by its argument, and which takes its time.
fn backend(effects: Arc<Mutex<HashMap<u64, usize>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let effects = effects.clone();
            thread::spawn(move || answer_all(stream, &effects));
        }
    });
    address
}

fn answer_all(stream: TcpStream, effects: &Mutex<HashMap<u64, usize>>) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if first.is_empty() {
                first.clone_from(&line);
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
        let text = if first.contains("/load") {
            r#"{"opentool":"1.1.0","info":{"title":"Bank","version":"1.0.0"},"functions":[{"name":"pay","description":"Pay.","parameters":[{"name":"n","description":"Which.","schema":{"type":"integer"},"required":true}],"return":{"name":"paid","description":"What was paid.","schema":{"type":"integer"}}}]}"#.to_owned()
        } else if first.contains("/version") {
            r#"{"version":"1.0.0"}"#.to_owned()
        } else {
            let request = json(std::str::from_utf8(&body).ok()?);
            let n = request["params"]["n"].as_u64()?;
            *effects.lock().unwrap().entry(n).or_default() += 1;
            thread::sleep(Duration::from_millis(n % 30));
            format!(r#"{{"jsonrpc":"2.0","result":{{"paid":{n}}},"error":null,"id":{}}}"#, request["id"])
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
        writer.write_all((head + &text).as_bytes()).ok()?;
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_key_has_two_effects_however_often_the_server_is_killed() {
    let requests: u64 = std::env::var("CRASH_HTTP").ok().and_then(|count| count.parse().ok()).unwrap_or(120);
    let effects: Arc<Mutex<HashMap<u64, usize>>> = Arc::default();
    let source = format!("http://{}", backend(effects.clone()));
    let folder = TestFolder::new();
    let keys = requests.div_ceil(3);
    let mut answers: HashMap<u64, String> = HashMap::new();
    let mut uncertain: HashSet<u64> = HashSet::new();
    let (mut sent, mut unanswered) = (0, 0);
    // Each key is sent three times, in another life of the server each time where it was killed in between.
    for round in 0..3 {
        for some in (0..keys).collect::<Vec<_>>().chunks(20) {
            let mut served = Served::start(&folder, &[&source, "--journal", "calls.sqlite"], &[]);
            let address = served.address;
            let answered = Arc::new(AtomicUsize::new(0));
            let calls: Vec<_> = some
                .iter()
                .map(|&n| {
                    let answered = answered.clone();
                    thread::spawn(move || {
                        let key = format!("order-{n}");
                        let mut connection = Connection::open(address);
                        let headers = [("idempotency-key", key.as_str())];
                        let body = envelope("pay", serde_json::json!({ "n": n }));
                        connection.send("POST", "/opentool/call", &headers, &body);
                        let body = connection.receive().map(|reply| reply.body);
                        answered.fetch_add(usize::from(body.is_some()), SeqCst);
                        (n, body)
                    })
                })
                .collect();
            sent += calls.len();
            if round < 2 {
                // When a half of the calls has its answer, and later when a quarter has.
                let enough = some.len() / (2 + 2 * round);
                wait_until(|| answered.load(SeqCst) >= enough, || format!("{answered:?} of {enough} are answered"));
                served.signal("KILL");
                served.wait();
            }
            for call in calls {
                let Ok((n, Some(body))) = call.join() else {
                    unanswered += 1;
                    continue;
                };
                match (&json(&body)["error"]["code"], answers.get(&n)) {
                    (code, None) if code == 409 => drop(uncertain.insert(n)),
                    (code, Some(before)) if code == 409 => panic!("{n} was answered with {before} and then {body}"),
                    (_, Some(before)) => assert_eq!(*before, body, "{n}"),
                    (code, None) => {
                        assert!(code.is_null(), "{n}: {body}");
                        answers.insert(n, body);
                    }
                }
            }
        }
    }
    let effects = effects.lock().unwrap();
    println!(
        "crash: {sent} requests with {keys} keys, {unanswered} of them to a server that was killed: {} keys answered, {} uncertain, {} effects",
        answers.len(),
        uncertain.len(),
        effects.len()
    );
    assert_eq!(effects.values().copied().max(), Some(1), "no key has two effects");
    assert!(answers.keys().all(|key| effects.contains_key(key)), "no answer is without its effect");
    assert!(uncertain.iter().all(|key| !answers.contains_key(key)), "what is uncertain stays uncertain");
    assert_eq!((answers.len() + uncertain.len()) as u64, keys, "every key has an answer in the end, or is uncertain");
    assert_eq!(sent as u64, 3 * keys);
}
