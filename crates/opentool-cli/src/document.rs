//! Documents that a command uses without reporting on them.

use opentool_spec::{Code, Document, Severity};

use crate::{
    report::{Checked, Shown, counted},
    terminal::{note, visible, warn},
};

/// The most errors that are shown of a document that cannot be used.
const SHOWN: usize = 50;

/// Reads a document; where it cannot be used, shows its errors and returns what is wrong, in words: "has 2 errors".
pub(crate) fn read(name: &str, text: &str) -> Result<Document, String> {
    let reading = Document::read(text);
    let report = &reading.report;
    if let (true, Some(document)) = (report.is_usable(), reading.document) {
        // Marks are listed where the library is opened.
        let marks = report.findings.iter().filter(|finding| finding.code == Code::Review).count();
        let warnings = report.count(Severity::Warning) - marks;
        if warnings > 0 {
            let (warnings, name) = (counted(warnings, "warning"), visible(name));
            warn(&format_args!("{name} has {warnings}: `opentool check` shows how it was understood"));
        }
        return Ok(document);
    }
    let checked = Checked { name, text, report };
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error);
    for finding in errors.take(SHOWN) {
        note(&format_args!("{}\n", Shown::new(&checked, finding)));
    }
    Err(match report.count(Severity::Error) {
        0 => "cannot be read, although no error was found in it: please report that,".to_owned(),
        errors => format!("has {}", counted(errors, "error")),
    })
}
