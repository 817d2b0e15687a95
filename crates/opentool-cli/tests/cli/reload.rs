//! `opentool.toml` changes while it is served.

use std::{
    io::BufRead as _,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json as value};

use super::page::SignedIn;
use super::serving::{Connection, Script, Served, document, envelope, wait_until};
use super::*;

const OWN: &str = "[sources.own]\nkind = \"demo\"\nonly = [\"add\", \"add_note\", \"list_notes\"]\n";

/// Callers that call one tool again and again until they are stopped, and what they got.
struct Load {
    is_over: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    callers: Vec<thread::JoinHandle<Vec<String>>>,
}

impl Load {
    fn start(served: &Served, callers: usize) -> Self {
        let (is_over, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let address = served.address;
        let caller = |number: usize| {
            let (is_over, calls) = (is_over.clone(), calls.clone());
            thread::spawn(move || {
                let mut failed = Vec::new();
                let mut connection = Connection::open(address);
                while !is_over.load(SeqCst) {
                    // Some keep their connection, others open one for each call.
                    if number % 2 == 1 {
                        connection = Connection::open(address);
                    }
                    connection.send("POST", "/opentool/call", &[], &envelope("add", value!({ "a": number, "b": 2 })));
                    match connection.receive() {
                        Some(reply)
                            if reply.status == 200 && reply.json()["result"] == value!({ "sum": number + 2 }) => {}
                        other => failed.push(format!("{other:?}")),
                    }
                    calls.fetch_add(1, SeqCst);
                }
                failed
            })
        };
        let callers = (0..callers).map(caller).collect();
        Load { is_over, calls, callers }
    }

    /// Waits until so many more calls were answered.
    fn go_on(&self, more: u64) {
        let until = self.calls.load(SeqCst) + more;
        wait_until(|| self.calls.load(SeqCst) >= until, || "calls".to_owned());
    }

    /// Ends it; returns the number of calls, and those that failed.
    fn end(self) -> (u64, Vec<String>) {
        self.is_over.store(true, SeqCst);
        let failed = self.callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
        (self.calls.load(SeqCst), failed)
    }
}

fn names(served: &Served) -> Vec<String> {
    let document = served.get("/opentool/load").json();
    let functions = document["functions"].as_array().unwrap().iter();
    functions.map(|function| function["name"].as_str().unwrap().to_owned()).collect()
}

fn wait_for_tool(served: &Served, name: &str, is_there: bool) {
    let what = || format!("{name} to be there: {is_there}; {:?}\n{}", names(served), served.logged());
    wait_until(|| names(served).iter().any(|other| other == name) == is_there, what);
}

#[test]
fn no_call_fails_while_a_wrong_file_is_corrected_under_load() {
    let folder = TestFolder::with("opentool.toml", OWN);
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let load = Load::start(&served, 6);
    load.go_on(50);

    folder.put("opentool.toml", format!("{OWN}[sources.more]\nkind = \"demo\"\n  prefxi = \"m_\"\n"));
    served.wait_for_log("error: a source of the kind `demo` has no key `prefxi`\n --> opentool.toml:6:3\n");
    served.wait_for_log("opentool.toml is not used as it stands now: what was read before stays in use\n");
    load.go_on(50);
    assert_eq!(names(&served).len(), 3, "the old tools keep serving");

    folder
        .put("opentool.toml", format!("{OWN}[sources.more]\nkind = \"demo\"\nprefix = \"m_\"\nonly = \"multiply\"\n"));
    wait_for_tool(&served, "m_multiply", true);
    served.wait_for_log("opentool.toml was read again: 4 tools; new: m_multiply\n");
    load.go_on(50);
    for round in 0..4 {
        let prefix = format!("r{round}_");
        folder.put(
            "opentool.toml",
            format!(
                "tag = \"{round}\"\n{OWN}[sources.more]\nkind = \"demo\"\nprefix = \"{prefix}\"\nonly = \"multiply\"\n"
            ),
        );
        wait_for_tool(&served, &format!("{prefix}multiply"), true);
        assert_eq!(
            served.get("/opentool/version").json()["version"],
            round.to_string(),
            "settings change with the tools"
        );
        load.go_on(30);
    }
    let errors = served.logged().matches("has no key `prefxi`").count();
    assert_eq!(errors, 1, "an error is said once per change");
    // Written to another file and moved, as many editors do; two faults are reported together.
    folder.put("new", format!("prot = 1\n{OWN}kimd = \"demo\"\n"));
    std::fs::rename(folder.path("new"), folder.path("opentool.toml")).unwrap();
    served.wait_for_log(" --> opentool.toml:1:1\n");
    served.wait_for_log(" --> opentool.toml:5:1\n");
    load.go_on(30);
    folder.put("opentool.toml", OWN);
    wait_for_tool(&served, "r3_multiply", false);
    let (calls, failed) = load.end();
    assert!(failed.is_empty(), "{} of {calls} calls failed: {:?}", failed.len(), failed.first());
    eprintln!("{calls} calls during 8 changes of the file, none failed");
}

#[test]
fn a_source_that_stays_the_same_keeps_its_state() {
    let folder = TestFolder::with("opentool.toml", OWN);
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let added = served.call("add_note", value!({ "title": "kept", "text": "x" }));
    assert!(added["error"].is_null(), "{added}");
    folder
        .put("opentool.toml", format!("{OWN}[sources.more]\nkind = \"demo\"\nprefix = \"m_\"\nonly = \"multiply\"\n"));
    wait_for_tool(&served, "m_multiply", true);
    assert!(served.call("list_notes", value!({})).to_string().contains("kept"));
    // Where its table stands does not matter.
    folder.put("opentool.toml", format!("# One line more.\n{OWN}[sources.more]\nkind = \"demo\"\nprefix = \"n_\"\n"));
    wait_for_tool(&served, "n_multiply", true);
    assert!(served.call("list_notes", value!({})).to_string().contains("kept"));
    folder.put("opentool.toml", OWN.replace("\"list_notes\"", "\"list_notes\", \"multiply\""));
    wait_for_tool(&served, "multiply", true);
    assert!(!served.call("list_notes", value!({})).to_string().contains("kept"), "another table is another source");
}

#[test]
fn a_change_that_needs_trust_waits_for_it() {
    let folder = TestFolder::with("opentool.toml", "port = 0\n");
    let served = Served::start_exactly(&folder, &[], &[]);
    assert!(names(&served).contains(&"add".to_owned()));
    let remote = Script::with_functions(&["ring"], |_| Some(value!({ "rang": true })));
    folder.put("opentool.toml", format!("port = 0\n[sources.bell]\nkind = \"opentool\"\nurl = \"{}\"\n", remote.url()));
    served.wait_for_log("opentool.toml is not trusted, so what was read before stays in use until it is");
    served.wait_for_log("opentool.toml:4: sources.bell.url = ");
    assert!(remote.requests().is_empty() && names(&served).contains(&"add".to_owned()));
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    wait_for_tool(&served, "ring", true);
    assert_eq!(served.call("ring", value!({}))["result"], value!({ "rang": true }));

    folder.put("opentool.toml", "port = 0\nhost = \"0.0.0.0\"\n");
    served.wait_for_log("opentool.toml has changed since it was trusted, so what was read before stays in use");
    assert_eq!(names(&served), ["ring"]);
    // So does one that takes away what was trusted.
    folder.put("opentool.toml", "port = 0\nsources = \"demo\"\n");
    served.wait_for_log("opentool.toml: no longer sources.bell.url = ");
    assert_eq!(names(&served), ["ring"]);
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    wait_for_tool(&served, "ring", false);
    // What neither adds nor takes away such a thing takes effect at once.
    folder.put("opentool.toml", "port = 0\nsources = \"demo\"\ntag = \"7.7.7\"\n");
    wait_until(|| served.get("/opentool/version").json()["version"] == "7.7.7", || served.logged());
}

#[test]
fn keys_are_not_switched_off_without_trust() {
    for keys in ["api-key = { env = \"KEYS\" }", "api-keys-file = \"keys\""] {
        let folder = TestFolder::with("opentool.toml", format!("port = 0\n{keys}\n"));
        folder.put("keys", "me:secret123456\n");
        assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
        let served = Served::start_exactly(&folder, &[], &[("KEYS", "secret123456")]);
        let status = || served.get("/opentool/load").status;
        assert_eq!(status(), 401);
        folder.put("opentool.toml", "port = 0\n");
        let lost = format!("opentool.toml: no longer {}", keys.split(" =").next().unwrap());
        served.wait_for_log(&lost);
        assert_eq!(status(), 401, "{}", served.logged());
        folder.put("opentool.toml", "");
        served.wait_for_log("error: opentool.toml is empty now, and had settings before");
        assert_eq!(status(), 401, "{}", served.logged());
        // Nor does a server without them start after the next restart.
        for text in ["", "port = 0\n"] {
            folder.put("opentool.toml", text);
            let ran = folder.run(&["serve"]);
            let problem = "error: opentool.toml has changed since it was trusted, so nothing is served.";
            assert!(ran.code == Some(2) && ran.stderr.starts_with(problem), "{ran:?}");
            assert!(ran.stderr.contains(&lost), "{ran:?}");
        }
        // The user may want it.
        folder.put("opentool.toml", "port = 0\n");
        assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
        served.wait_for_log("; callers need no API key any more\n");
        assert_eq!(status(), 200);
    }
}

#[test]
fn a_reload_says_that_keys_came_or_went() {
    let folder = TestFolder::with("opentool.toml", OWN);
    folder.put("keys", "me:secret123456\n");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    folder.put("opentool.toml", format!("api-keys-file = \"keys\"\n{OWN}"));
    served.wait_for_log("opentool.toml was read again: 3 tools; callers need an API key now\n");
    folder.put("opentool.toml", OWN);
    served.wait_for_log("opentool.toml was read again: 3 tools; callers need no API key any more\n");
}

#[test]
fn an_emptied_file_does_not_bring_the_demo_tools() {
    let folder = TestFolder::with("opentool.toml", OWN);
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    for empty in ["", "\n  \n", "# nothing\n"] {
        folder.put("opentool.toml", OWN);
        served.signal("HUP");
        let before = served.logged().matches("is empty now").count();
        folder.put("opentool.toml", empty);
        wait_until(|| served.logged().matches("is empty now").count() > before, || served.logged());
        assert_eq!(names(&served).len(), 3);
    }
}

#[test]
fn a_document_that_the_file_names_is_read_again() {
    let remote = Script::with_functions(&["ring", "knock"], |function| Some(value!({ "did": function })));
    let folder = TestFolder::with("bell.json", document(&["ring"], Some(&remote.url())).to_string());
    folder.put("opentool.toml", "[sources.bell]\nkind = \"opentool\"\ndocument = \"bell.json\"\n");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    assert_eq!(names(&served), ["ring"]);
    folder.put("bell.json", "{ \"opentool\": ");
    served.wait_for_log("bell.json cannot be used");
    assert_eq!(served.call("ring", value!({}))["result"], value!({ "did": "ring" }));
    folder.put("bell.json", document(&["ring", "knock"], Some(&remote.url())).to_string());
    wait_for_tool(&served, "knock", true);
    std::fs::remove_file(folder.path("bell.json")).unwrap();
    served.wait_for_log("cannot read bell.json: no such file");
    assert_eq!(served.call("knock", value!({}))["result"], value!({ "did": "knock" }));
}

#[test]
fn calls_that_run_are_finished_with_the_sources_that_they_began_with() {
    let remote = Script::with_functions(&["wait"], |_| {
        thread::sleep(Duration::from_secs(3));
        Some(value!({ "waited": true }))
    });
    let source = format!("[sources.slow]\nkind = \"opentool\"\nurl = \"{}\"\n", remote.url());
    let folder = TestFolder::with("opentool.toml", format!("{OWN}{source}"));
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let mut slow = Connection::open(served.address);
    slow.send("POST", "/opentool/call", &[], &envelope("wait", value!({})));
    remote.wait_for_call("wait");
    folder.put("opentool.toml", OWN);
    wait_for_tool(&served, "wait", false);
    assert_eq!(slow.receive().unwrap().json()["result"], value!({ "waited": true }));
    assert_eq!(served.call("wait", value!({}))["error"]["code"], 405);
}

#[test]
fn a_source_that_is_down_leaves_the_others_alone_and_is_tried_again() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let source = format!("[sources.far]\nkind = \"opentool\"\nurl = \"http://127.0.0.1:{port}\"\nprefix = \"far_\"\n");
    let folder = TestFolder::with("opentool.toml", format!("{OWN}{source}"));
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    served.wait_for_log("the source far is down: ");
    assert_eq!(served.call("add", value!({ "a": 1, "b": 2 }))["result"], value!({ "sum": 3 }));
    assert_eq!(served.get("/readyz").status, 200);
    let is_up =
        |served: &Served, state: &str| served.get("/metrics").body.contains(&format!("source=\"far\"}} {state}\n"));
    assert!(is_up(&served, "0"), "{}", served.get("/metrics").body);

    let there = TestFolder::new();
    let far = Served::start_exactly(&there, &["demo", "--port", &port.to_string()], &[]);
    wait_for_tool(&served, "far_multiply", true);
    served.wait_for_log("the source far is there again\n");
    assert_eq!(served.call("far_multiply", value!({ "a": 6, "b": 7 }))["result"], value!({ "product": 42 }));
    assert!(is_up(&served, "1"), "{}", served.get("/metrics").body);

    drop(far);
    // Changed while its server is away: its tools are still listed, and say why they cannot be called.
    folder.put("opentool.toml", format!("{OWN}{source}timeout = \"7s\"\n"));
    served.wait_for_log("opentool.toml was read again: ");
    let answer = served.call("far_multiply", value!({ "a": 6, "b": 7 }));
    assert_eq!(answer["error"]["code"], 503, "{answer}");
    assert_eq!(served.call("add", value!({ "a": 1, "b": 2 }))["result"], value!({ "sum": 3 }));
}

#[test]
fn mcp_clients_that_listen_are_notified_of_other_tools() {
    let folder = TestFolder::with("opentool.toml", OWN);
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let accept = ("accept", "application/json, text/event-stream");
    let initialize = value!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    let begun = served.ask("POST", "/mcp", &[accept], &initialize.to_string());
    assert!(begun.body.contains("\"listChanged\":true"), "{begun:?}");
    let session =
        begun.head.lines().find_map(|line| line.to_lowercase().strip_prefix("mcp-session-id: ").map(str::to_owned));
    let session = session.unwrap();
    let headers =
        [("accept", "text/event-stream"), ("mcp-session-id", session.trim()), ("mcp-protocol-version", "2025-06-18")];
    let mut listening = Connection::open(served.address);
    listening.send("GET", "/mcp", &headers, "");
    let mut lines = listening.into_reader().lines();
    let changed = |lines: &mut dyn Iterator<Item = std::io::Result<String>>| {
        lines.map_while(Result::ok).any(|line| line.contains("notifications/tools/list_changed"))
    };
    assert!(lines.next().unwrap().unwrap().contains("200"));
    // A listener outlives the set of tools that it began with.
    for round in 0..2 {
        folder.put("opentool.toml", format!("{OWN}prefix = \"r{round}_\"\n"));
        assert!(changed(&mut lines), "round {round}: {}", served.logged());
    }
    let listed: Value = served
        .ask("POST", "/mcp", &[accept, headers[1], headers[2]], r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        .json();
    assert_eq!(listed["result"]["tools"][0]["name"], "r1_add", "{listed}");
}

#[test]
fn a_hangup_reads_the_file_and_what_needs_a_restart_is_said() {
    let folder = TestFolder::with("opentool.toml", format!("port = 0\n{OWN}"));
    let served = Served::start_exactly(&folder, &["--config", "opentool.toml"], &[]);
    served.signal("HUP");
    served.wait_for_log("SIGHUP: keys and certificates were read again\n");
    served.wait_for_log("opentool.toml was read again: 3 tools\n");
    folder.put("opentool.toml", format!("port = 1\nmax-connections = 7\nmax-result = 10\n{OWN}"));
    served.wait_for_log("takes effect after a restart: port, max-connections\n");
    served.call("add_note", value!({ "title": "a long title", "text": "x" }));
    let answer = served.call("list_notes", value!({}));
    assert!(answer["error"]["code"].is_i64(), "the limit of results is another one now: {answer}");
    std::fs::remove_file(folder.path("opentool.toml")).unwrap();
    served.wait_for_log("cannot read opentool.toml: no such file");
    assert_eq!(served.get("/healthz").status, 200);
}

#[test]
fn keys_of_callers_change_with_the_file() {
    let folder = TestFolder::with("opentool.toml", format!("api-key = {{ file = \"one\" }}\n{OWN}"));
    folder.put("one", "key-number-one");
    folder.put("two", "key-number-two");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let status = |key: &str| served.ask("GET", "/opentool/version", &[("authorization", key)], "").status;
    assert_eq!([status("key-number-one"), status("key-number-two")], [200, 401]);
    folder.put("opentool.toml", format!("api-key = {{ file = \"two\" }}\n{OWN}"));
    wait_until(|| status("key-number-two") == 200, || served.logged());
    assert_eq!(status("key-number-one"), 401);
}

#[test]
fn a_key_of_callers_changes_with_the_file_that_has_it() {
    let folder = TestFolder::with("opentool.toml", format!("api-key = {{ file = \"key\" }}\n{OWN}"));
    folder.put("key", "first-key\n");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let status = |key: &str| served.ask("GET", "/opentool/version", &[("authorization", key)], "").status;
    assert_eq!((status("first-key"), status("second-key")), (200, 401));
    folder.put("key", "two keys\n");
    served.wait_for_log("the file has more than a key in it");
    assert_eq!(status("first-key"), 200, "what was read before stays in use");
    folder.put("key", "second-key\n");
    wait_until(|| status("second-key") == 200, || served.logged());
    assert_eq!(status("first-key"), 401);
}

#[test]
fn the_page_calls_the_tools_that_are_served_now() {
    let folder = TestFolder::with("opentool.toml", OWN);
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[("OPENTOOL_API_KEY", "page-key")]);
    let browser = SignedIn::by_key(&served, "page-key");
    let call = |tool: &str| {
        let body = value!({ "id": "c1", "tool": tool, "arguments": { "a": 6, "b": 7 } });
        browser.lines("/ui/api/calls", &body).pop().unwrap()
    };
    assert_eq!(call("add")["result"], value!({ "sum": 13 }));
    folder.put("opentool.toml", OWN.replace("\"add\"", "\"multiply\""));
    served.wait_for_log("new: multiply; gone: add\n");
    let outcome = call("multiply");
    assert_eq!(outcome["result"], value!({ "product": 42 }), "{outcome}");
    assert_eq!(call("add")["ok"], false);
}
