//! The binary as its users meet it: real files, real exit codes, real streams.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[cfg(target_os = "linux")]
mod attack;
mod chat;
mod check;
mod configuration;
mod convert;
mod describe;
mod docs;
#[cfg(target_os = "linux")]
mod doctor;
#[path = "../../../../fuzz/documents.rs"]
#[allow(unreachable_pub, reason = "the tests of the documents include the file too")]
mod documents;
mod drain;
mod durable;
mod first_tool;
mod fix;
mod formats;
#[cfg(target_os = "linux")]
mod gateway;
mod general;
mod guide;
mod help;
#[cfg(target_os = "linux")]
mod hostile_library;
mod import;
mod init;
mod library;
mod loads;
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_client;
#[cfg(target_os = "linux")]
mod mcp_login;
mod models;
mod mutate;
mod observe;
mod operation;
mod page;
mod questions;
mod readme;
mod reload;
mod remote;
mod serve;
mod serving;
mod sources;
mod transcripts;
mod trust;
mod workflows;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

/// A document without anything to report.
const CLEAN: &str = r#"{
  "opentool": "1.1.0",
  "info": { "title": "Clock", "version": "1.0.0" },
  "functions": [{ "name": "now", "description": "The time.", "parameters": [] }]
}
"#;

/// A document with a warning that can be fixed.
const WARNED: &str = r#"{
  "opentool": "1.1.0",
  "info": { "title": "Clock", "version": "1.0.0" },
  "functions": [{ "name": "now", "description": "The time." }]
}
"#;

/// A document with an error that can be fixed, one that cannot, a warning and a note.
const FAULTY: &str = r#"{
  "opentool": "1.1.0",
  "info": { "titel": "Clock", "version": "1.0.0" },
  "functions": [
    { "name": "set alarm", "description": "Ring.", "colour": "red" }
  ]
}
"#;

/// What a run of the binary gave.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A folder to run the binary in.
struct TestFolder(TempDir);

impl TestFolder {
    fn new() -> Self {
        TestFolder(TempDir::new().unwrap())
    }

    /// A folder with one file.
    fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = TestFolder::new();
        folder.put(name, content);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.0.path());
        for variable in ["NO_COLOR", "CLICOLOR_FORCE", "OPENTOOL_API_KEY", "RUST_LOG"] {
            command.env_remove(variable);
        }
        // What the user of the tests trusts is none of theirs.
        command.env("XDG_STATE_HOME", self.path("state"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    fn run_with(&self, arguments: &[&str], stdin: impl Into<Vec<u8>>) -> Ran {
        let output = self.command().args(arguments).write_stdin(stdin).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_opentool"))
}

/// Runs in an empty folder.
fn run(arguments: &[&str]) -> Ran {
    TestFolder::new().run(arguments)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
