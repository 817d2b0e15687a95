//! The errors of a document, by what they make unusable: [`DocumentFaults`].

use std::collections::HashMap;

use opentool_spec::json::pointer;
use opentool_spec::{Code, Finding, Severity};

/// The errors of a document, by what they make unusable.
#[derive(Debug, Default)]
pub(super) struct DocumentFaults {
    pub(super) of_document: Vec<Finding>,
    pub(super) of_functions: HashMap<usize, Vec<String>>,
    pub(super) of_schemas: HashMap<String, String>,
}

impl DocumentFaults {
    pub(super) fn from_findings(findings: &[Finding]) -> Self {
        let mut faults = DocumentFaults::default();
        for finding in findings.iter().filter(|finding| finding.severity == Severity::Error) {
            let mut steps = finding.pointer.split('/').skip(1);
            let place = (steps.next().unwrap_or_default(), steps.next());
            match place {
                // It cannot be known which of two functions of one name is meant.
                _ if finding.code == Code::DuplicateFunction => faults.of_document.push(finding.clone()),
                ("functions", Some(index)) if index.parse::<usize>().is_ok() => {
                    let index = index.parse().unwrap_or_default();
                    faults.of_functions.entry(index).or_default().push(message(finding));
                }
                ("schemas", Some(name)) => {
                    let name = pointer::unescape(name).into_owned();
                    faults.of_schemas.entry(name).or_insert_with(|| message(finding));
                }
                _ => faults.of_document.push(finding.clone()),
            }
        }
        faults
    }
}

fn message(finding: &Finding) -> String {
    match &finding.help {
        Some(help) => format!("{} ({help})", finding.message),
        None => finding.message.clone(),
    }
}
