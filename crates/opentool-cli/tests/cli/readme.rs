//! The commands of the README do what it shows.

use std::{fs, path::Path};

use assert_cmd::Command;

const README: &str = include_str!("../../../../README.md");

/// The blocks of one language, in order.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    README.split("```").skip(1).step_by(2).filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

#[test]
fn every_console_sample_prints_what_the_readme_shows() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("clock.json"), blocks("json").next().unwrap()).unwrap();
    let mut commands = 0;
    for sample in blocks("console") {
        for step in sample.split("$ ").skip(1) {
            let (command, expected) = step.split_once('\n').unwrap();
            let arguments = command.strip_prefix("opentool ").unwrap().split(' ');
            let output =
                Command::cargo_bin("opentool").unwrap().args(arguments).current_dir(folder.path()).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), expected.trim_end(), "{command}");
            commands += 1;
        }
    }
    assert!(commands > 0);
}

#[test]
fn the_first_command_of_the_readme_passes() {
    let first = blocks("sh").next().unwrap().lines().next().unwrap();
    let arguments = first.strip_prefix("cargo run --release -- ").unwrap().split('#').next().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::cargo_bin("opentool").unwrap().args(arguments.split_whitespace()).current_dir(root).assert().success();
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
