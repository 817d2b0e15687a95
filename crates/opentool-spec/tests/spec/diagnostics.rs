//! The examples of `docs/diagnostics.md`.

use opentool_spec::{Code, Severity, check, fix};

const PAGE: &str = include_str!("../../../../docs/diagnostics.md");

struct Example {
    code: Code,
    severity: Severity,
    fixable: bool,
    wrong: &'static str,
    right: &'static str,
}

fn examples() -> Vec<Example> {
    PAGE.split("\n## ")
        .skip(1)
        .map(|section| {
            let (id, rest) = section.split_once(':').unwrap();
            let code = Code::from_id(id).unwrap_or_else(|| panic!("{id} is no code"));
            let mut lines = rest.lines().skip(2);
            let summary = lines.next().unwrap();
            let severity = match summary.split(['.', ';']).next().unwrap() {
                "Error" => Severity::Error,
                "Warning" => Severity::Warning,
                "Note" => Severity::Note,
                other => panic!("{id}: {other} is no severity"),
            };
            let mut blocks = section.split("```").skip(1).step_by(2).map(|block| block.strip_prefix("json\n").unwrap());
            Example {
                code,
                severity,
                fixable: summary.contains("`opentool fix`"),
                wrong: blocks.next().unwrap().trim_end(),
                right: blocks.next().unwrap().trim_end(),
            }
        })
        .collect()
}

#[test]
fn every_code_is_documented_once_and_in_order() {
    let documented: Vec<_> = examples().iter().map(|example| example.code).collect();
    assert_eq!(documented, Code::ALL);
}

#[test]
fn every_wrong_example_gives_exactly_its_finding() {
    for example in examples() {
        if matches!(example.code, Code::NotInLibrary | Code::KeysConflict | Code::UnknownFunction) {
            // The document by itself is right; the tests of the command line check it with what sees more than its text.
            assert_eq!(check(example.wrong).findings, []);
            continue;
        }
        let mut report = check(example.wrong);
        // What is wrong with the value of a keyword stands beside the note that the spec does not have it.
        report.findings.retain(|finding| finding.code != Code::UnknownKey || example.code == Code::UnknownKey);
        let found: Vec<_> = report.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(found, [example.code], "{:#?}", report.findings);
        assert_eq!(report.findings[0].severity, example.severity, "{}", example.code);
        assert_eq!(report.findings[0].is_fixable(), example.fixable, "{}", example.code);
    }
}

#[test]
fn every_right_example_gives_no_finding() {
    for example in examples() {
        assert_eq!(check(example.right).findings, [], "{}", example.code);
    }
}

#[test]
fn fix_turns_every_fixable_wrong_example_into_a_clean_document() {
    for example in examples().iter().filter(|example| example.fixable) {
        let fixed = fix(example.wrong);
        assert_eq!(fixed.report.findings, [], "{}:\n{}", example.code, fixed.text);
        let again = fix(&fixed.text);
        assert_eq!(again.text, fixed.text, "{}", example.code);
        if example.code == Code::EmptyDescription {
            continue; // the page shows a description that only an author can write
        }
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&fixed.text).unwrap(),
            serde_json::from_str::<serde_json::Value>(example.right).unwrap(),
            "{}: the fix is not what the page shows",
            example.code
        );
    }
}
