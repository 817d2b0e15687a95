//! Which findings of a document are shown where there are many: [`most_serious`].

use opentool_spec::{Finding, Report, Severity};

use crate::terminal::visible;

/// The most findings of a document that are shown unless the user says otherwise.
pub(crate) const MAX_FINDINGS: usize = 200;

/// Says how many findings are not shown; without a limit they are so many that they were only counted.
pub(crate) fn and_more(more: usize, name: &str, most: usize) -> String {
    let way = if most == 0 { "" } else { ": --max-findings shows them" };
    format!("… and {more} more in {}{way}", visible(name))
}

/// The findings of at least this severity, at most `most` of them (0 for all), and how many more there are.
///
/// Errors are chosen before warnings and warnings before notes; those chosen come in the order of the text.
pub(crate) fn most_serious(report: &Report, least: Severity, most: usize) -> (Vec<&Finding>, usize) {
    let all = [Severity::Note, Severity::Warning, Severity::Error];
    let total: usize =
        all.into_iter().filter(|severity| *severity >= least).map(|severity| report.count(severity)).sum();
    let mut chosen: Vec<_> = report.findings.iter().filter(|finding| finding.severity >= least).collect();
    if most > 0 && chosen.len() > most {
        // The sort is stable, so those of one severity stay in the order of the text.
        chosen.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        chosen.truncate(most);
        chosen.sort_by_key(|finding| finding.span.start);
    }
    let more = total - chosen.len();
    (chosen, more)
}
