//! The commands of the README do what it shows.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::serving::Served;
use super::*;

const README: &str = include_str!("../../../../README.md");

static EXAMPLES: LazyLock<PathBuf> = LazyLock::new(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"));

/// The blocks of one language, in order.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    README.split("```").skip(1).step_by(2).filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

/// The address that the samples have, in whose place the tests put one that is free.
const ADDRESS: &str = "127.0.0.1:9627";

/// Where programs are looked for, the binary among them.
fn search_path() -> String {
    let bin = binary().parent().unwrap().to_str().unwrap();
    format!("{bin}:{}", std::env::var("PATH").unwrap())
}

/// Runs a line of a sample in a shell that finds the binary.
fn shell(folder: &TestFolder, line: &str, environment: &[(&str, &str)]) -> String {
    let mut command = std::process::Command::new("sh");
    command.envs(environment.iter().copied());
    command.args(["-c", line]).current_dir(folder.0.path()).env("PATH", search_path()).env_remove("OPENTOOL_API_KEY");
    command.env("XDG_STATE_HOME", folder.path("state"));
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// Starts `NAME=VALUE… opentool serve …`.
fn start(folder: &TestFolder, line: &str) -> Served {
    let (environment, arguments) = line.split_once("opentool serve").unwrap();
    let path = search_path();
    let mut environment: Vec<_> = environment.split_whitespace().map(|pair| pair.split_once('=').unwrap()).collect();
    environment.push(("PATH", &path));
    Served::start(folder, &arguments.split_whitespace().collect::<Vec<_>>(), &environment)
}

/// Runs every step of a sample and compares what it prints; a step that ends with `&` is a server for the steps after it.
///
/// `redirect` is put behind every line, as `2>&1` where the sample shows standard error too.
pub(crate) fn walk(folder: &TestFolder, sample: &str, redirect: &str) -> usize {
    walk_in(folder, sample, redirect, &[])
}

/// As `walk`, in an environment.
pub(crate) fn walk_in(folder: &TestFolder, sample: &str, redirect: &str, environment: &[(&str, &str)]) -> usize {
    let mut served: Option<Served> = None;
    let mut commands = 0;
    for step in sample.split("$ ").skip(1) {
        let (line, expected) = step.split_once('\n').unwrap();
        commands += 1;
        if let Some(line) = line.strip_suffix(" &") {
            served = Some(start(folder, line));
            continue;
        }
        let (line, expected) = match &served {
            Some(served) => {
                let address = served.address.to_string();
                (line.replace(ADDRESS, &address), expected.replace(ADDRESS, &address))
            }
            None => (line.to_owned(), expected.to_owned()),
        };
        assert_eq!(shell(folder, &format!("{line} {redirect}"), environment).trim_end(), expected.trim_end(), "{line}");
    }
    commands
}

#[test]
fn every_console_sample_prints_what_the_readme_shows() {
    let folder = TestFolder::with("clock.json", blocks("json").next().unwrap());
    for example in EXAMPLES.read_dir().unwrap() {
        let example = example.unwrap();
        folder.put(&format!("examples/{}", example.file_name().display()), std::fs::read(example.path()).unwrap());
    }
    let commands: usize = blocks("console").map(|sample| walk(&folder, sample, "")).sum();
    assert!(commands > 0);
}

#[test]
fn the_first_command_of_the_readme_serves() {
    let first = blocks("sh").next().unwrap().lines().next().unwrap();
    let command = first.strip_prefix("cargo run --release -- ").unwrap().split('#').next().unwrap();
    let folder = TestFolder::new();
    let served = start(&folder, &format!("opentool {command}"));
    let version = shell(&folder, &format!("curl -s http://{}/opentool/version", served.address), &[]);
    assert_eq!(version, concat!(r#"{"version":""#, env!("CARGO_PKG_VERSION"), r#""}"#));
}

#[test]
fn a_program_of_its_own_gets_the_crates_that_the_readme_adds() {
    let folder = TestFolder::with("src/lib.rs", "");
    let manifest = "[package]\nname = \"own\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    folder.put("Cargo.toml", manifest);
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let lines: Vec<_> = blocks("sh").flat_map(str::lines).filter(|line| line.starts_with("cargo add ")).collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        let line = line.replace("PATH/TO/THIS/REPOSITORY", repository.to_str().unwrap());
        shell(&folder, &format!("CARGO_NET_OFFLINE=true {line}"), &[]);
    }
    let manifest = std::fs::read_to_string(folder.0.path().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("opentool = {") && manifest.contains("\ntokio = {"), "{manifest}");
}

#[test]
fn the_examples_have_nothing_to_report() {
    Command::cargo_bin("opentool").unwrap().args(["check", "--strict"]).arg(&*EXAMPLES).assert().success();
}

#[test]
fn every_command_of_the_readme_exists() {
    let rows = README.lines().filter_map(|line| line.strip_prefix("| `opentool ")?.split([' ', '`']).next());
    let mut rows: Vec<_> = rows.filter(|name| !name.is_empty()).collect();
    rows.dedup();
    assert!(rows.len() >= 5, "{rows:?}");
    for name in rows {
        Command::cargo_bin("opentool").unwrap().args([name, "--help"]).assert().success();
    }
}
