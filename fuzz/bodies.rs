//! The bodies of the fuzz targets. The tests of the crate run them too.

use std::collections::HashSet;

use opentool_spec::{Code, Document, OpenTool, Severity, check, check_bytes, fix};
use serde_json::Value;

/// Nothing panics on any bytes, and the findings are consistent.
pub fn document(data: &[u8]) {
    let report = check_bytes(data);
    let mut seen = HashSet::new();
    let mut last = 0;
    for finding in &report.findings {
        assert!(finding.span.start >= last, "findings come in the order of the text");
        assert!(finding.span.end <= data.len());
        assert!(finding.line >= 1 && finding.column >= 1);
        let place = (finding.code, &finding.pointer, finding.span.clone(), &finding.message);
        assert!(seen.insert(place), "reported twice: {finding:?}");
        last = finding.span.start;
    }
    if let Ok(text) = std::str::from_utf8(data) {
        agrees_with_serde(text);
        fixes_once_and_for_all(text);
        reads_what_it_accepts(text);
    }
}

/// "Not JSON" is reported exactly where serde_json fails.
fn agrees_with_serde(text: &str) {
    let report = check(text);
    let unreadable = [Code::NotJson, Code::TooDeep, Code::NumberTooLarge];
    if report.foreign.is_some() {
        return; // YAML, for instance, is not said to be broken JSON
    }
    let ours = report.findings.iter().any(|finding| unreadable.contains(&finding.code));
    let theirs = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'));
    assert_eq!(ours, theirs.is_err(), "{:?}\n{theirs:?}", report.findings);
    if let Ok(value) = theirs {
        for finding in &report.findings {
            assert!(value.pointer(&finding.pointer).is_some(), "{} leads nowhere", finding.pointer);
        }
    }
}

/// Fixing leaves nothing to fix, breaks nothing, and does nothing the second time.
fn fixes_once_and_for_all(text: &str) {
    let before = check(text);
    let fixed = fix(text);
    let left: Vec<_> = fixed.report.findings.iter().filter(|finding| finding.is_fixable()).collect();
    assert!(left.is_empty(), "still fixable: {left:?}\n{}", fixed.text);
    assert_eq!(fix(&fixed.text).text, fixed.text, "fixing twice is fixing once");
    let readable = |text: &str| serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).is_ok();
    assert!(!readable(text) || readable(&fixed.text), "fix broke the JSON:\n{}", fixed.text);
    // Correcting a misspelt key may uncover errors below it.
    let renames = |help: &String| help.starts_with("did you mean");
    let renamed = before.findings.iter().any(|finding| finding.help.as_ref().is_some_and(renames));
    if before.is_usable() && !renamed {
        assert!(fixed.report.is_usable(), "fix added errors: {:?}\n{}", fixed.report.findings, fixed.text);
    }
}

/// A usable document is read; a clean one is written as it was; its strict form is strict.
fn reads_what_it_accepts(text: &str) {
    let reading = Document::read(text);
    if !reading.report.is_usable() {
        return;
    }
    let document = reading.document.expect("a document without errors is read");
    let written = match &document {
        Document::OpenTool(document) => serde_json::to_value(document),
        Document::OpenDyn(document) => serde_json::to_value(document),
        Document::OpenWorkflow(document) => serde_json::to_value(document),
        _ => return,
    };
    let written = written.expect("a document is JSON");
    if reading.report.count(Severity::Warning) == 0
        && let Ok(original) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'))
    {
        assert_eq!(written.to_string(), original.to_string(), "a round trip changes nothing");
    }
    if let Document::OpenTool(document) = document {
        is_strict(&document, true);
    }
    let fixed = OpenTool::read(&fix(text).text);
    if let Some(document) = fixed.document.filter(|_| fixed.report.is_usable()) {
        is_strict(&document, false);
    }
}

/// The strict form of a document is clean and free of references.
///
/// A misspelt key that need not be there is kept and ignored, as any other that the spec does not have: it is still in the strict form, with
/// what would be wrong below it. No document has one after it was fixed.
fn is_strict(document: &OpenTool, may_be_misspelt: bool) {
    let strict = serde_json::to_string(&document.to_strict().document).expect("a document is JSON");
    let report = check(&strict);
    let warned = report.findings.iter().filter(|finding| finding.severity > Severity::Note);
    let allowed = [Code::NoFunctions, Code::EmptyDescription, Code::NumberRounded];
    let misspelt = report.findings.iter().filter(|finding| finding.code == Code::UnknownKey && finding.is_fixable());
    let misspelt: Vec<_> = misspelt.map(|finding| format!("{}/", finding.pointer)).collect();
    assert!(may_be_misspelt || misspelt.is_empty(), "{misspelt:?}\n{strict}");
    let is_misspelt = |pointer: &str| misspelt.iter().any(|key| pointer.starts_with(key));
    let bad: Vec<_> =
        warned.filter(|finding| !allowed.contains(&finding.code) && !is_misspelt(&finding.pointer)).collect();
    assert!(bad.is_empty(), "the strict form is not clean: {bad:?}\n{strict}");
    assert!(!has_reference(&serde_json::from_str(&strict).expect("the strict form can be read")), "{strict}");
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.get("$ref").is_some_and(Value::is_string) || map.values().any(has_reference),
        Value::Array(list) => list.iter().any(has_reference),
        _ => false,
    }
}
