//! Chats that are recorded: what `docs/durable.md` shows, processes that are killed, and decisions of other processes.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::Duration,
};

use serde_json::json as value;

use super::{
    super::{binary, page::SignedIn, readme::walk_in},
    serving::Served,
    *,
};

/// Longer than the lease of a process.
const BEYOND_LEASE: Duration = Duration::from_secs(17);

/// A server with a function `pay`, which counts its effects and answers when it may.
#[derive(Clone, Default)]
struct Bank(Arc<BankState>);

#[derive(Default)]
struct BankState {
    /// The keys that each payment came with.
    payments: Mutex<HashMap<u64, Vec<String>>>,
    is_held: Mutex<bool>,
    released: Condvar,
}

impl Bank {
    fn start(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bank = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let bank = bank.clone();
                thread::spawn(move || bank.answer_all(stream));
            }
        });
        address
    }

    fn hold(&self, is_held: bool) {
        *self.0.is_held.lock().unwrap() = is_held;
        self.0.released.notify_all();
    }

    fn keys(&self, n: u64) -> Vec<String> {
        self.0.payments.lock().unwrap().get(&n).cloned().unwrap_or_default()
    }

    fn wait_for_payment(&self, n: u64) {
        serving::wait_until(|| !self.keys(n).is_empty(), || format!("payment {n}"));
    }

    fn answer_all(&self, stream: TcpStream) -> Option<()> {
        let mut writer = stream.try_clone().ok()?;
        let mut reader = BufReader::new(stream);
        loop {
            let (mut head, mut line) = (String::new(), String::new());
            while line != "\r\n" {
                line.clear();
                if reader.read_line(&mut line).ok()? == 0 {
                    return None;
                }
                head.push_str(&line);
            }
            let header = |name: &str| {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
            };
            let mut body = vec![0; header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
            reader.read_exact(&mut body).ok()?;
            let text = if head.contains("/load") {
                r#"{"opentool":"1.1.0","info":{"title":"Bank","version":"1.0.0"},"functions":[{"name":"pay","description":"Pay.","parameters":[{"name":"n","description":"Which.","schema":{"type":"integer"},"required":true}],"return":{"name":"paid","description":"What was paid.","schema":{"type":"integer"}}}]}"#.to_owned()
            } else if head.contains("/version") {
                r#"{"version":"1.0.0"}"#.to_owned()
            } else {
                let request = json(std::str::from_utf8(&body).ok()?);
                let n = request["params"]["n"].as_u64()?;
                let key = header("idempotency-key").unwrap_or_default();
                self.0.payments.lock().unwrap().entry(n).or_default().push(key);
                let held = self.0.is_held.lock().unwrap();
                drop(self.0.released.wait_while(held, |is_held| *is_held).unwrap());
                format!(r#"{{"jsonrpc":"2.0","result":{{"paid":{n}}},"error":null,"id":{}}}"#, request["id"])
            };
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
            writer.write_all((head + &text).as_bytes()).ok()?;
        }
    }
}

/// Runs `opentool runs --journal runs.sqlite …` where a model can be asked.
fn runs(folder: &TestFolder, model: &Model, arguments: &[&str]) -> Ran {
    let mut command = folder.command();
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.env("XDG_DATA_HOME", folder.path("data")).envs(environment(model));
    let output = command.args(["runs", "--journal", "runs.sqlite"]).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The ids of the runs, the newest first.
fn ids(folder: &TestFolder, model: &Model) -> Vec<String> {
    let listed = runs(folder, model, &["list", "--json"]).stdout;
    listed.lines().map(|line| json(line)["id"].as_str().unwrap().to_owned()).collect()
}

/// A recorded chat in the background.
fn start(folder: &TestFolder, model: &Model, arguments: &[&str]) -> Child {
    let mut command = Command::new(binary());
    command.current_dir(folder.0.path()).env("XDG_STATE_HOME", folder.path("state"));
    command.env("XDG_DATA_HOME", folder.path("data")).envs(environment(model));
    command.args(["chat", "--journal", "runs.sqlite"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn every_console_sample_of_the_guide_about_chats_prints_what_it_shows() {
    let guide = include_str!("../../../../../docs/durable.md");
    let folder = TestFolder::new();
    let model = Model::start(vec![
        Reply::SaysAndCalls("I note it.", ("add_note", r#"{"title":"Bill","text":"It is paid."}"#)),
        Reply::says("It is noted."),
    ]);
    let environment = environment(&model);
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let blocks = guide.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("console\n"));
    let blocks = blocks.filter(|block| block.contains("opentool chat"));
    let commands: usize = blocks.map(|block| walk_in(&folder, block, "", &environment)).sum();
    assert!(commands >= 6, "{commands}");
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn an_approval_is_given_by_another_process_and_acted_on_by_a_third() {
    let (folder, bank) = (TestFolder::new(), Bank::default());
    let url = format!("http://{}", bank.start());
    let calls = || Reply::Calls(vec![("pay", r#"{"n":1}"#), ("pay", r#"{"n":2}"#), ("pay", r#"{"n":3}"#)]);
    let model = Model::start(vec![calls(), Reply::says("Paid.")]);
    let first = chat(&folder, &model, &["--journal", "runs.sqlite", &url, "Pay all."], "");
    assert_eq!(first.code, Some(7), "{}", first.stderr);
    let run = ids(&folder, &model).remove(0);
    assert!(first.stderr.contains(&format!("decide {run} '1.0' --approve")), "{}", first.stderr);
    assert!(first.stderr.contains(&format!("to go on: opentool runs --journal runs.sqlite resume {run}")));
    assert_eq!(json(&runs(&folder, &model, &["list", "--json"]).stdout)["shown_state"], "waiting");

    let decide = |arguments: &[&str]| runs(&folder, &model, &[&["decide", &run], arguments].concat());
    assert_eq!(decide(&["1.0", "--approve"]).code, Some(0));
    let twice = decide(&["1.0", "--approve"]);
    assert_eq!(twice.code, Some(2));
    assert!(twice.stderr.contains("no call at `1.0` of run"), "{}", twice.stderr);
    let denied = decide(&["1.1", "--deny", "one is enough", "--json"]);
    assert_eq!(json(&denied.stdout), value!({ "run": run, "place": "1.1", "decision": "deny" }), "{denied:?}");
    assert!(decide(&["1.2", "--edit", "no JSON"]).stderr.contains("`--edit` takes the arguments as a JSON object"));
    assert_eq!(decide(&["1.2", "--edit", r#"{"n":30}"#]).code, Some(0));
    assert_eq!(bank.keys(1), Vec::<String>::new(), "nothing runs before the run goes on");

    let third = runs(&folder, &model, &["resume", &run]);
    assert_eq!((third.code, third.stdout.as_str()), (Some(0), "Paid.\n"), "{}", third.stderr);
    assert_eq!([1, 2, 3, 30].map(|n| bank.keys(n).len()), [1, 0, 0, 1]);
    assert_eq!(model.asked()[1].said_by("tool"), ["1", "one is enough", "30"]);
    let shown = runs(&folder, &model, &["show", &run]).stdout;
    for line in [
        "request  openai:scripted with 1 tool is asked: Pay all.",
        "decision  call 1.1 is denied: one is enough",
        "end  answered: Paid.",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // What is stored holds no key.
    let stored = std::fs::read(folder.path("runs.sqlite")).unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("s3cret-key"));
}

#[test]
#[cfg(unix)]
fn a_chat_that_was_killed_goes_on_without_a_second_payment() {
    let (folder, bank) = (TestFolder::new(), Bank::default());
    let url = format!("http://{}", bank.start());
    let model = Model::start(vec![
        Reply::calls("pay", r#"{"n":7}"#),
        Reply::calls("pay", r#"{"n":8}"#),
        Reply::Hangs,
        Reply::says("Paid again."),
        Reply::says("Done."),
        Reply::says("Paid."),
    ]);
    bank.hold(true);
    // Killed after the payment and before its outcome, once for each kind of tool, and while the model answers.
    for (n, options) in [(7, &["--yes"][..]), (8, &["--yes", "--idempotent", "pay"])] {
        let mut child = start(&folder, &model, &[options, &[&url, "Pay."]].concat());
        bank.wait_for_payment(n);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut child = start(&folder, &model, &["--conversation", "talk", "--memory", "talks.sqlite", &url, "Tell."]);
    model.wait_for_request(3);
    child.kill().unwrap();
    child.wait().unwrap();
    bank.hold(false);

    let found = ids(&folder, &model);
    let [first, again, once] = &found[..] else { panic!("{found:?}") };
    let refused = runs(&folder, &model, &["resume", first]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("which is alive: wait until it is done"), "{}", refused.stderr);
    thread::sleep(BEYOND_LEASE);
    let listed = runs(&folder, &model, &[]).stdout;
    assert_eq!(listed.matches("interrupted").count(), 3, "{listed}");

    let resumed = runs(&folder, &model, &["resume", again, "--yes"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Paid again.\n"), "{}", resumed.stderr);
    let keys = bank.keys(8);
    assert!(keys.len() == 2 && !keys[0].is_empty() && keys[0] == keys[1], "{keys:?}");
    let shown = runs(&folder, &model, &["show", again]).stdout;
    assert!(shown.contains("call 1.0  pay {\"n\":8}  done  attempt 2"), "{shown}");

    let resumed = runs(&folder, &model, &["resume", first]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Done.\n"), "{}", resumed.stderr);
    let goes_on = chat(&folder, &model, &["--journal", "runs.sqlite", "--resume", first], "");
    assert_eq!((goes_on.code, goes_on.stdout.as_str()), (Some(0), "Done.\n"), "{}", goes_on.stderr);

    let waits = runs(&folder, &model, &["resume", once, "--yes"]);
    assert_eq!(waits.code, Some(7), "{}", waits.stderr);
    assert!(waits.stderr.contains("was interrupted, and may have had its effect"), "{}", waits.stderr);
    let decided = runs(&folder, &model, &["decide", once, "1.0", "--happened", "7", "--json"]);
    assert_eq!(json(&decided.stdout)["decision"], "happened", "{decided:?}");
    for _ in 0..2 {
        let resumed = runs(&folder, &model, &["resume", once]);
        assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Paid.\n"), "{}", resumed.stderr);
    }
    assert_eq!((bank.keys(7).len(), model.asked().len()), (1, 6));
}

#[test]
fn a_run_that_cannot_go_on_is_a_clear_error() {
    let folder = TestFolder::new();
    let model = Model::start(vec![Reply::says("Hello.")]);
    let answered = chat(&folder, &model, &["--journal", "runs.sqlite", "--json", "Hi."], "");
    let run = json(&answered.stdout)["run"].as_str().unwrap().to_owned();
    for (arguments, said) in [
        (&["--resume", "r1"][..], "--journal"),
        (&["--resume", "r1", "--journal", "none.sqlite"], "cannot read none.sqlite"),
        (&["--resume", "r1", "--journal", "runs.sqlite"], "the journal has no run `r1`"),
        (&["--resume", &run, "--journal", "runs.sqlite", "And?"], "a run that goes on has its prompt: leave it out"),
        (&["--resume", &run, "--journal", "runs.sqlite", "--system", "x"], "cannot be used with"),
    ] {
        let ran = chat(&folder, &model, arguments, "");
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    // A source that is gone by then is not needed by a run that is over, but named all the same.
    assert_eq!(runs(&folder, &model, &["resume", &run]).stdout, "Hello.\n");
    let json_again = json(&runs(&folder, &model, &["resume", &run, "--json"]).stdout);
    assert_eq!((&json_again["text"], &json_again["run"]), (&"Hello.".into(), &run.as_str().into()));
}

#[test]
fn a_command_is_not_in_the_journal_and_given_again() {
    let folder = TestFolder::new();
    let model =
        Model::start(vec![Reply::calls("add_note", r#"{"title":"Bill","text":"It is paid."}"#), Reply::says("Noted.")]);
    let command = format!("{} mcp --verbose", binary().display());
    let waits = chat(&folder, &model, &["--journal", "runs.sqlite", "--mcp", &command, "Note it."], "");
    assert_eq!(waits.code, Some(7), "{}", waits.stderr);
    let stored = std::fs::read(folder.path("runs.sqlite")).unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("mcp --verbose"));
    let run = ids(&folder, &model).remove(0);
    let refused = runs(&folder, &model, &["resume", &run, "--yes"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("a journal does not hold: give --mcp again"), "{}", refused.stderr);
    let resumed = runs(&folder, &model, &["resume", &run, "--mcp", &command, "--yes"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Noted.\n"), "{}", resumed.stderr);
}

#[test]
fn a_chat_of_the_page_goes_on_at_the_command_line() {
    let note = Reply::calls("add_note", r#"{"title":"Bill","text":"It is paid."}"#);
    let model = Model::start(vec![note, Reply::says("It is noted.")]);
    let folder = TestFolder::new();
    let variables = environment(&model);
    let mut variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    variables.push(("OPENTOOL_API_KEY", "page-key"));
    let served = Served::start(&folder, &["--journal", "runs.sqlite"], &variables);
    let browser = SignedIn::by_key(&served, "page-key");
    let body = value!({ "conversation": "talk", "turn": "t1", "text": "Note that the bill is paid." });
    browser.lines_until("/ui/api/chat", &body, "approval");
    // The page has gone, so that the call waits in the journal.
    let status = || json(&runs(&folder, &model, &["list", "--json"]).stdout)["state"].clone();
    serving::wait_until(|| status() == "waiting", || status().to_string());
    let run = ids(&folder, &model).remove(0);
    assert_eq!(runs(&folder, &model, &["decide", &run, "1.0", "--approve"]).code, Some(0));
    let ran = runs(&folder, &model, &["resume", &run]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is noted.\n"), "{ran:?}");
    assert!(!folder.path("data").exists(), "the conversation of a page is not kept there");
}
