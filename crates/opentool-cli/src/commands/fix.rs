//! `opentool fix`: fixes what needs no decision of the author.

use std::path::{Path, PathBuf};

use clap::Args;
use opentool_spec::{Fixed, Report, Severity};
use serde_json::{Value, json};

use crate::{
    diff,
    exit_status::ExitStatus,
    failure::Failure,
    input::{Input, looks_like_a_document, walk},
    replace::replace_file,
    report::{Checked, MAX_FINDINGS, Shown, and_more, counted, counted_all, most_serious},
    terminal::{advise, complain, note, visible, visible_json, warn, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool fix weather.json              Show what would change; weather.json is not changed
  opentool fix weather.json | patch -p0  … and let patch(1) change it
  opentool fix weather.json --write      Change weather.json
  opentool fix a.json docs/ --write      Change a file, and the documents of a folder
  opentool fix old.json -o new.json      Write the fixed document to another file
  opentool fix - -o - < old.json         As a filter

Only what has one right answer is changed: older forms of a document become the current one, misspelt keys and types \
are corrected, absent defaults written out. Key order, layout and unknown keys are kept. Fixing twice changes no more. \
A document of another format (OpenAPI, a list of tools, a JSON Schema …) is recognised and never changed.

With --json, there is one array of {file, fixes, changed, written, findings} over all files, instead of the changes and \
what is left: the number of fixes, whether the document changes by them, whether it was written, and the findings that \
are left, as `opentool check --json` has them.

In a folder, the same files are taken as by `opentool check`.

Standard output: the changes as a unified diff, or with `-o -` the fixed document. Standard error: how much was \
fixed, and what is left to you, with its place in the file as it is on disk. --write replaces the file in one step and \
keeps its permissions.

Exit codes: 0 no errors left; 1 errors left; 2 wrong usage, or a file that cannot be read or written (the others are \
fixed all the same).";

/// Fix what needs no decision of the author, and show the changes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Fix {
    /// Documents, folders, or `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Write the document here; `-` is standard output
    #[arg(short, long, value_name = "OUT", conflicts_with = "write")]
    output: Option<PathBuf>,
    /// Write the fixed documents back to their files
    #[arg(short, long)]
    write: bool,
    /// Show at most this many findings of each document, the most serious ones; 0 shows all
    #[arg(long, value_name = "N", default_value_t = MAX_FINDINGS)]
    max_findings: usize,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

/// What was done to documents.
#[derive(Debug, Default)]
struct Done {
    documents: usize,
    changed: usize,
    fixes: usize,
    errors: bool,
    unreadable: bool,
    /// What to try about the first one that could not be read.
    next: Option<String>,
    /// What `--json` prints.
    report: Vec<Value>,
}

impl Fix {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        self.refuse_impossible()?;
        let mut done = Done::default();
        for path in &self.inputs {
            match Input::from(path) {
                Input::Path(folder) if folder.is_dir() => self.folder(&folder, &mut done)?,
                input => self.settle(self.input(&input, &mut done), &mut done)?,
            }
        }
        if self.json {
            let text = serde_json::to_string_pretty(&done.report).map_err(|error| Failure::output(error.into()))?;
            write_data(&visible_json(&format!("{text}\n"))).map_err(Failure::output)?;
        } else if done.documents > 1 && !self.quiet {
            let (documents, fixes) = (counted(done.documents, "document"), counted(done.fixes, "fix"));
            let fixes = if done.fixes == 1 { fixes } else { format!("{} fixes", done.fixes) };
            note(&format_args!("{documents}: {fixes}, {} changed", done.changed));
        }
        if let Some(step) = &done.next {
            advise(step);
        }
        Ok(match done {
            Done { unreadable: true, .. } => ExitStatus::Unusable,
            Done { errors: true, .. } => ExitStatus::Errors,
            _ => ExitStatus::Success,
        })
    }

    fn refuse_impossible(&self) -> Result<(), Failure> {
        if self.write && self.inputs.iter().any(|input| input.as_os_str() == "-") {
            return Err(Failure::WriteBackToStandardInput);
        }
        if self.is_filter() && self.json {
            return Err(Failure::usage("`-o -` and `--json` both take standard output: leave one of them out"));
        }
        let many = self.inputs.len() > 1 || self.inputs.iter().any(|input| input.is_dir());
        if self.output.is_some() && many {
            return Err(Failure::usage("`-o OUT` takes one document; use --write to change several"));
        }
        Ok(())
    }

    /// Goes on with the other documents where this one cannot be read or written.
    fn settle(&self, result: Result<(), Failure>, done: &mut Done) -> Result<(), Failure> {
        match result {
            Err(failure @ (Failure::Read { .. } | Failure::NotText { .. } | Failure::Write { .. })) => {
                complain(&failure);
                done.unreadable = true;
                done.next = done.next.take().or_else(|| failure.next_step());
                Ok(())
            }
            other => other,
        }
    }

    fn folder(&self, folder: &Path, done: &mut Done) -> Result<(), Failure> {
        let before = done.documents;
        for input in walk(folder) {
            let fixed = input.and_then(|input| {
                let bytes = input.read()?;
                match &input {
                    Input::Path(path) if !looks_like_a_document(path, &bytes) => Ok(()),
                    input => self.input(input, done),
                }
            });
            self.settle(fixed, done)?;
        }
        if done.documents == before && !done.unreadable && !self.quiet {
            let folder = folder.to_string_lossy();
            warn(&format_args!("no OpenTool, OpenDyn or OpenWorkflow document in {}", visible(&folder)));
        }
        Ok(())
    }

    fn input(&self, input: &Input, done: &mut Done) -> Result<(), Failure> {
        let text = input.read_text()?;
        let fixed = opentool_spec::fix(&text);
        let name = input.name();
        let foreign = fixed.report.foreign.is_some();
        if self.is_filter() {
            if !foreign {
                write_data(&fixed.text).map_err(Failure::output)?;
            }
        } else {
            match (&self.output, input) {
                (Some(output), _) if !foreign => replace_file(output, &fixed.text)?,
                (None, Input::Path(path)) if self.write && fixed.text != text => replace_file(path, &fixed.text)?,
                _ => {}
            }
            if !self.quiet && !self.json {
                diff::show(&name, &text, &fixed.text).map_err(Failure::output)?;
            }
        }
        done.documents += 1;
        done.fixes += fixed.applied;
        done.changed += usize::from(fixed.text != text);
        done.errors |= !fixed.report.is_usable();
        if self.json {
            done.report.push(self.as_json(&name, &text, &fixed));
            return Ok(());
        }
        self.show_left(&name, &text, &fixed);
        if !self.quiet {
            self.summarise(&name, &text, &fixed);
        }
        Ok(())
    }

    /// Whether standard output takes the document, so that there is no place for a diff.
    fn is_filter(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.as_os_str() == "-")
    }

    /// What was done, for programs.
    fn as_json(&self, name: &str, before: &str, fixed: &Fixed) -> Value {
        let changed = fixed.text != before;
        let is_foreign = fixed.report.foreign.is_some();
        let written = !is_foreign && (self.output.is_some() || (self.write && changed));
        let report = if self.write { &fixed.report } else { &fixed.left };
        let least = if self.quiet { Severity::Error } else { Severity::Note };
        let (findings, _) = most_serious(report, least, self.max_findings);
        json!({ "file": name, "fixes": fixed.applied, "changed": changed, "written": written, "findings": findings })
    }

    /// Shows on standard error what is left, where it is in the file as it is now.
    fn show_left(&self, name: &str, before: &str, fixed: &Fixed) {
        let (text, report): (&str, &Report) =
            if self.write { (&fixed.text, &fixed.report) } else { (before, &fixed.left) };
        let least = if self.quiet { Severity::Error } else { Severity::Warning };
        let checked = Checked { name, text, report };
        let (shown, more) = most_serious(report, least, self.max_findings);
        for finding in shown {
            note(&format_args!("{}\n", Shown::new(&checked, finding)));
        }
        if more > 0 && !self.quiet {
            note(&format_args!("{}\n", and_more(more, name, self.max_findings)));
        }
    }

    /// Says on standard error what was done.
    fn summarise(&self, name: &str, before: &str, fixed: &Fixed) {
        if let Some(format) = fixed.report.foreign {
            note(&format_args!("{}: {}, left as it is", visible(name), format.described()));
            return;
        }
        let done = match (fixed.text == before, fixed.applied) {
            (true, _) => "nothing to fix".to_owned(),
            // Bringing the version up to date is no answer to a finding.
            (false, 0) => "the version updated".to_owned(),
            (false, 1) => "1 fix".to_owned(),
            (false, applied) => format!("{applied} fixes"),
        };
        let written = match &self.output {
            _ if self.is_filter() => String::new(),
            Some(output) => format!(", written to {}", visible(&output.to_string_lossy())),
            None if fixed.text == before => String::new(),
            None if self.write => ", written".to_owned(),
            None => "; nothing written: use --write, or -o OUT".to_owned(),
        };
        let (errors, warnings) = (fixed.report.count(Severity::Error), fixed.report.count(Severity::Warning));
        let left = match counted_all(&[(errors, "error"), (warnings, "warning")]) {
            left if left.is_empty() => left,
            left => format!("; left to you: {left}"),
        };
        note(&format_args!("{}: {done}{left}{written}", visible(name)));
    }
}
