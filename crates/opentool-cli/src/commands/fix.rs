//! `opentool fix`: fixes what needs no decision of the author.

use std::path::PathBuf;

use clap::Args;
use opentool_spec::{Fixed, Severity};

use crate::{
    diff,
    exit_status::ExitStatus,
    failure::Failure,
    input::Input,
    replace::replace_file,
    report::{Checked, Shown, counted_all},
    terminal::{note, visible, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool fix weather.json              Show what would change; weather.json is not changed
  opentool fix weather.json | patch -p0  … and let patch(1) change it
  opentool fix weather.json --write      Change weather.json
  opentool fix old.json -o new.json      Write the fixed document to another file
  opentool fix - -o - < old.json         As a filter

Only what has one right answer is changed: older forms of a document become the current one, misspelt keys and types \
are corrected, absent defaults written out. Key order, layout and unknown keys are kept. Fixing twice changes no more.

Standard output: the changes as a unified diff, or with `-o -` the fixed document. Standard error: how much was \
fixed, and what is left to you. --write replaces the file in one step and keeps its permissions.

Exit codes: 0 no errors left; 1 errors left; 2 wrong usage, or a file that cannot be read or written.";

/// Fix what needs no decision of the author, and show the changes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Fix {
    /// The document, or `-` for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Write the fixed document here; `-` is standard output
    #[arg(short, long, value_name = "OUT", conflicts_with = "write")]
    output: Option<PathBuf>,
    /// Write the fixed document back to FILE
    #[arg(short, long)]
    write: bool,
}

impl Fix {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let input = Input::from(&self.input);
        if self.write && matches!(input, Input::StandardInput) {
            return Err(Failure::WriteBackToStandardInput);
        }
        let text = input.read_text()?;
        let fixed = opentool_spec::fix(&text);
        let name = input.name();
        if self.is_filter() {
            write_data(&fixed.text).map_err(Failure::output)?;
        } else {
            match &self.output {
                Some(output) => replace_file(output, &fixed.text)?,
                None if self.write && fixed.text != text => replace_file(&self.input, &fixed.text)?,
                None => {}
            }
            diff::show(&name, &text, &fixed.text).map_err(Failure::output)?;
        }
        self.summarise(&name, &text, &fixed);
        Ok(if fixed.report.is_usable() { ExitStatus::Success } else { ExitStatus::Errors })
    }

    /// Whether standard output takes the document, so that there is no place for a diff.
    fn is_filter(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.as_os_str() == "-")
    }

    /// Says on standard error what is left, and what was done.
    fn summarise(&self, name: &str, before: &str, fixed: &Fixed) {
        let checked = Checked { name, text: &fixed.text, report: &fixed.report };
        for finding in fixed.report.findings.iter().filter(|finding| finding.severity > Severity::Note) {
            note(&format_args!("{}\n", Shown::new(&checked, finding)));
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
