//! Findings, written for people, for programs and for GitHub.

mod checked;
mod excerpt;
mod github;
mod human;
mod json;
mod totals;

use std::io::{self, Write};

pub(crate) use checked::Checked;
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
}

impl<W: Write> Reporter<W> {
    pub(crate) fn new(format: Format, out: W) -> Self {
        Reporter { format, out, begun: false }
    }

    pub(crate) fn document(&mut self, checked: &Checked<'_>) -> io::Result<()> {
        for finding in checked.findings() {
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
        Ok(())
    }

    /// Ends the report; people get a summary, in a log too.
    pub(crate) fn finish(mut self, totals: &Totals) -> io::Result<()> {
        match self.format {
            Format::Human => writeln!(self.out, "{totals}")?,
            Format::Json => self.out.write_all(if self.begun { b"\n]\n" } else { b"[]\n" })?,
            // Standard output is for commands only.
            Format::Github => crate::terminal::note(totals),
        }
        self.out.flush()
    }
}
