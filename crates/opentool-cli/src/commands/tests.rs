//! What holds for every command: the same words and options, examples that are right, exit codes that are documented.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
};

use clap::{Arg, Command, error::ErrorKind};

use super::*;

/// The page that describes the command line for its users.
fn page() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/command-line.md");
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// Every command with its path, `opentool` itself among them.
fn commands() -> Vec<(String, Command)> {
    fn add(command: &Command, path: &str, all: &mut Vec<(String, Command)>) {
        all.push((path.to_owned(), command.clone()));
        for below in command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set()) {
            add(below, format!("{path} {}", below.get_name()).trim(), all);
        }
    }
    let mut root = Cli::command();
    root.build();
    let mut all = Vec::new();
    add(&root, "", &mut all);
    assert!(all.len() > 20, "{} commands", all.len());
    all
}

fn after_help(command: &Command) -> String {
    command.get_after_help().map(ToString::to_string).unwrap_or_default()
}

/// The lines below `Examples:`.
fn examples(command: &Command) -> Vec<String> {
    let help = after_help(command);
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    lines.take_while(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect()
}

/// The command lines of `opentool` in an example, without what explains it.
fn command_lines(example: &str) -> Vec<Vec<String>> {
    let (mut quote, mut end, mut parts, mut start) = (None, example.len(), Vec::new(), 0);
    let mut spaces = 0;
    for (at, char) in example.char_indices() {
        spaces = if char == ' ' && quote.is_none() { spaces + 1 } else { 0 };
        match (quote, char) {
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), char) if open == char => quote = None,
            (None, '|' | '>' | '<') => {
                parts.push(&example[start..at]);
                start = at + 1;
            }
            // Two spaces end the command, and begin its explanation.
            (None, ' ') if spaces == 2 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    parts.push(&example[start.min(end)..end]);
    let words = parts.into_iter().map(|part| shlex::split(part).expect(example));
    let ours = words.filter_map(|words| {
        let words: Vec<_> = words.into_iter().skip_while(|word| word.contains('=')).collect();
        (words.first()? == "opentool").then_some(words)
    });
    ours.collect()
}

#[test]
fn every_command_has_examples_that_can_be_parsed() {
    let mut faults = Vec::new();
    for (path, command) in commands() {
        let examples = examples(&command);
        if examples.is_empty() {
            faults.push(format!("`opentool {path}` has no examples"));
        }
        let mut is_shown = false;
        for example in &examples {
            let lines = command_lines(example);
            if lines.is_empty() {
                faults.push(format!("`opentool {path}`: no command in the example `{example}`"));
            }
            for words in lines {
                is_shown |= words.join(" ").starts_with(format!("opentool {path}").trim());
                match Cli::command().try_get_matches_from(&words) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::DisplayHelp => {}
                    Err(error) => faults.push(format!("`opentool {path}`: `{example}`: {error}")),
                }
            }
        }
        if !is_shown {
            faults.push(format!("`opentool {path}`: no example shows the command itself"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_example_with_a_wrong_option_is_found() {
    let words = command_lines("A=b opentool serve --prot 1 | jq '.a | .b'    Serves");
    assert_eq!(words, [["opentool", "serve", "--prot", "1"]]);
    assert!(Cli::command().try_get_matches_from(&words[0]).is_err());
    let piped = command_lines("opentool convert a.json --to openai | opentool import - > b.json");
    assert_eq!(piped.len(), 2);
}

/// The exit codes that a help text names.
fn exit_codes(help: &str) -> Vec<u8> {
    let Some((_, codes)) = help.split_once("Exit codes: ") else { return Vec::new() };
    codes.split(';').filter_map(|code| code.trim().split(' ').next()?.parse().ok()).collect()
}

#[test]
fn every_command_documents_its_exit_codes() {
    let known: Vec<_> = ExitStatus::ALL.iter().map(|status| status.code()).collect();
    for (path, command) in commands() {
        let codes = exit_codes(&after_help(&command));
        assert!(codes.first() == Some(&0) && codes.contains(&2), "`opentool {path}` documents {codes:?}");
        assert!(codes.is_sorted() && codes.iter().all(|code| known.contains(code)), "`opentool {path}`: {codes:?}");
    }
}

#[test]
fn the_page_has_the_exit_codes_of_the_program() {
    let (_, page) = page();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    let rows: Vec<_> = rows.filter_map(|(code, meaning)| Some((code.parse::<u8>().ok()?, meaning))).collect();
    let expected: Vec<_> = ExitStatus::ALL.iter().map(|status| (status.code(), status.meaning())).collect();
    assert_eq!(rows, expected);
}

/// An option as a user sees it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shown {
    value: String,
    help: String,
}

impl Shown {
    fn new(argument: &Arg) -> Self {
        let takes_value = argument.get_action().takes_values();
        let names = argument.get_value_names().filter(|_| takes_value).unwrap_or_default();
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        // Where several can be given, that is said; what it is does not change by it.
        let help = help.replace("; repeatable", "");
        Shown { value: names.join(" "), help }
    }
}

/// The options of each command: every `--name`, with what it takes and says, and the commands that have it so.
fn options() -> BTreeMap<String, BTreeMap<Shown, Vec<String>>> {
    let mut options: BTreeMap<String, BTreeMap<Shown, Vec<String>>> = BTreeMap::new();
    for (path, command) in commands() {
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let Some(name) = argument.get_long().filter(|name| !matches!(*name, "help" | "version")) else { continue };
            // One for all commands stands with the first of them.
            if argument.is_global_set() && !path.is_empty() && path != "runs" {
                continue;
            }
            options.entry(name.to_owned()).or_default().entry(Shown::new(argument)).or_default().push(path.clone());
        }
    }
    options
}

/// Options that mean something else for one command, and why that is right.
const OTHER_MEANING: [(&str, &str); 11] = [
    ("approve", "`chat` says which calls are asked about, `runs decide` that one may run"),
    ("journal", "`serve` writes it, `runs` reads it"),
    ("library", "`check` compares all documents with one library"),
    ("max-body", "a message on stdio has no body"),
    ("memory", "`chat` has a file of conversations, a C library an amount of memory"),
    ("output", "`man` writes into a folder, the others write a file"),
    ("port", "`serve` listens there for callers, `mcp login` for the browser"),
    ("source-api-key", "the commands for one source need not say whose it is"),
    ("source-api-key-env", "the same"),
    ("source-api-key-file", "the same"),
    ("yes", "what is not asked differs"),
];

#[test]
fn the_same_option_means_the_same_in_every_command() {
    let mut faults = Vec::new();
    for (name, shown) in options() {
        let is_exception = OTHER_MEANING.iter().any(|(other, _)| *other == name);
        if shown.len() > 1 && !is_exception {
            faults.push(format!("--{name} is described in {} ways: {shown:#?}", shown.len()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_same_letter_means_the_same_option() {
    let mut letters: BTreeMap<char, BTreeSet<String>> = BTreeMap::new();
    for (_, command) in commands() {
        for argument in command.get_arguments() {
            if let (Some(letter), Some(name)) = (argument.get_short(), argument.get_long()) {
                letters.entry(letter).or_default().insert(name.to_owned());
            }
        }
    }
    for (letter, names) in letters {
        assert_eq!(names.len(), 1, "-{letter} is {names:?}");
    }
}

/// The commands without a result that a program would read: they only have others below them, speak MCP, or print what a shell or a
/// pager reads.
const WITHOUT_JSON: [&str; 5] = ["", "completions", "dyn", "man", "mcp"];

#[test]
fn every_command_with_a_result_prints_it_as_json() {
    for (path, command) in commands() {
        let has_json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        let is_without = WITHOUT_JSON.contains(&path.as_str());
        assert_eq!(has_json, !is_without, "`opentool {path}`");
        if has_json {
            let help = after_help(&command);
            assert!(
                help.to_lowercase().contains("with --json"),
                "`opentool {path} --help` does not say what --json prints"
            );
        }
    }
}

/// The options that several commands have, as a table.
fn shared_options() -> String {
    let mut table = "| option | what it says | commands |\n|---|---|---|\n".to_owned();
    for (name, shown) in options() {
        let count: usize = shown.values().map(Vec::len).sum();
        let is_global = shown.values().any(|paths| paths.iter().any(String::is_empty));
        if count < 2 && !is_global {
            continue;
        }
        for (Shown { value, help }, paths) in shown {
            let value = if value.is_empty() { value } else { format!(" {value}") };
            let commands = if is_global { "all".to_owned() } else { format!("`{}`", paths.join("`, `")) };
            let help = help.replace('|', "\\|").replace('\n', " ");
            table.push_str(&format!("| `--{name}{}` | {help} | {commands} |\n", value.replace('|', "\\|")));
        }
    }
    table
}

#[test]
fn the_page_has_the_options_of_the_program() {
    const BEGIN: &str = "<!-- shared options -->\n";
    const END: &str = "<!-- end of shared options -->";
    let (path, page) = page();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let expected = shared_options();
    if table == expected {
        return;
    }
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    panic!("docs/command-line.md differs: run this test with UPDATE_DOCS=1\n{expected}");
}

#[test]
fn the_page_names_every_command() {
    let (_, page) = page();
    for (path, _) in commands() {
        assert!(
            page.contains(format!("`opentool {path}").trim_end()),
            "docs/command-line.md does not name `opentool {path}`"
        );
    }
}

#[test]
fn no_help_breaks_in_the_middle_of_a_line() {
    for (path, command) in commands() {
        for example in examples(&command) {
            // Where the width is not known, 100 columns are assumed.
            assert!(example.chars().count() + 2 <= 100, "`opentool {path} --help`: {example}");
        }
    }
    let text = "Examples:\n  a\n  b\n\nOne line\nand its rest.\nExit codes: 0 done";
    assert_eq!(super::paragraphs(text), "Examples:\n  a\n  b\n\nOne line and its rest. Exit codes: 0 done");
}
