//! What an operator sets and sees: limits, keys of sources, signals, readiness, and lines for machines.

use serde_json::{Value, json};

use super::serving::{Connection, Script, Served, document, envelope};
use super::*;

/// A server with one function that answers a text of so many bytes, and one that never answers.
fn answering(bytes: usize) -> Script {
    Script::with_functions(&["text", "never"], move |function| {
        (function == "text").then(|| json!({ "text": "x".repeat(bytes) }))
    })
}

fn error_code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn results_may_be_larger_where_the_operator_says_so() {
    let script = answering(3 << 20);
    let folder = TestFolder::with("opentool.toml", "max-result = \"4M\"\n");
    let url = script.url();
    let served = Served::start(&TestFolder::new(), &[&url], &[]);
    let answer = served.call("text", json!({}));
    assert_eq!(error_code(&answer), 500);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("more than the 1048576 allowed"), "{message}");
    for arguments in [&[&*url, "--max-result", "4M"][..], &[&url, "--config", "opentool.toml"]] {
        let served = Served::start(&folder, arguments, &[]);
        assert_eq!(served.call("text", json!({}))["result"]["text"].as_str().unwrap().len(), 3 << 20);
    }
    assert_eq!(run(&["call", &url, "text"]).code, Some(1));
    let ran = run(&["call", &url, "text", "--max-result", "4M"]);
    assert_eq!((ran.code, ran.stdout.len() > 3 << 20), (Some(0), true), "{}", ran.stderr);
}

#[test]
fn the_deadline_holds_for_every_kind_of_source() {
    let script = answering(1);
    let folder = TestFolder::with("script.json", document(&["never"], Some(&script.url())).to_string());
    for source in [script.url().as_str(), "script.json"] {
        let served = Served::start(&folder, &[source, "--timeout", "300ms"], &[]);
        let answer = served.call("never", json!({}));
        assert_eq!(error_code(&answer), 504);
        assert_eq!(answer["error"]["message"], "the tool did not answer within 300ms", "{source}");
        let ran = folder.run(&["call", source, "never", "--timeout", "300ms"]);
        assert_eq!(ran.code, Some(1));
        assert_eq!(ran.stderr, "error: the tool did not answer within 300ms\n", "{source}");
    }
}

#[test]
fn calls_and_connections_are_limited_as_the_operator_says() {
    let script = answering(1);
    let served = Served::start(&TestFolder::new(), &[&script.url(), "--max-calls", "1", "--max-body", "1k"], &[]);
    let mut hanging = Connection::open(served.address);
    hanging.send("POST", "/opentool/call", &[], &envelope("never", json!({})));
    script.wait_for_call("never");
    let answer = served.call("text", json!({}));
    assert_eq!(error_code(&answer), 503);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("the server runs 1 at once"), "{message}");
    let large = served.ask("POST", "/opentool/call", &[], &" ".repeat(1025));
    assert_eq!(large.status, 413, "{}", large.body);

    let served = Served::start(&TestFolder::new(), &["--max-connections", "1"], &[]);
    let mut first = Connection::open(served.address);
    first.send("GET", "/opentool/version", &[], "");
    assert_eq!(first.receive().unwrap().status, 200);
    assert_eq!(served.get("/opentool/version").status, 200);
    assert!(first.receive().is_none(), "the idle one was closed for the other");
}

#[test]
fn keys_of_sources_come_from_the_environment_or_a_file() {
    let inner = Served::start(&TestFolder::new(), &[], &[("OPENTOOL_API_KEY", "s3cret")]);
    let folder = TestFolder::with("source.key", "s3cret\n");
    folder.put("empty.key", "\n");
    let url = inner.url.as_str();
    let named = |place: &str| format!("{url}={place}");
    for given in [
        ["--source-api-key-env", "WEATHER_KEY"],
        ["--source-api-key-env", &named("WEATHER_KEY")],
        ["--source-api-key-file", "source.key"],
        ["--source-api-key-file", &named("source.key")],
    ] {
        let served = Served::start(&folder, &[&[url][..], &given].concat(), &[("WEATHER_KEY", "s3cret")]);
        assert_eq!(served.call("add", json!({ "a": 1, "b": 2 }))["result"], json!({ "sum": 3 }), "{given:?}");
        assert_eq!(served.logged(), "", "nothing of it shows in `ps`");
    }
    for (given, message) in [
        (["--source-api-key-env", "NO_SUCH_KEY"], "there is no key in the variable NO_SUCH_KEY"),
        (["--source-api-key-file", "missing.key"], "cannot read missing.key"),
        (["--source-api-key-file", "empty.key"], "empty.key: there is no key in the file"),
    ] {
        let ran = folder.run(&[&["serve", url][..], &given].concat());
        assert_eq!(ran.code, Some(2), "{given:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{given:?}: {}", ran.stderr);
    }
}

#[test]
fn certificates_of_a_file_are_trusted() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let folder = TestFolder::with("cert.pem", certified.cert.pem());
    folder.put("key.pem", certified.signing_key.serialize_pem());
    let inner = Served::start(&folder, &["--tls-cert", "cert.pem", "--tls-key", "key.pem"], &[]);
    let url = inner.url.as_str();
    assert!(url.starts_with("https://"));
    for command in [&["version", url][..], &["tools", url], &["load", url], &["call", url, "add", "a=1", "b=2"]] {
        let ran = folder.run(command);
        assert_eq!(ran.code, Some(3), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("its certificate is signed by an authority that is not trusted"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("UnknownIssuer"), "{}", ran.stderr);
        let ran = folder.run(&[command, &["--ca-file", "cert.pem"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command:?}");
    }
    let served = Served::start(&folder, &[url, "--ca-file", "cert.pem"], &[]);
    assert_eq!(served.call("add", json!({ "a": 1, "b": 2 }))["result"], json!({ "sum": 3 }));
    let http = url.replace("https:", "http:");
    let ran = folder.run(&["version", &http]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(!ran.stderr.contains("could be reached"), "it was reached: {}", ran.stderr);
}

#[test]
fn a_hangup_reads_keys_again_and_ends_nothing() {
    let folder = TestFolder::with("keys", "one:first-secret-key\n");
    let mut served = Served::start(&folder, &["--api-keys-file", "keys"], &[]);
    let ask = |key: &str| {
        let header = format!("Bearer {key}");
        served.ask("GET", "/opentool/version", &[("authorization", &header)], "").status
    };
    assert_eq!(ask("first-secret-key"), 200);
    // A file that cannot be used: the keys that were read stay.
    folder.put("keys", "no key at all");
    served.signal("HUP");
    served.wait_for_log("what was read before stays in use");
    assert_eq!(ask("first-secret-key"), 200);
    folder.put("keys", "two:other-secret-key\n");
    served.signal("HUP");
    served.wait_for_log("SIGHUP: keys and certificates were read again");
    assert_eq!((ask("first-secret-key"), ask("other-secret-key")), (401, 200));
    served.signal("TERM");
    assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
}

#[test]
fn every_line_on_standard_error_is_json_where_that_is_asked_for() {
    let assert_json = |text: &str| {
        assert!(!text.is_empty());
        for line in text.lines() {
            let line = json(line);
            assert!(line["level"].is_string() && line["message"].is_string(), "{line}");
        }
    };
    let folder = TestFolder::new();
    let mut served = Served::start(&folder, &["-v", "--log-format", "json", "--api-key", "a-secret-of-mine"], &[]);
    served.signal("HUP");
    served.wait_for_log("SIGHUP");
    served.signal("TERM");
    served.wait();
    assert!(served.logged().contains("shows in `ps`"), "{}", served.logged());
    assert_json(&served.logged());
    for arguments in [
        &["call", "demo", "no_such_tool"][..],
        &["call", "missing.json", "f"],
        &["version", "http://127.0.0.1:9"],
        &["call", "demo"],
        &["serve", "--no-such-option"],
        &["no-such-command"],
    ] {
        let ran = folder.run(&[arguments, &["--log-format", "json"]].concat());
        assert_ne!(ran.code, Some(0), "{arguments:?}");
        assert_json(&ran.stderr);
        let ran = folder.run(&[&["--log-format=json"], arguments].concat());
        assert_json(&ran.stderr);
    }
    assert!(folder.run(&["--help", "--log-format=json"]).stdout.contains("Usage:"));
}

#[test]
fn a_server_whose_every_source_is_down_is_not_ready() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = TestFolder::with("gone.json", document(&["now"], Some(&format!("http://{gone}"))).to_string());
    let key = [("authorization", "Bearer s3cret-s3cret-s3cret")];
    let environment = [("OPENTOOL_API_KEY", "s3cret-s3cret-s3cret")];
    let call = |served: &Served| served.ask("POST", "/opentool/call", &key, &envelope("now", json!({})));

    let served = Served::start(&folder, &["gone.json"], &environment);
    assert_eq!(served.get("/readyz").status, 200, "nothing is known about it yet");
    assert_eq!(error_code(&call(&served).json()), 503);
    let open = served.get("/readyz");
    assert_eq!((open.status, open.json()), (503, json!({ "status": "no source is up" })));
    let ready = served.ask("GET", "/readyz", &key, "");
    assert_eq!(ready.json()["sources"], json!([{ "name": "gone.json", "up": false }]));
    let page = served.ask("GET", "/metrics", &key, "").body;
    assert!(page.contains("\nopentool_source_up{source=\"gone.json\"} 0\n"), "{page}");
    #[cfg(target_os = "linux")]
    {
        let line = page.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes ")).unwrap();
        assert!((1 << 20..1 << 30).contains(&line.parse::<usize>().unwrap()), "{line}");
    }

    let served = Served::start(&folder, &["gone.json", "demo"], &environment);
    call(&served);
    let ready = served.ask("GET", "/readyz", &key, "");
    assert_eq!(ready.status, 200, "another source is up");
    let sources = json!([{ "name": "gone.json", "up": false }, { "name": "the demo tools", "up": true }]);
    assert_eq!(ready.json(), json!({ "status": "ready", "sources": sources }));
}
