//! The section of the README about the first tool of one's own works as it stands, in an empty folder.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::readme::{ADDRESS, FIRST_TOOL, README, repository, search_path, shell};
use super::serving::wait_until;
use super::*;

const LONGEST: Duration = Duration::from_secs(5 * 60);

/// What the reader has done so far.
struct Reader {
    folder: TestFolder,
    /// The folder that the reader is in, below the empty one.
    current: String,
    /// The address that the program listens at, in place of the one of the README.
    address: SocketAddr,
    program: Option<Program>,
    building: Duration,
    commands: usize,
}

/// The reader's program, which does not outlive the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Reader {
    fn new() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        Self {
            folder: TestFolder::new(),
            current: ".".to_owned(),
            address: free.local_addr().unwrap(),
            program: None,
            building: Duration::ZERO,
            commands: 0,
        }
    }

    fn follow(&mut self, language: &str, text: &str) {
        match language {
            "sh" => text.lines().for_each(|line| self.run(line)),
            "rust,no_run" => {
                let file = format!("{}/src/main.rs", self.current);
                self.folder.put(&file, text.replace(ADDRESS, &self.address.to_string()));
            }
            "console" => text.split("$ ").skip(1).for_each(|step| self.walk(step)),
            other => panic!("a block of `{other}` that no test tries"),
        }
    }

    /// A line without output.
    fn run(&mut self, line: &str) {
        self.commands += 1;
        let repository = repository();
        if let Some(path) = line.strip_prefix("export PATH=") {
            // The tests have a binary of their own on the path.
            assert_eq!(path, r#""$PATH:PATH/TO/THIS/REPOSITORY/target/release""#);
        } else if let Some(folder) = line.strip_prefix("cd ") {
            self.current = folder.to_owned();
        } else {
            let line = line.replace("PATH/TO/THIS/REPOSITORY", repository.to_str().unwrap());
            // There may be no network; what is added is in the lock file of the repository.
            self.shell(&format!("CARGO_NET_OFFLINE=true {line}"));
        }
    }

    fn shell(&self, line: &str) -> String {
        shell(&self.folder, &format!("cd {} && {line}", self.current), &[])
    }

    /// A command and its output.
    fn walk(&mut self, step: &str) {
        self.commands += 1;
        let (line, expected) = step.split_once('\n').unwrap();
        if line == "cargo run &" {
            let begun = Instant::now();
            let program = self.build();
            self.building = begun.elapsed();
            return self.start(&program);
        }
        let printed = self.shell(&format!("{} 2>&1", line.replace(ADDRESS, &self.address.to_string())));
        assert_eq!(printed.trim_end(), expected.trim_end(), "{line}");
    }

    /// The first half of `cargo run`, with the versions that everything else is built with.
    fn build(&self) -> PathBuf {
        let folder = self.folder.path(&self.current);
        std::fs::copy(repository().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        let target = target();
        let output = Command::new(env!("CARGO"))
            .args(["build", "--offline", "--color=never"])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target)
            // As in the repository, so that what both need is built once.
            .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let program = self.folder.path("first-tool-program");
        // Another run of the tests may build its own there. Another process copies it: a child that a test starts meanwhile would have
        // the file open too, and Linux starts no program that is open for writing.
        let copied = Command::new("cp").arg(target.join("debug/first-tool")).arg(&program).status().unwrap();
        assert!(copied.success());
        program
    }

    /// The other half; without cargo in between, which would leave the program behind when it is killed.
    fn start(&mut self, program: &Path) {
        let child = Command::new(program).env("PATH", search_path()).stdout(Stdio::null()).spawn().unwrap();
        self.program = Some(Program(child));
        let address = self.address;
        wait_until(|| TcpStream::connect(address).is_ok(), || format!("the program at {address}"));
    }
}

/// The target directory of this very test.
fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().find(|path| path.join("CACHEDIR.TAG").exists() || path.ends_with("target"));
    found.unwrap_or_else(|| panic!("{} is in no target directory", test.display())).to_owned()
}

#[test]
fn the_first_tool_of_the_readme_is_called_through_mcp() {
    let section = README.split_once(FIRST_TOOL).unwrap().1;
    let section = &section[..section.find("\n## ").unwrap()];
    let begun = Instant::now();
    let mut reader = Reader::new();
    for block in section.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').unwrap();
        reader.follow(language, text);
    }
    let took = begun.elapsed() - reader.building;
    eprintln!("{} commands in {took:?}, and {:?} of compiling", reader.commands, reader.building);
    assert!(reader.commands >= 9, "{}", reader.commands);
    assert!(took < LONGEST, "{took:?}");

    // The error that stands on the first screen of the README is what a client of this very tool gets.
    let shown = README.split_once("```text\n").unwrap().1.lines().next().unwrap();
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stock","arguments":{"article":"nine"}}}"#;
    let answer =
        reader.shell(&format!("curl -s http://{}/mcp -H 'Accept: application/json' --json '{call}'", reader.address));
    assert_eq!(json(&answer)["result"]["content"][0]["text"], shown, "{answer}");
}
