//! `opentool doctor`: what is found is true, and what it says to do works.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command as Program;

use serde_json::Value;

use super::serving::{Script, Served};
use super::*;

/// What was found.
struct Found(Value);

impl Found {
    fn get(&self, name: &str) -> &Value {
        let findings = self.0["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("{name}: {:#}", self.0))
    }

    fn state(&self, name: &str) -> &str {
        self.get(name)["state"].as_str().unwrap()
    }

    fn text(&self, name: &str) -> &str {
        self.get(name)["text"].as_str().unwrap()
    }

    fn next(&self, name: &str) -> &str {
        self.get(name)["next"].as_str().unwrap_or_else(|| panic!("{:#}", self.get(name)))
    }
}

/// Examines a folder, and checks what holds for every examination.
fn examine(folder: &TestFolder, arguments: &[&str], environment: &[(&str, &str)]) -> Found {
    let mut command = folder.command();
    command.args(["doctor", "--json"]).args(arguments).env_remove("OPENTOOL_MODEL");
    command.env("XDG_DATA_HOME", folder.path("data")).envs(environment.iter().copied());
    judge(command.output().unwrap())
}

fn judge(output: std::process::Output) -> Found {
    let stdout = String::from_utf8(output.stdout).unwrap();
    let found = json(&stdout);
    let findings = found["findings"].as_array().unwrap();
    let has_failed = findings.iter().any(|finding| finding["state"] == "failed");
    assert_eq!(
        (output.status.code(), &found["ok"]),
        (Some(i32::from(has_failed)), &Value::from(!has_failed)),
        "{found:#}"
    );
    for finding in findings {
        let is_ok = finding["state"] == "ok";
        assert!(is_ok || finding["state"] == "missing" || has_failed, "{finding:#}");
        assert!(is_ok || finding["next"].is_string(), "there is no next step: {finding:#}");
    }
    Found(found)
}

/// What a library is kept from, on a system that can do it.
const KEPT_FROM: [&str; 6] = ["read files", "write files", "network", "processes", "memory files", "memory"];

#[test]
fn the_sandbox_is_tried() {
    let found = examine(&TestFolder::new(), &[], &[]);
    assert_eq!(found.state("worker"), "ok");
    if found.state("Landlock") == "ok" {
        for name in KEPT_FROM {
            assert_eq!((found.state(name), found.text(name)), ("ok", "tried and refused"), "{name}");
        }
    }
}

/// A program that runs another one as on a system without Landlock.
fn without_landlock(folder: &TestFolder) -> PathBuf {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../opentool-dyn/tests/c/without_landlock.c");
    let program = folder.path("without_landlock");
    assert!(Program::new("cc").arg("-o").args([&program, &source]).status().unwrap().success());
    program
}

#[test]
fn what_a_system_does_not_enforce_is_found_by_trying() {
    let folder = TestFolder::new();
    let mut command = Program::new(without_landlock(&folder));
    command.arg(binary()).args(["doctor", "--json"]).current_dir(folder.0.path()).env_remove("OPENTOOL_MODEL");
    command.env("XDG_DATA_HOME", folder.path("data")).env("XDG_STATE_HOME", folder.path("state"));
    let found = judge(command.output().unwrap());
    assert_eq!((found.state("Landlock"), found.state("read files")), ("missing", "missing"), "{:#}", found.0);
    assert!(found.text("read files").starts_with("not refused"), "{}", found.text("read files"));
    // The filter of system calls is another part of the sandbox.
    for name in ["write files", "network", "processes", "memory files"] {
        assert_eq!(found.text(name), "tried and refused", "{name}");
    }
}

#[test]
fn a_file_is_read_trusted_and_what_it_names_is_looked_for() {
    let folder = TestFolder::with(
        "opentool.toml",
        format!(
            "[sources.here]\nkind = \"mcp\"\ncommand = {:?}\nargs = [\"mcp\", \"demo\"]\n\
             [sources.gone]\nkind = \"mcp\"\ncommand = \"no-such-program-here\"\n",
            binary()
        ),
    );
    let found = examine(&folder, &[], &[]);
    assert_eq!((found.state("opentool.toml"), found.state("trust")), ("ok", "failed"));
    // The command asks, which a test cannot answer.
    let step = found.next("trust").strip_prefix("opentool ").unwrap().to_owned();
    assert_eq!(folder.run(&[&step, "--yes"]).code, Some(0));

    let found = examine(&folder, &[], &[]);
    assert_eq!((found.state("trust"), found.state("source here"), found.state("source gone")), ("ok", "ok", "failed"));
    assert!(found.text("source here").ends_with("is there; it is not started"), "{}", found.text("source here"));
    assert!(found.text("source gone").contains("no-such-program-here"));

    let found = examine(&folder, &["--start"], &[]);
    assert_eq!((found.text("source here"), found.state("source gone")), ("14 tools", "failed"));
    let found = examine(&TestFolder::new(), &["--config", folder.path("opentool.toml").to_str().unwrap()], &[]);
    assert_eq!(found.text("trust"), "the file is named by --config");
}

#[test]
fn a_faulty_file_is_reported_with_its_line() {
    let folder = TestFolder::with("opentool.toml", "port = 9627\nhots = \"127.0.0.1\"\n");
    let found = examine(&folder, &[], &[]);
    assert_eq!(found.state("opentool.toml"), "failed");
    assert!(found.text("opentool.toml").contains("host"), "{}", found.text("opentool.toml"));
}

#[test]
fn a_folder_that_a_journal_needs_is_looked_at() {
    let folder = TestFolder::with("opentool.toml", "journal = \"calls.sqlite\"\n");
    let names = folder.names();
    let found = examine(&folder, &["--config", "opentool.toml"], &[]);
    assert_eq!((found.state("journal"), found.state("state"), found.state("data")), ("ok", "ok", "ok"));
    assert_eq!(folder.names(), names, "nothing is left behind");
    folder.put("opentool.toml", "journal = \"no/such/folder/calls.sqlite\"\n");
    assert_eq!(examine(&folder, &["--config", "opentool.toml"], &[]).state("journal"), "failed");
    folder.put("file", "");
    let data = folder.path("file");
    let found = examine(&folder, &[], &[("XDG_DATA_HOME", data.to_str().unwrap())]);
    assert_eq!(found.state("data"), "missing", "a file is no folder");
}

#[test]
fn a_port_is_free_taken_or_has_a_server() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = TestFolder::with("opentool.toml", format!("port = {port}\n"));
    let found = examine(&folder, &[], &[]);
    assert_eq!(found.state("port"), "missing", "{}", found.text("port"));
    let words = found.next("port").strip_prefix("opentool serve ").unwrap().to_owned();
    drop(Served::start_exactly(&folder, &words.split(' ').collect::<Vec<_>>(), &[]));
    drop(taken);
    assert!(examine(&folder, &[], &[]).text("port").ends_with("is free"));
    for environment in [&[][..], &[("OPENTOOL_API_KEY", "s3cret")]] {
        let _served = Served::start_exactly(&folder, &[], environment);
        let found = examine(&folder, &[], &[]);
        assert_eq!(found.state("port"), "ok");
        assert!(found.text("port").starts_with("an OpenTool server answers"), "{}", found.text("port"));
    }
}

#[test]
fn a_model_that_is_set_must_answer() {
    let folder = TestFolder::new();
    let found = examine(&folder, &[], &[]);
    assert_eq!(found.state("chat"), "missing");
    let step: Vec<_> = found.next("chat").strip_prefix("opentool ").unwrap().split(' ').collect();
    assert_eq!(folder.run(&step).code, Some(0));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("http://{closed}");
    let found = examine(&folder, &[], &[("OPENTOOL_MODEL", "ollama:qwen3"), ("OLLAMA_HOST", &address)]);
    assert_eq!(found.state("chat"), "failed", "{}", found.text("chat"));
    let found = examine(&folder, &[], &[("OPENTOOL_MODEL", "qwen3")]);
    assert!(found.state("chat") == "failed" && found.text("chat").contains("PROVIDER:NAME"));
}

#[test]
fn the_model_of_a_trusted_file_must_answer_with_the_key_it_names() {
    let server = Script::start(|request| match request.path() {
        "/v1/models" => Some((200, r#"{"object":"list","data":[{"id":"small"}]}"#.to_owned())),
        _ => Some((404, "{}".to_owned())),
    });
    let table = |name: &str| {
        format!(
            "[model]\nprovider = \"openai\"\nname = \"{name}\"\nbase-url = \"{}/v1\"\nkey = {{ file = \"key\" }}\n",
            server.url()
        )
    };
    let folder = TestFolder::with("opentool.toml", table("small"));
    folder.put("key", "s3cret-key");
    let found = examine(&folder, &[], &[]);
    assert_eq!((found.state("chat"), found.next("chat")), ("failed", "opentool trust"));
    assert!(server.requests().is_empty(), "a file that is not trusted sends nothing");

    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let found = examine(&folder, &[], &[]);
    assert_eq!(found.text("chat"), "openai:small of opentool.toml: the provider answers, and has it");
    let asked = server.requests().pop().unwrap();
    assert!(asked.head.to_lowercase().contains("authorization: bearer s3cret-key"), "{}", asked.head);

    folder.put("opentool.toml", table("large"));
    let named = ["--config", "opentool.toml"];
    let found = examine(&folder, &named, &[]);
    assert_eq!(found.state("chat"), "missing", "{}", found.text("chat"));
    std::fs::remove_file(folder.path("key")).unwrap();
    let found = examine(&folder, &named, &[]);
    assert!(found.state("chat") == "failed" && found.text("chat").contains("key"), "{}", found.text("chat"));
    // As for `opentool chat`, the environment goes before the file.
    let count = server.requests().len();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let environment = [("OPENTOOL_MODEL", "ollama:qwen3"), ("OLLAMA_HOST", &*format!("http://{closed}"))];
    assert!(examine(&folder, &named, &environment).text("chat").starts_with("ollama:qwen3 of OPENTOOL_MODEL: "));
    assert_eq!(server.requests().len(), count);
}

#[test]
fn people_get_lines_and_a_summary() {
    let folder = TestFolder::new();
    let output = folder.command().arg("doctor").env("XDG_DATA_HOME", folder.path("data")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(concat!("opentool ", env!("CARGO_PKG_VERSION"), " (")), "{text}");
    for line in
        ["\nsandbox\n", "\nC libraries\n", "\nfolders\n", "\nserver\n", "\nconfiguration\n", "\nmodel\n", " failed\n"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "a pipe is no terminal: {text}");
}
