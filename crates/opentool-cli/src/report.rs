//! Findings, written for people, for programs and for GitHub.

mod checked;
mod chosen;
mod excerpt;
mod github;
mod human;
mod json;
mod totals;

use std::io::{self, Write};

use opentool_spec::Severity;

use crate::terminal::note;

pub(crate) use checked::Checked;
pub(crate) use chosen::{MAX_FINDINGS, and_more, most_serious};
pub(crate) use human::Shown;
pub(crate) use totals::{Totals, counted, counted_all};

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// With the source line, a caret, and what to do
    Human,
    /// One JSON array over all files
    Json,
    /// Workflow commands: GitHub shows them beside the lines of a pull request
    Github,
}

/// Writes what is found, document by document, in one format.
#[derive(Debug)]
pub(crate) struct Reporter<W> {
    format: Format,
    out: W,
    /// Whether a finding has been written already.
    begun: bool,
    /// The most findings of a document; 0 for all.
    most: usize,
    /// Whether only errors are written.
    quiet: bool,
}

impl<W: Write> Reporter<W> {
    pub(crate) fn new(format: Format, out: W, most: usize, quiet: bool) -> Self {
        Reporter { format, out, begun: false, most, quiet }
    }

    pub(crate) fn document(&mut self, checked: &Checked<'_>) -> io::Result<()> {
        let least = if self.quiet { Severity::Error } else { Severity::Note };
        let (shown, more) = most_serious(checked.report, least, self.most);
        for finding in shown {
            match self.format {
                Format::Human => writeln!(self.out, "{}\n", Shown::new(checked, finding))?,
                Format::Json => {
                    self.out.write_all(if self.begun { b",\n" } else { b"[\n" })?;
                    json::write(&mut self.out, checked.name, finding)?;
                }
                Format::Github => github::write(&mut self.out, checked.name, finding)?,
            }
            self.begun = true;
        }
        if more > 0 && !self.quiet {
            let more = and_more(more, checked.name, self.most);
            match self.format {
                Format::Human => writeln!(self.out, "{more}\n")?,
                // Standard output is for programs.
                Format::Json | Format::Github => note(&more),
            }
        }
        Ok(())
    }

    /// Ends the report; people get a summary, in a log too.
    pub(crate) fn finish(mut self, totals: &Totals) -> io::Result<()> {
        match self.format {
            Format::Human | Format::Github if self.quiet => {}
            Format::Human => writeln!(self.out, "{totals}")?,
            Format::Json => self.out.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })?,
            // Standard output is for commands only.
            Format::Github => note(totals),
        }
        self.out.flush()
    }
}
