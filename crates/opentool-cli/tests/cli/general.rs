use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use super::*;

#[test]
fn without_a_command_the_help_is_shown() {
    let ran = run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("Usage: opentool [OPTIONS] <COMMAND>") && ran.stderr.contains("Examples:"),
        "{}",
        ran.stderr
    );
}

#[test]
fn help_teaches_with_examples() {
    for command in
        ["serve", "tools", "call", "chat", "load", "version", "check", "fix", "convert", "schema", "completions"]
    {
        let ran = run(&[command, "--help"]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stdout.contains(&format!("Examples:\n  opentool {command}")), "{}", ran.stdout);
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(run(&["-V"]).stdout, concat!("opentool ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn an_unknown_command_gets_a_suggestion() {
    let ran = run(&["chek"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("'check'"), "{}", ran.stderr);
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let folder = TestFolder::with("a.json", FAULTY);
    let coloured = |name: &str, value: &str| {
        let output = folder.command().args(["check", "a.json"]).env(name, value).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    assert!(!coloured("X", ""), "a pipe is no terminal");
    assert!(coloured("CLICOLOR_FORCE", "1"));
    assert!(!coloured("NO_COLOR", "1"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let function = r#"{"name":"f","description":"d"}"#;
    let functions = vec![function; 20_000].join(",");
    let text = format!(r#"{{"opentool":"1.1.0","info":{{"title":"t","version":"1"}},"functions":[{functions}]}}"#);
    let folder = TestFolder::with("a.json", text);
    for arguments in [&["check", "a.json"][..], &["check", "--format", "json", "a.json"], &["fix", "a.json"]] {
        let mut command = std::process::Command::new(binary());
        command.args(arguments).current_dir(folder.0.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {:?} {stderr}", output.status);
        assert!(!stderr.contains("panicked") && !stderr.contains("pipe"), "{arguments:?}: {stderr}");
    }
}
