//! `opentool serve`: what it serves, its options, what it refuses.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
};

use serde_json::{Value, json};

use super::serving::{MAX_WAIT, Script, Served, document, envelope};
use super::*;

#[test]
fn without_a_source_the_demo_tools_are_served() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    assert_eq!(served.get("/opentool/version").json(), json!({ "version": env!("CARGO_PKG_VERSION") }));
    assert_eq!(
        served.call("add", json!({ "a": 1, "b": 2 })),
        json!({ "jsonrpc": "2.0", "result": { "sum": 3 }, "error": null, "id": "1" })
    );
    let document = served.get("/opentool/load").json();
    let names: Vec<_> =
        document["functions"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"current_date_time") && names.contains(&"delete_note"), "{names:?}");
    let unknown = served.call("subtrac", json!({}));
    assert_eq!(unknown["error"]["code"], 405);
    assert_eq!(unknown["error"]["message"], "Function Not Supported: subtrac");
    let wrong = served.call("add", json!({ "a": "one", "b": 2 }));
    assert_eq!(wrong["error"]["code"], 400);
    assert!(wrong["error"]["message"].as_str().unwrap().starts_with("Invalid Arguments: /a"), "{wrong}");
}

#[test]
fn what_is_served_can_be_had_as_json() {
    let folder = TestFolder::new();
    let mut served = Served::start(&folder, &["demo", "--json"], &[]);
    let base = format!("http://{}", served.address);
    let mut said = json(&served.announcement);
    let tools = served.get("/opentool/load").json()["functions"].as_array().unwrap().len();
    assert_eq!(
        said["sources"].take(),
        json!([{ "source": "the demo tools", "tools": tools, "isolation": "in this process" }])
    );
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"), "url": format!("{base}/opentool"), "mcp": format!("{base}/mcp"),
        "page": format!("{base}/ui"), "operation": base, "needs_key": false, "model": null, "sources": null,
    });
    assert_eq!(said, expected);
    served.signal("TERM");
    assert!(served.wait().success());
    assert_eq!(served.later_output(), Vec::<String>::new(), "one object and nothing else");

    let arguments = ["demo", "--json", "--no-mcp", "--no-page", "--prefix", "/", "--admin-addr", "127.0.0.1:0"];
    let served = Served::start(&folder, &arguments, &[("OPENTOOL_API_KEY", "s3cret")]);
    let said = json(&served.announcement);
    assert_eq!([&said["mcp"], &said["page"]], [&Value::Null; 2]);
    assert_eq!(said["needs_key"], true);
    assert_eq!(said["url"], format!("http://{}", served.address));
    assert_ne!(said["operation"], said["url"]);
    assert!(!served.announcement.contains("s3cret"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_demo_has_a_c_library_of_the_system() {
    let served = Served::start(&TestFolder::new(), &[], &[]);
    assert_eq!(served.call("cos", json!({ "x": 0 }))["result"], json!({ "cosine": 1.0 }));
    let named = Served::start(&TestFolder::new(), &["demo"], &[]);
    assert_eq!(named.call("cos", json!({ "x": 0 }))["error"]["code"], 405, "the word stands for the demo tools only");
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(crate_folder.join(path)).unwrap();
    assert_eq!(read("src/demo/libm.opendyn.json"), read("../../examples/libm.opendyn.json"));
}

#[cfg(unix)]
#[test]
fn at_a_terminal_it_says_what_is_served_and_what_to_do_next() {
    use super::chat::terminal::Terminal;
    let folder = TestFolder::new();
    let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut terminal = Terminal::start(&folder, &["serve", "--port", "0"], &[("PATH", &path)]);
    terminal.wait_for("next:");
    let shown = terminal.shown();
    for line in [
        "opentool ",
        "the demo tools   14 tools  in this process",
        "listening on http://",
        "MCP clients:  http://",
        "access:  callers need no key",
        "try it:  curl http://",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    if cfg!(target_os = "linux") {
        assert!(shown.contains("libm              4 tools  a worker process, sandboxed"), "{shown}");
    }
    run_next_commands("opentool", &folder, &mut terminal);
    terminal.type_in("\u{3}");
    assert!(terminal.wait().success());

    if !cfg!(target_os = "linux") {
        return;
    }
    // With a file that is there, by a program that the shell does not find by its name. Its server has another path, and
    // no tool that is known to be harmless.
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/libm.opendyn.json");
    let source = format!("[sources.maths]\nkind = \"library\"\ndocument = {:?}\nlibrary = \"libm.so.6\"\n", library);
    folder.put("own.toml", format!("prefix = \"/x\"\n{source}"));
    let mut terminal = Terminal::start(&folder, &["serve", "--port", "0", "--config", "own.toml"], &[]);
    terminal.wait_for("next:");
    run_next_commands(binary().to_str().unwrap(), &folder, &mut terminal);
}

/// Runs what the screen says to do next, each of which works.
#[cfg(unix)]
fn run_next_commands(program: &str, folder: &TestFolder, terminal: &mut super::chat::terminal::Terminal) {
    let lines = terminal.wait_for("page, for one sign-in");
    let commands: Vec<_> = lines.lines().filter_map(|line| line.trim().split("  ").next()).collect();
    let commands: Vec<_> = commands.into_iter().filter(|command| command.starts_with(&format!("{program} "))).collect();
    assert_eq!(commands.len(), 3, "{lines}");
    let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
    for command in commands {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).current_dir(folder.0.path()).env("PATH", &path).env_remove("OPENTOOL_API_KEY");
        let output = shell.env("XDG_STATE_HOME", folder.path("state")).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains(": 0 tools"), "{command}: {output:?}");
    }
}

/// SIGHUP reads files again, and comes also when the window of a terminal is closed.
#[cfg(unix)]
#[test]
fn it_ends_with_its_terminal() {
    use std::io::Read as _;
    let folder = TestFolder::new();
    let (mut pty, pts) = pty_process::blocking::open().unwrap();
    let command = pty_process::blocking::Command::new(binary()).args(["serve", "--port", "0"]);
    let mut child = command.current_dir(folder.0.path()).spawn(pts).unwrap();
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&shown).contains("page, for one sign-in") {
        let count = pty.read(&mut bytes).unwrap();
        shown.extend_from_slice(&bytes[..count]);
    }
    drop(pty);
    let start = std::time::Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > MAX_WAIT => break child.kill().and_then(|()| child.wait()).unwrap(),
            None => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    assert!(status.success(), "{status}");
}

#[test]
fn the_line_that_it_shows_calls_it() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    let line = served.announcement.lines().find_map(|line| line.strip_prefix("try it:  ")).unwrap();
    let Ok(output) = std::process::Command::new("sh").args(["-c", line]).output() else { panic!("no shell") };
    assert_eq!(super::json(&String::from_utf8(output.stdout).unwrap())["result"], json!({ "sum": 3 }), "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn another_loopback_address_is_one_of_this_machine() {
    let served = Served::start(&TestFolder::new(), &["demo", "--host", "127.0.0.2"], &[]);
    let own = served.address.to_string();
    assert!(own.starts_with("127.0.0.2:"), "{own}");
    for (host, status) in [(&*own, 200), ("evil.example", 403), ("127.0.0.3", 403)] {
        let request = format!("GET /opentool/load HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let mut stream = std::net::TcpStream::connect(served.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
}

#[test]
fn a_prefix_is_the_path_of_a_url() {
    for prefix in ["a b", "a?b", "$(x)", "é"] {
        let ran = run(&["serve", "demo", "--port", "0", "--prefix", prefix]);
        assert!(ran.code == Some(2) && ran.stderr.contains("cannot stand in it"), "{prefix}: {ran:?}");
    }
}

#[test]
fn a_key_opens_the_server_and_its_name_in_the_options_does_not_matter() {
    let folder = TestFolder::with("keys", "ci:from-file\n");
    let served = Served::start(
        &folder,
        &["-k", "key-one", "--apiKeys", "two", "--opentoolServerApiKeys", "three,four", "--api-keys-file", "keys"],
        &[("OPENTOOL_API_KEY", "not-this-one")],
    );
    let status = |key: &str| served.ask("GET", "/opentool/version", &[("authorization", key)], "").status;
    for key in ["Bearer key-one", "two", "bearer three", "four", "from-file"] {
        assert_eq!(status(key), 200, "{key}");
    }
    for key in ["Bearer five", "not-this-one", "three,four"] {
        assert_eq!(status(key), 401, "{key}");
    }
    assert_eq!(served.get("/opentool/version").status, 401);
    let log = served.logged();
    assert!(log.contains("shows in `ps`"), "{log}");
    assert!(!served.announcement.contains("key-one") && served.announcement.contains("$OPENTOOL_API_KEY"));
    let first = "first:   put a key in OPENTOOL_API_KEY, where you call from\ntry it:  curl -H ";
    assert!(served.announcement.contains(first), "{}", served.announcement);
}

#[test]
fn the_ecosystems_names_of_options_are_taken() {
    let folder = TestFolder::new();
    let arguments = ["--opentoolServerTag", "3.2.1", "--opentoolServerHost", "127.0.0.1", "--opentoolServerPort", "0"];
    let served = Served::start_exactly(&folder, &arguments, &[]);
    assert_eq!(served.get("/opentool/version").json(), json!({ "version": "3.2.1" }));
    let served = Served::start_exactly(&folder, &["--toolPort", "0", "--prefix", "/x/"], &[]);
    assert_eq!(served.get("/x/version").status, 200);
    assert_eq!(served.get("/opentool/version").status, 404);
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_file() {
    let folder =
        TestFolder::with("opentool.toml", "tag = \"1.1.1\"\napi-key = { file = \"key\" }\nprefix = \"/file\"\n");
    folder.put("key", "file\n");
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let status = |served: &Served, key: &str| served.ask("GET", "/file/version", &[("authorization", key)], "").status;

    let served = Served::start(&folder, &[], &[]);
    assert_eq!((status(&served, "file"), status(&served, "environment")), (200, 401));
    let served = Served::start(&folder, &[], &[("OPENTOOL_API_KEY", "environment")]);
    assert_eq!((status(&served, "file"), status(&served, "environment")), (401, 200));
    let served = Served::start(&folder, &["--api-key", "given"], &[("OPENTOOL_API_KEY", "environment")]);
    assert_eq!((status(&served, "file"), status(&served, "environment"), status(&served, "given")), (401, 401, 200));

    folder.put("other.toml", "tag = \"2.2.2\"\nsources = [\"demo\"]");
    let served = Served::start(&folder, &["--config", "other.toml"], &[]);
    assert_eq!(served.get("/opentool/version").json()["version"], "2.2.2");
    let served = Served::start(&folder, &["--config", "other.toml", "--tag", "3.3.3"], &[]);
    assert_eq!(served.get("/opentool/version").json()["version"], "3.3.3");
}

#[test]
fn a_configuration_that_cannot_be_is_refused_with_what_to_write_instead() {
    let folder = TestFolder::new();
    for (file, message) in [
        ("prot = 1", "error: the file has no key `prot`\n --> opentool.toml:1:1\n"),
        ("prot = 1", "= help: did you mean `port`?\n"),
        ("port = \"x\"", "error: `port` must be a number, not a text\n --> opentool.toml:1:8\n"),
        ("port = ", " --> opentool.toml:1:"),
    ] {
        folder.put("opentool.toml", file);
        let ran = folder.run(&["serve"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    folder.put("opentool.toml", "");
    for (arguments, message) in [
        (&["--config", "missing.toml"][..], "cannot read missing.toml: no such file"),
        (&["--tls-cert", "cert.pem"], "`--tls-cert` needs `--tls-key`"),
        (&["--enable-stop"], "`--enable-stop` needs an API key"),
        (&["--allowed-origin", "app.example"], "`--allowed-origin app.example` can match no page"),
        (&["--allowed-origin", "https://app.example/tools"], "without a path"),
        (&["--max-body", "much"], "write a size such as 512k, 16M or 1G"),
        (&["--max-calls", "0"], "0"),
        (&["--ca-file", "missing.pem"], "cannot read missing.pem"),
        (&["--insecure-no-auth", "-k", "x"], "leave one of them out"),
        (&["--drain-timeout", "soon"], "write a time such as 500ms, 35s or 2m"),
        (&["--api-keys-file", "missing"], "missing: "),
        (&["--source-api-key", "x"], "write SOURCE=KEY"),
    ] {
        let ran = folder.run(&[&["serve"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn other_machines_are_let_in_with_a_key_or_by_saying_so() {
    let folder = TestFolder::new();
    let ran = folder.run(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("on 0.0.0.0:0 every machine on the network could call the tools"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--insecure-no-auth"), "{}", ran.stderr);
    for (arguments, environment) in [(&["--insecure-no-auth"][..], &[][..]), (&[], &[("OPENTOOL_API_KEY", "s3cret")])] {
        let served = Served::start(&folder, &[&["--host", "0.0.0.0"], arguments].concat(), environment);
        assert!(served.url.starts_with("http://127.0.0.1:"), "{}", served.url);
        assert_eq!(served.get("/healthz").status, 200);
    }
}

#[test]
fn formats_are_asserted_where_the_operator_says_so() {
    let remote = Script::start(|request| match request.path() {
        "/opentool/load" => {
            let mut document = document(&["meet"], None);
            let at =
                json!({ "name": "at", "description": "When.", "schema": { "type": "string", "format": "date-time" } });
            document["functions"][0]["parameters"] = json!([at]);
            Some((200, document.to_string()))
        }
        _ => Some((200, json!({ "jsonrpc": "2.0", "result": { "met": true }, "id": "1" }).to_string())),
    });
    let folder = TestFolder::new();
    let met = |arguments: &[&str], at: &str| {
        let served = Served::start(&folder, &[&[remote.url().as_str()], arguments].concat(), &[]);
        served.call("meet", json!({ "at": at }))
    };
    assert_eq!(met(&[], "soon")["result"], json!({ "met": true }), "by default a format is an annotation");
    assert_eq!(met(&["--assert-formats"], "2026-11-15T12:00:00Z")["result"], json!({ "met": true }));
    let refused = met(&["--assert-formats"], "soon");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("/at: expected text in the format date-time"), "{refused}");
}

#[test]
fn a_tool_of_a_source_whose_pattern_needs_backtracking_is_left_out() {
    let with_pattern = |pattern: &str| {
        let mut document = document(&["look", "other"], Some("http://127.0.0.1:1"));
        let schema = json!({ "type": "string", "pattern": pattern });
        document["functions"][0]["parameters"] = json!([{ "name": "name", "description": "Which.", "schema": schema }]);
        document
    };
    let serve = |pattern: &str| {
        let document = with_pattern(pattern);
        let remote = Script::start(move |_| Some((200, document.to_string())));
        Served::start(&TestFolder::new(), &[&remote.url()], &[])
    };
    let attack = json!({ "name": "a".repeat(32 << 10) });
    let backtracks = r"^(?=(\w+)+$)(\w+)+\1$";
    let served = serve(backtracks);
    served.wait_for_log(
        r"/properties/name/pattern: the pattern `^(?=(\w+)+$)(\w+)+\1$` has look-around or a back reference",
    );
    assert_eq!(served.call("look", attack.clone())["error"]["code"], 405, "it is left out");
    assert_eq!(served.get("/opentool/load").json()["functions"][0]["name"], "other", "and nothing else is");
    // What other engines take exponential time for is linear here: the body of the attack is answered.
    let served = serve("^(([a-z])+.)+[A-Z]([a-z])+$");
    assert_eq!(served.call("look", attack)["error"]["code"], 400);
    assert_eq!(served.get("/healthz").status, 200);

    let folder = TestFolder::with("evil.json", with_pattern(backtracks).to_string());
    let ran = folder.run(&["tools", "evil.json"]);
    assert!(ran.code == Some(2) && ran.stderr.contains(backtracks) && ran.stderr.contains("look-around"), "{ran:?}");
}

#[test]
fn a_taken_port_is_reported_with_one_that_is_free() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = run(&["serve", "--port", &port]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let suggestion =
        format!("port {port} of 127.0.0.1 is taken: stop the process that uses it, or take another with `--port ");
    let free = ran.stderr.split(&suggestion).nth(1).and_then(|rest| rest.split('`').next());
    let free: u16 = free.unwrap_or_else(|| panic!("{}", ran.stderr)).parse().unwrap();
    assert_ne!(free.to_string(), port);
    let ran = run(&["serve", "--port", "0", "--admin-addr", &format!("127.0.0.1:{port}")]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains(&format!("127.0.0.1:{port} is taken: give `--admin-addr` another")), "{}", ran.stderr);
}

#[test]
fn several_sources_are_served_together() {
    let quick = Script::with_functions(&["quick"], |_| Some(json!({ "done": true })));
    let named = Script::with_functions(&["named"], |_| Some(json!({ "named": 1 })));
    let folder = TestFolder::with("named.json", document(&["named"], Some(&named.url())).to_string());
    let served = Served::start(
        &folder,
        &[&quick.url(), "named.json", "demo", "--source-api-key", &format!("{}=up=stream", quick.url())],
        &[],
    );
    assert_eq!(served.call("quick", json!({}))["result"], json!({ "done": true }));
    assert_eq!(served.call("named", json!({}))["result"], json!({ "named": 1 }));
    assert_eq!(served.call("add", json!({ "a": 1, "b": 1 }))["result"], json!({ "sum": 2 }));
    assert!(
        quick.requests().iter().all(|request| request.head.to_lowercase().contains("authorization: bearer up=stream"))
    );
    assert!(named.requests().iter().all(|request| !request.head.to_lowercase().contains("authorization")));
    assert!(!named.requests().iter().any(|request| request.path().ends_with("/load")), "the document is already there");
}

#[test]
fn only_a_tool_that_the_operator_calls_idempotent_is_called_again() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let calls = AtomicUsize::new(0);
    let document = document(&["set", "add"], None).to_string();
    let script = Script::start(move |request| match request.path() {
        "/opentool/load" => Some((200, document.clone())),
        // Every other call finds the server in trouble.
        _ if calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => Some((503, "in trouble".to_owned())),
        _ => Some((200, json!({ "jsonrpc": "2.0", "result": { "done": true }, "id": "1" }).to_string())),
    });
    let folder = TestFolder::with("opentool.toml", "idempotent = [\"set\"]");
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let served = Served::start(&folder, &[&script.url()], &[]);
    assert_eq!(served.call("set", json!({}))["result"], json!({ "done": true }));
    assert_eq!(served.call("add", json!({}))["error"]["code"], 503);
    let ran = folder.run(&["serve", "--port", "0", &script.url(), "--destructive", "ad"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no server among the sources has the tool `ad`"), "{}", ran.stderr);
}

#[test]
fn two_sources_with_one_name_are_an_error_that_names_both() {
    let script = Script::with_functions(&["add"], |_| None);
    let ran = run(&["serve", "--port", "0", "demo", &script.url()]);
    assert_eq!(ran.code, Some(2));
    let message = format!("two sources have a tool named `add`: the demo tools and {}", script.url());
    assert!(ran.stderr.contains(&message), "{}", ran.stderr);
}

#[test]
fn a_source_that_cannot_be_used_is_reported_at_the_start() {
    let refusing = Script::start(|_| Some((401, "{}".to_owned())));
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = TestFolder::with("plain.json", CLEAN);
    folder.put("faulty.json", FAULTY);
    for (source, code, message) in [
        (format!("http://{gone}"), 3, "no OpenTool server could be reached"),
        (refusing.url(), 4, "wants an API key, and none was given"),
        ("plain.json".to_owned(), 2, "plain.json says nothing about where its functions can be called"),
        ("faulty.json".to_owned(), 2, "faulty.json cannot be used: it has 2 errors"),
        ("missing.json".to_owned(), 2, "cannot read missing.json"),
        ("ftp://a:b@c".to_owned(), 2, "ftp://c is no http:// or https:// URL"),
    ] {
        let ran = folder.run(&["serve", "--port", "0", &source]);
        assert_eq!(ran.code, Some(code), "{source}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{source}: {}", ran.stderr);
    }
}

#[test]
fn pages_and_foreign_hosts_are_refused_with_the_option_that_lets_them_in() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &["--allowed-origin", "https://app.example", "--cors"], &[]);
    let body = envelope("add", json!({ "a": 1, "b": 2 }));
    let reply = |origin: &str| served.ask("POST", "/opentool/call", &[("origin", origin)], &body);
    let refused = reply("https://evil.example");
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("--allowed-origin"), "{}", refused.body);
    let allowed = reply("https://app.example");
    assert_eq!(allowed.status, 200);
    assert!(
        allowed.head.to_lowercase().contains("access-control-allow-origin: https://app.example"),
        "{}",
        allowed.head
    );
}

#[test]
fn the_operators_routes_can_have_an_address_of_their_own() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &["--admin-addr", "127.0.0.1:0"], &[]);
    assert_eq!(served.get("/metrics").status, 404);
    let line = served.announcement.lines().find_map(|line| line.strip_prefix("operator's routes on http://"));
    let mut admin = serving::Connection::open(line.unwrap().parse().unwrap());
    admin.send("GET", "/metrics", &[], "");
    assert_eq!(admin.receive().unwrap().status, 200);
}

#[test]
fn a_caller_with_a_key_can_stop_the_server_where_that_is_enabled() {
    let folder = TestFolder::new();
    let mut served = Served::start(&folder, &["--enable-stop"], &[("OPENTOOL_API_KEY", "s3cret")]);
    assert_eq!(served.ask("POST", "/opentool/stop", &[], "").status, 401);
    let reply = served.ask("POST", "/opentool/stop", &[("authorization", "Bearer s3cret")], "");
    assert_eq!((reply.status, reply.json()), (200, json!({ "status": "stopped" })));
    assert_eq!(served.wait().code(), Some(0));
}

#[test]
fn with_a_certificate_it_speaks_https_to_those_who_trust_it() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let folder = TestFolder::with("cert.pem", certified.cert.pem());
    folder.put("key.pem", certified.signing_key.serialize_pem());
    let served = Served::start(&folder, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"], &[]);
    assert!(served.url.starts_with("https://127.0.0.1:"), "{}", served.url);
    let version = |trusted: Option<&str>| {
        let mut command = folder.command();
        command.args(["version", &served.url]);
        if let Some(file) = trusted {
            command.env("SSL_CERT_FILE", folder.path(file));
        }
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(version(Some("cert.pem")), (Some(0), format!("{}\n", env!("CARGO_PKG_VERSION"))));
    assert_eq!(version(None), (Some(3), String::new()));
}

#[test]
fn load_names_the_server_of_the_one_source_unless_given_the_public_url() {
    let folder = TestFolder::new();
    folder.put("clock.json", document(&["now"], Some("http://127.0.0.1:1/opentool")).to_string());
    folder.put("keyed.json", document(&["now"], Some("http://me:s3cret@127.0.0.1:1")).to_string());
    let server_of =
        |arguments: &[&str]| Served::start(&folder, arguments, &[]).get("/opentool/load").json()["server"].clone();
    assert_eq!(server_of(&["clock.json"]), json!({ "url": "http://127.0.0.1:1/opentool" }));
    let message = server_of(&["clock.json", "--public-url", "https://tools.example"]);
    assert_eq!(message, json!({ "url": "https://tools.example" }));
    assert_eq!(server_of(&["clock.json", "demo"]), json!(null), "that server has not all of these");
    let ran = folder.run(&["serve", "keyed.json", "--port", "0"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("OT016"), "no client could call it: {ran:?}");
}

#[test]
fn healthz_answers_while_large_texts_are_counted() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    let text = "all work and no play makes jack a dull boy ".repeat(14_000_000 / 43);
    let body = envelope("word_frequency", json!({ "text": text, "limit": 3 }));
    std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..4).map(|_| scope.spawn(|| served.ask("POST", "/opentool/call", &[], &body).json())).collect();
        let (mut probes, mut slowest) = (0, std::time::Duration::ZERO);
        while !calls.iter().all(|call| call.is_finished()) {
            let begun = std::time::Instant::now();
            assert_eq!(served.get("/healthz").status, 200);
            slowest = slowest.max(begun.elapsed());
            probes += 1;
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        for call in calls {
            let answer = call.join().unwrap();
            assert!(answer["error"].is_null() || answer["error"]["code"] == 504, "{answer}");
        }
        assert!(
            probes > 10 && slowest < std::time::Duration::from_secs(3),
            "{probes} probes, the slowest took {slowest:?}"
        );
    });
}
