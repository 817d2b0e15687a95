//! The summary under a report.

use std::fmt;

use opentool_spec::{Finding, Report, Severity};

use crate::terminal::{ERROR, GOOD, WARNING, visible};

/// What a run has seen.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    /// Documents checked.
    pub(crate) documents: usize,
    /// Those of them with an error or a warning.
    pub(crate) faulty: usize,
    /// Inputs that could not be read.
    pub(crate) unreadable: usize,
    /// JSON files of folders that are no documents.
    pub(crate) skipped: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    fixable: usize,
    /// The documents with something to fix: the first, and how many.
    to_fix: Option<(String, usize)>,
}

impl Totals {
    pub(crate) fn add(&mut self, name: &str, text: &str, report: &Report) {
        let (errors, warnings) = (report.count(Severity::Error), report.count(Severity::Warning));
        self.documents += 1;
        self.faulty += usize::from(errors + warnings > 0);
        self.errors += errors;
        self.warnings += warnings;
        self.notes += report.count(Severity::Note);
        // One fix can uncover another, or settle two findings: what `opentool fix` will say is counted.
        let is_fixable = report.findings.iter().any(Finding::is_fixable);
        let fixable = if is_fixable { opentool_spec::fix(text).applied } else { 0 };
        self.fixable += fixable;
        if fixable > 0 {
            self.to_fix.get_or_insert_with(|| (name.to_owned(), 0)).1 += 1;
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (style, word) = match (self.errors, self.warnings) {
            _ if self.unreadable > 0 => (ERROR, "error"),
            (0, 0) => (GOOD, "ok"),
            (0, _) => (WARNING, "warning"),
            _ => (ERROR, "error"),
        };
        write!(f, "{style}{word}{style:#}: {} checked, ", counted(self.documents, "document"))?;
        let found = counted_all(&[(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")]);
        f.write_str(if found.is_empty() { "nothing to report" } else { &found })?;
        if self.faulty > 0 && self.documents > 1 {
            write!(f, " ({} with errors or warnings)", self.faulty)?;
        }
        if self.skipped > 0 {
            let files = if self.skipped == 1 { "file that is no document" } else { "files that are no documents" };
            write!(f, "; skipped {} JSON {files}", self.skipped)?;
        }
        if self.unreadable > 0 {
            write!(f, "; {} could not be read", self.unreadable)?;
        }
        if let Some((first, documents)) = &self.to_fix {
            let file = match *documents {
                1 if first == "<stdin>" => "-".to_owned(),
                1 => visible(first).into_owned(),
                _ => "FILE".to_owned(),
            };
            write!(f, "\n{} can be fixed without you: opentool fix {file}", self.fixable)?;
        }
        Ok(())
    }
}

/// Numbers of things, without those there are none of.
pub(crate) fn counted_all(counts: &[(usize, &str)]) -> String {
    let some: Vec<_> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
    some.join(", ")
}

/// A number of things, in English.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
