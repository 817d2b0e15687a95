//! Documents that a command uses without reporting on them.

use opentool_spec::{Document, Severity};

use crate::{
    report::{Checked, Shown, counted},
    terminal::{note, visible, warn},
};

/// Reads a document; where it cannot be used, shows its errors and returns how many they are, in words.
pub(crate) fn read(name: &str, text: &str) -> Result<Document, String> {
    let reading = Document::read(text);
    let report = &reading.report;
    if let (true, Some(document)) = (report.is_usable(), reading.document) {
        let warnings = report.count(Severity::Warning);
        if warnings > 0 {
            let (warnings, name) = (counted(warnings, "warning"), visible(name));
            warn(&format_args!("{name} has {warnings}: `opentool check` shows how it was understood"));
        }
        return Ok(document);
    }
    let checked = Checked { name, text, report };
    for finding in report.findings.iter().filter(|finding| finding.severity == Severity::Error) {
        note(&format_args!("{}\n", Shown::new(&checked, finding)));
    }
    Err(counted(report.count(Severity::Error), "error"))
}
