//! What a user sees after a mistake. Each message names a next step, and where that is a command of ours, it works.

use std::net::TcpListener;

use super::serving::{Script, Served, document};
use super::*;

/// Everything that could name a model or a key.
const VARIABLES: [&str; 8] = [
    "OPENTOOL_MODEL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OLLAMA_HOST",
    "OLLAMA_API_KEY",
];

/// A command that fails, and what it said.
struct Transcript<'a> {
    folder: &'a TestFolder,
    ran: Ran,
    text: String,
}

impl<'a> Transcript<'a> {
    fn new(folder: &'a TestFolder, arguments: &[&str]) -> Self {
        Self::with(folder, arguments, &[])
    }

    fn with(folder: &'a TestFolder, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = folder.command();
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        let output = command.envs(environment.iter().copied()).args(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let ran = Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(ran.code.is_some_and(|code| code != 0), "{arguments:?} did not fail: {ran:?}");
        let environment: String = environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
        let text = format!(
            "$ {environment}opentool {}\n{}{}[exit code {}]\n",
            shlex(arguments),
            ran.stdout,
            ran.stderr,
            ran.code.unwrap()
        );
        Transcript { folder, ran, text }
    }

    /// Puts a word in the place of one that differs from run to run.
    fn hiding(mut self, hidden: &str, shown: &str) -> Self {
        self.text = self.text.replace(hidden, shown);
        self
    }

    /// Compares it with its snapshot.
    fn matches(&self, name: &str) {
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/transcripts" }, {
            insta::assert_snapshot!(name, self.text);
        });
    }

    /// What the last line says to do.
    fn next_step(&self) -> &str {
        let step = self.ran.stderr.lines().last().and_then(|line| line.strip_prefix("try: "));
        step.unwrap_or_else(|| panic!("there is no next step: {}", self.text))
    }

    /// Runs the next step, which is a command.
    fn follow(&self) -> Ran {
        let step = self.next_step();
        assert!(step.starts_with("opentool "), "{step}");
        let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("sh");
        command.args(["-c", step]).current_dir(self.folder.0.path()).env("PATH", path);
        for variable in VARIABLES.iter().chain(&["OPENTOOL_API_KEY", "RUST_LOG"]) {
            command.env_remove(variable);
        }
        let output = command.env("XDG_STATE_HOME", self.folder.path("state")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Starts the server that the next step is.
    fn start(&self) -> Served {
        let words = self.next_step().strip_prefix("opentool serve ").unwrap();
        Served::start_exactly(self.folder, &words.split(' ').collect::<Vec<_>>(), &[])
    }
}

/// Words as they are typed.
fn shlex(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| match word.contains([' ', '{']) {
        true => format!("'{word}'"),
        false => (*word).to_owned(),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn clock() -> TestFolder {
    TestFolder::with("clock.json", CLEAN)
}

/// Fails as the snapshot shows, and the next step ends with 0 and prints this.
fn leads_to(folder: &TestFolder, name: &str, arguments: &[&str], printed: &str) {
    let transcript = Transcript::new(folder, arguments);
    transcript.matches(name);
    let ran = transcript.follow();
    assert_eq!(ran.code, Some(0), "{}: {ran:?}", transcript.next_step());
    assert!(ran.stdout.contains(printed), "{}: {ran:?}", transcript.next_step());
}

#[test]
fn a_typo_leads_to_what_was_meant() {
    let folder = clock();
    leads_to(&folder, "a_typo_in_a_command", &["chek", "clock.json"], "1 document checked");
    leads_to(&folder, "a_typo_in_an_option", &["check", "--strct", "clock.json"], "1 document checked");
    leads_to(&folder, "a_typo_in_a_value", &["convert", "clock.json", "--to", "opnai"], "\"now\"");
    leads_to(&folder, "a_typo_in_a_function", &["call", "demo", "ad", "a=1", "b=2"], "\"sum\": 3");
    leads_to(&folder, "a_typo_in_an_argument", &["call", "demo", "text_statistics", "txt=a b"], "\"words\": 2");
}

#[test]
fn a_wrong_argument_leads_to_what_the_function_takes() {
    let folder = clock();
    leads_to(
        &folder,
        "an_argument_of_another_type",
        &["call", "demo", "add", "a=one", "b=2"],
        "add(a: integer, b: integer)",
    );
    leads_to(&folder, "a_missing_argument", &["call", "demo", "add", "a=1"], "add(a: integer, b: integer)");
    leads_to(&folder, "a_missing_function", &["call", "demo"], "Usage: opentool call");
    leads_to(&folder, "an_option_that_is_not_there", &["tools", "demo", "--frobnicate"], "Usage: opentool tools");
}

#[test]
fn a_file_that_is_not_there_leads_to_one_that_is() {
    let folder = clock();
    leads_to(&folder, "a_missing_file_with_a_near_name", &["tools", "clok.json"], "now()");
    leads_to(&folder, "a_missing_file", &["tools", "weather.json"], "add(a: integer, b: integer)");
    leads_to(&folder, "a_missing_file_to_check", &["check", "clok.json"], "1 document checked");
    leads_to(&folder, "a_missing_file_to_fix", &["fix", "weather.json"], "1 document checked");
}

#[test]
fn a_wrong_file_leads_to_its_faults() {
    let folder = TestFolder::with("broken.json", "{\n  \"opentool\": \"1.1.0\",\n  oops\n}\n");
    folder.put("package.json", r#"{ "name": "my-project", "dependencies": {} }"#);
    for (name, file) in [("a_file_that_is_no_json", "broken.json"), ("a_file_that_is_no_document", "package.json")] {
        let transcript = Transcript::new(&folder, &["tools", file]);
        transcript.matches(name);
        let ran = transcript.follow();
        // As documented: the document has errors.
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains(&format!("--> {file}:")), "{ran:?}");
    }
}

#[test]
fn what_cannot_be_started_or_found_has_a_next_step() {
    let folder = TestFolder::with("weather.opentool.json", document(&["rain"], Some("http://127.0.0.1:1")).to_string());
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for example in ["libm.opendyn.json", "notes.openworkflow.json"] {
        folder.put(example, std::fs::read(examples.join(example)).unwrap());
    }
    for (name, arguments) in [
        ("a_server_that_ends", &["tools", "--mcp", "false"][..]),
        ("a_server_that_ends_with_words", &["tools", "--mcp", "sh -c 'echo no disk >&2; exit 3'"]),
        ("a_server_that_is_not_there", &["tools", "--mcp", "nosuchprogram x"]),
        ("a_library_file_that_is_not_there", &["tools", "libm.opendyn.json", "--library", "./lib nope.so"]),
        ("a_header_that_is_not_there", &["dyn", "describe", "libm.so.6", "--header", "nope.h"]),
        ("another_workflow_without_tools", &["call", "flow.openworkflow.json"]),
    ] {
        let flow = folder.read("notes.openworkflow.json").replace("add_note", "fly");
        folder.put("flow.openworkflow.json", flow);
        let transcript = Transcript::new(&folder, arguments);
        assert!(!transcript.next_step().is_empty());
        transcript.matches(name);
    }
    leads_to(&folder, "an_import_of_our_own", &["import", "weather.opentool.json"], "1 document checked");
    let transcript = Transcript::new(&folder, &["call", "notes.openworkflow.json"]);
    transcript.matches("a_workflow_without_tools");
    assert_eq!(transcript.follow().code, Some(0));
}

#[test]
fn a_typo_in_a_name_of_ours_leads_to_it() {
    let folder = clock();
    leads_to(&folder, "a_typo_in_a_command_for_help", &["help", "srve"], "Usage: opentool serve");
    leads_to(&folder, "a_typo_in_a_command_for_man", &["man", "mcp", "logn"], "opentool\\-mcp\\-login");
    for (name, arguments, step) in [
        ("a_typo_in_a_model", &["chat", "--model", "olama:x", "hi"][..], "opentool chat --model ollama:x hi"),
        ("a_typo_in_a_provider", &["models", "olama"], "opentool models ollama"),
    ] {
        let transcript = Transcript::new(&folder, arguments);
        transcript.matches(name);
        assert_eq!(transcript.next_step(), step);
    }
}

/// A port on which nothing listens.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_closed_port_leads_to_no_other_server() {
    let folder = TestFolder::new();
    let port = closed_port().to_string();
    let arguments = ["tools", &format!("http://127.0.0.1:{port}")];
    let transcript = Transcript::new(&folder, &arguments).hiding(&port, "[port]");
    transcript.matches("a_closed_port");
    // A server of ours would hide that the one that was meant is not there.
    let login = Transcript::new(&folder, &["mcp", "login", &format!("http://127.0.0.1:{port}/mcp"), "--no-browser"]);
    login.hiding(&port, "[port]").matches("a_login_at_a_closed_port");
}

#[test]
fn a_taken_port_leads_to_a_free_one() {
    let folder = TestFolder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let transcript = Transcript::new(&folder, &["serve", "--port", &port]);
    let free = transcript.next_step().rsplit(' ').next().unwrap().to_owned();
    assert_ne!(free, port);
    let transcript = transcript.hiding(&free, "[free port]").hiding(&port, "[port]");
    transcript.matches("a_taken_port");
    assert_eq!(transcript.start().address.port().to_string(), free);
    for option in ["-t", "--toolPort"] {
        let transcript = Transcript::new(&folder, &["serve", option, &port]);
        assert_ne!(transcript.start().address.port().to_string(), port);
    }
}

#[test]
fn a_source_that_would_be_the_server_itself_leads_to_another_port() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let document = document(&["rain"], Some(&format!("http://localhost:{port}/opentool"))).to_string();
    let folder = TestFolder::with("rain.opentool.json", document);
    let transcript = Transcript::new(&folder, &["serve", "rain.opentool.json", "--port", &port]);
    let free = transcript.next_step().rsplit(' ').next().unwrap().to_owned();
    let transcript = transcript.hiding(&free, "[free port]").hiding(&port, "[port]");
    transcript.matches("a_source_that_is_the_server_itself");
    assert_eq!(transcript.start().address.port().to_string(), free);
}

#[test]
fn an_mcp_source_at_the_port_of_the_server_leads_to_another_port() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    let port = served.address.port().to_string();
    let transcript = Transcript::new(&folder, &["serve", &format!("mcp+http://localhost:{port}/mcp"), "--port", &port]);
    let free = transcript.next_step().rsplit(' ').next().unwrap().to_owned();
    let transcript = transcript.hiding(&free, "[free port]").hiding(&port, "[port]");
    transcript.matches("an_mcp_source_that_is_the_server_itself");
    let gateway = transcript.start();
    assert_eq!(gateway.address.port().to_string(), free);
    assert_eq!(
        gateway.call("add", serde_json::json!({ "a": 1, "b": 2 }))["result"],
        serde_json::json!({ "result": "3" })
    );
}

#[test]
fn a_wrong_key_leads_to_the_place_of_the_right_one() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[("OPENTOOL_API_KEY", "right")]);
    let url = format!("http://{}", served.address);
    let port = served.address.port().to_string();
    let wrong = Transcript::with(&folder, &["tools", &url], &[("OPENTOOL_API_KEY", "wrong")]);
    wrong.hiding(&port, "[port]").matches("a_wrong_key");
    let missing = Transcript::new(&folder, &["tools", &url]).hiding(&port, "[port]");
    missing.matches("a_missing_key");
    assert!(missing.next_step().contains("OPENTOOL_API_KEY"));
    // A server that says nothing of a login may want either.
    let url = format!("mcp+{url}/mcp");
    let missing = Transcript::new(&folder, &["tools", &url]).hiding(&port, "[port]");
    missing.matches("a_missing_key_of_an_mcp_server");
    assert!(missing.next_step().contains("OPENTOOL_API_KEY"));
    let wrong = Transcript::with(&folder, &["tools", &url], &[("OPENTOOL_API_KEY", "wrong")]);
    wrong.hiding(&port, "[port]").matches("a_wrong_key_of_an_mcp_server");
    let output = folder.command().args(["tools", &url]).env("OPENTOOL_API_KEY", "right").output().unwrap();
    assert!(output.status.success());
}

#[test]
fn another_url_of_an_mcp_server_leads_to_the_right_one() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    for url in [format!("http://{}/mcp", served.address), format!("mcp+http://{}", served.address)] {
        let transcript = Transcript::new(&folder, &["call", &url, "add", "a=1", "b=2"]);
        let ran = transcript.follow();
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"3\"\n}\n"), "{}", transcript.text);
    }
}

#[test]
fn a_configuration_file_that_is_not_there_leads_to_init() {
    let folder = TestFolder::new();
    let transcript = Transcript::new(&folder, &["serve", "--config", "own.toml"]);
    assert_eq!(transcript.next_step(), "`opentool init` writes an opentool.toml, which is read without `--config`");
    assert_eq!(folder.run(&["init"]).code, Some(0));
    let transcript = Transcript::new(&folder, &["serve", "--config", "own.toml"]);
    assert_eq!(transcript.next_step(), "leave `--config` out: opentool.toml of this folder is read without it");
    std::fs::create_dir(folder.path("other")).unwrap();
    let transcript = Transcript::new(&folder, &["trust", "other"]);
    assert_eq!((transcript.next_step(), transcript.follow().code), ("opentool init other", Some(0)));
    for option in ["--api-keys-file", "--journal"] {
        let said = Transcript::new(&folder, &["serve", "--port", "0", option, "none/file"]).text;
        assert!(said.contains("no such file or directory") && !said.contains("os error"), "{said}");
    }
    let said = Transcript::new(&folder, &["serve", "--port", "0", "--admin-addr", "foo"]).text;
    assert!(said.contains("foo is no address: give ADDR:PORT, such as 127.0.0.1:9628"), "{said}");
    let said = Transcript::new(&folder, &["serve", "--port", "0", "--public-url", "foo"]).text;
    assert!(said.contains("`--public-url foo` is no http:// or https:// URL"), "{said}");
    let said = Transcript::new(&folder, &["mcp", "own.json", "--print-config"]).text;
    assert!(said.contains("cannot read own.json: no such file or directory"), "{said}");
    let said = Transcript::new(&folder, &["mcp", "--config", "gone.toml", "--print-config"]).text;
    assert!(said.contains("cannot read gone.toml: no such file or directory"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_missing_library_leads_to_one_with_a_near_name() {
    let document = include_str!("../../../../examples/libm.opendyn.json");
    let folder = TestFolder::with("libm.opendyn.json", document);
    let call = |library| ["call", "libm.opendyn.json", "cos", "x=0", "--library", library];
    let transcript = Transcript::new(&folder, &call("libm.so.66"));
    // Which names come near depends on what is installed.
    let (_, rest) = transcript.text.split_once("did you mean ").unwrap();
    let names = rest.split('?').next().unwrap().to_owned();
    let transcript = transcript.hiding(&names, "[names]");
    transcript.matches("a_missing_library_with_a_near_name");
    let ran = transcript.follow();
    assert_eq!((ran.code, json(&ran.stdout)["cosine"].as_f64()), (Some(0), Some(1.0)), "{ran:?}");
    Transcript::new(&folder, &call("libnowhere-to-be-found.so.3")).matches("a_missing_library");
    // What development packages have under this name is no library.
    let ran = Transcript::new(&folder, &call("libm.so")).follow();
    assert_eq!((ran.code, json(&ran.stdout)["cosine"].as_f64()), (Some(0), Some(1.0)), "{ran:?}");
}

#[test]
fn a_missing_model_leads_to_the_providers() {
    let folder = TestFolder::new();
    leads_to(&folder, "no_model", &["chat", "hello"], "OPENAI_API_KEY");
    let misspelt = Transcript::new(&folder, &["chat", "--model", "opnai:gpt-5-mini", "hello"]);
    misspelt.matches("an_unknown_provider");
    assert_eq!(misspelt.next_step(), "opentool chat --model openai:gpt-5-mini hello");
    let unknown = Transcript::new(&folder, &["chat", "--model", "acme:gpt", "hello"]);
    assert!(unknown.follow().stdout.contains("Usage: opentool chat"), "{}", unknown.text);
}

/// The commands that a next step in words has in backticks, run.
fn named_commands_work(transcript: &Transcript<'_>) {
    let commands: Vec<_> = transcript.next_step().split('`').filter(|part| part.starts_with("opentool ")).collect();
    assert!(!commands.is_empty(), "{}", transcript.text);
    for command in commands {
        let words: Vec<_> = command.split(' ').skip(1).collect();
        assert_eq!(transcript.folder.run(&words).code, Some(0), "{command}");
    }
}

#[test]
fn a_model_that_does_not_answer_leads_to_its_settings() {
    let folder = TestFolder::new();
    let port = closed_port().to_string();
    let host = format!("http://127.0.0.1:{port}");
    let arguments = ["chat", "--model", "ollama:qwen3", "hello"];
    let transcript = Transcript::with(&folder, &arguments, &[("OLLAMA_HOST", &host)]).hiding(&port, "[port]");
    transcript.matches("a_model_that_cannot_be_reached");
    named_commands_work(&transcript);

    let refusal = r#"{"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}}"#;
    let provider = Script::start(move |_| Some((401, refusal.to_owned())));
    let url = format!("http://{}/v1", provider.address);
    let environment = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "wrong-key")];
    let transcript = Transcript::with(&folder, &["chat", "--model", "openai:gpt-5-mini", "hello"], &environment);
    assert!(!transcript.ran.stderr.contains("wrong-key"), "{}", transcript.text);
    let transcript = transcript.hiding(&provider.address.port().to_string(), "[port]");
    transcript.matches("a_model_that_refuses_the_key");
    named_commands_work(&transcript);
}

#[test]
fn colours_are_for_terminals_or_on_demand() {
    let folder = clock();
    let coloured = |arguments: &[&str], variable: &str| {
        let output = folder.command().args(arguments).env(variable, "1").output().unwrap();
        String::from_utf8(output.stderr).unwrap().contains('\u{1b}')
    };
    for arguments in [&["chek"][..], &["tools", "weather.json"], &["call", "demo", "ad"]] {
        assert!(coloured(arguments, "CLICOLOR_FORCE"), "{arguments:?}");
        assert!(!coloured(arguments, "NO_COLOR") && !coloured(arguments, "X"), "{arguments:?}");
    }
}

#[test]
fn a_next_step_never_repeats_a_secret() {
    let folder = TestFolder::new();
    let transcript = Transcript::new(&folder, &["serve", "--api-key", "s3cret", "--prt", "1"]);
    assert_eq!(transcript.next_step(), "opentool serve --help");
    assert!(!transcript.ran.stderr.contains("s3cret"), "{}", transcript.text);
    assert_eq!(transcript.follow().code, Some(0));
}

#[test]
fn a_next_step_stands_in_a_log_of_json_lines_too() {
    let folder = clock();
    let ran = folder.run(&["--log-format", "json", "chek", "clock.json"]);
    let lines: Vec<_> = ran.stderr.lines().map(json).collect();
    assert_eq!(lines.last().unwrap()["message"], "try: opentool --log-format json check clock.json", "{ran:?}");
    assert_eq!(ran.code, Some(2));
}
