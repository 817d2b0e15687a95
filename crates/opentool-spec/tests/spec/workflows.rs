//! OpenWorkflow documents: what is read, what is found, and what is fixed.

use opentool_spec::{
    Code, Document, DocumentKind, Info, OpenTool, OpenWorkflow, Severity, StepPart, StepReference, StepReferenceError,
    WorkflowStep, check, fix,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The example of the format's own shape.
const EXAMPLE: &str = r##"{"openworkflow": "1.0.0", "info": {"title": "Store and look", "version": "1.0.0"}, "workflow": {
  "start": {"function": "count", "arguments": {}, "results": {"count": 0}, "next": "pause"},
  "pause": {"function": "sleep", "arguments": {"milliseconds": 50}, "results": {}, "next": "step2"},
  "step2": {"function": "create", "arguments": {"key": "a"}, "results": {"id": 0}, "next": "step3"},
  "step3": {"function": "read", "arguments": {"id": "#/step2/results/id"}, "results": {"value": ""}, "next": "null"}}}"##;

/// A document with these steps.
fn document(steps: Value) -> String {
    json!({ "openworkflow": "1.0.0", "info": { "title": "T", "version": "1" }, "workflow": steps }).to_string()
}

fn step(arguments: Value, next: &str) -> Value {
    json!({ "function": "f", "arguments": arguments, "results": { "r": 0 }, "next": next })
}

/// The codes, pointers and messages that are found.
fn found(text: &str) -> Vec<(Code, String, String)> {
    check(text).findings.into_iter().map(|finding| (finding.code, finding.pointer, finding.message)).collect()
}

/// Asserts that exactly one thing is found.
#[track_caller]
fn assert_finding(text: &str, code: Code, pointer: &str, message: &str) {
    assert_eq!(found(text), [(code, pointer.to_owned(), message.to_owned())]);
}

#[test]
fn the_example_has_nothing_to_report_and_is_written_as_it_was() {
    let report = check(EXAMPLE);
    assert_eq!((report.findings.as_slice(), report.kind), (&[][..], Some(DocumentKind::OpenWorkflow)));
    let workflow: OpenWorkflow = EXAMPLE.parse().unwrap();
    assert_eq!(workflow.workflow.keys().collect::<Vec<_>>(), ["start", "pause", "step2", "step3"]);
    assert_eq!(serde_json::to_value(&workflow).unwrap(), serde_json::from_str::<Value>(EXAMPLE).unwrap());
    assert!(matches!(Document::read(EXAMPLE).document, Some(Document::OpenWorkflow(read)) if read == workflow));
    assert_eq!(fix(EXAMPLE).text, EXAMPLE);
}

#[test]
fn a_workflow_is_recognised_without_its_version_and_is_no_other_document() {
    let text = EXAMPLE.replace(r#""openworkflow": "1.0.0", "#, "");
    assert_eq!(check(&text).kind, Some(DocumentKind::OpenWorkflow));
    assert_finding(&text, Code::MissingField, "", "the document has no `openworkflow`");
    let errors = OpenTool::read(EXAMPLE).into_result().unwrap_err();
    assert_eq!(
        errors.to_string(),
        "1:1: error[OT010]: this is an OpenWorkflow document, not an OpenTool one: it has no `opentool`"
    );
    let yaml = found("openworkflow: 1.0.0\nworkflow:\n");
    assert_eq!(yaml[0].2, "the text has `openworkflow:` as YAML does: a document is JSON");
}

#[test]
fn another_version_is_refused() {
    let text = EXAMPLE.replace(r#""openworkflow": "1.0.0""#, r#""openworkflow": "0.1""#);
    let message = "`\"0.1\"` is not a version of `openworkflow` that is supported: 1.0.0 is";
    assert_finding(&text, Code::UnsupportedVersion, "/openworkflow", message);
}

#[test]
fn what_a_step_lacks_is_added_where_it_can_only_be_one_thing() {
    let text = document(json!({ "start": { "function": "f", "next": null } }));
    let codes: Vec<_> = found(&text).into_iter().map(|(code, ..)| code).collect();
    assert_eq!(codes, [Code::MissingField, Code::MissingField, Code::WrongType]);
    let fixed: Value = serde_json::from_str(&fix(&text).text).unwrap();
    let step = json!({ "function": "f", "next": "null", "arguments": {}, "results": {} });
    assert_eq!(fixed["workflow"]["start"], step);
    let text = document(json!({ "start": { "function": "f", "arguments": {}, "results": {} } }));
    assert_finding(&text, Code::MissingField, "/workflow/start", "the step has no `next`");
    assert_eq!(fix(&text).text, text, "only the author knows whether the run ends there");
}

#[test]
fn misspelt_and_renamed_fields_are_corrected() {
    let text = document(json!({ "start": { "funtion": "f", "args": {}, "result": {}, "next": "null" } }));
    assert_eq!(fix(&text).applied, 3);
    let fixed: Value = serde_json::from_str(&fix(&text).text).unwrap();
    let step = json!({ "function": "f", "arguments": {}, "results": {}, "next": "null" });
    assert_eq!(fixed["workflow"]["start"], step);
}

#[test]
fn values_of_the_wrong_type_are_errors() {
    for (field, value, message) in [
        ("arguments", json!(["a"]), "`arguments` must be an object, not an array"),
        ("results", json!("id"), "`results` must be an object, not a string"),
        ("results", json!(0), "`results` must be an object, not a number"),
        ("function", json!({}), "`function` must be a string, not an object"),
        ("next", json!(["b"]), "`next` must be a string, not an array"),
    ] {
        let mut start = step(json!({}), "null");
        start[field] = value;
        let text = document(json!({ "start": start }));
        assert_finding(&text, Code::WrongType, &format!("/workflow/start/{field}"), message);
        assert_eq!(fix(&text).text, text, "nothing that someone wrote is thrown away");
    }
    let mut start = step(json!({}), "null");
    start["results"] = Value::Null;
    let text = document(json!({ "start": start }));
    let message = "`results` must be an object, not null";
    assert_finding(&text, Code::WrongType, "/workflow/start/results", message);
    let fixed: Value = serde_json::from_str(&fix(&text).text).unwrap();
    assert_eq!(fixed["workflow"]["start"]["results"], json!({}), "there was nothing to lose");
    let text = document(json!({ "start": "f" }));
    assert_finding(&text, Code::WrongType, "/workflow/start", "the step `start` must be an object, not a string");
}

#[test]
fn a_workflow_begins_at_start() {
    let message = "the workflow has no step `start`, with which a run begins";
    for steps in [json!({}), json!({ "begin": step(json!({}), "null") })] {
        assert_finding(&document(steps), Code::NoStart, "/workflow", message);
    }
    let report = check(&document(json!({ "Start": step(json!({}), "null") })));
    assert_eq!(report.findings[0].help.as_deref(), Some("did you mean `Start`? Name it `start`"));
}

#[test]
fn a_step_that_never_runs_is_found() {
    let text = document(json!({
        "start": step(json!({}), "null"),
        "b": step(json!({}), "c"),
        "c": step(json!({}), "b"),
    }));
    let unreachable = |name: &str| {
        let message = format!("no step leads to `{name}`: it never runs");
        (Code::UnreachableStep, format!("/workflow/{name}"), message)
    };
    assert_eq!(found(&text), [unreachable("b"), unreachable("c")]);
}

#[test]
fn a_run_without_an_end_is_found() {
    for (steps, at, back) in [
        (json!({ "start": step(json!({}), "start") }), "start", "start"),
        (json!({ "start": step(json!({}), "b"), "b": step(json!({}), "c"), "c": step(json!({}), "b") }), "c", "b"),
    ] {
        let message = format!(
            "the step leads back to `{back}`, so that a run never ends by itself: the limits of a turn end it with an error"
        );
        assert_finding(&document(steps), Code::EndlessLoop, &format!("/workflow/{at}/next"), &message);
    }
}

#[test]
fn a_next_that_names_no_step_ends_the_run_and_a_misspelt_one_is_found() {
    for end in ["null", "", "end", "NULL", "that is all", "42"] {
        assert_eq!(found(&document(json!({ "start": step(json!({}), end) }))), [], "{end}");
    }
    let text = document(json!({ "start": step(json!({}), "stepp2"), "step2": step(json!({}), "null") }));
    let message = "`stepp2` names no step, so that the run ends here";
    assert_finding(&text, Code::MisspeltNext, "/workflow/start/next", message);
    assert_eq!(
        check(&text).findings[0].help.as_deref(),
        Some(r#"did you mean `step2`? Write `"null"` where the run is to end"#)
    );
    assert_eq!(fix(&text).text, text);
}

#[test]
fn a_reference_to_nothing_is_an_error() {
    for (reference, message) in [
        ("#/step/results/r", "`#/step/results/r` refers to the step `step`, which is not there"),
        ("#/start/results/x", "`#/start/results/x` refers to the result `x`, which the step `start` does not have"),
        (
            "#/start/arguments/x",
            "`#/start/arguments/x` refers to the argument `x`, which the step `start` does not have",
        ),
        (
            "#/start/results",
            "`#/start/results` is no reference: a text that begins with `#/` must be `#/STEP/results/KEY` or `#/STEP/arguments/KEY`",
        ),
        (
            "#/definitions/Thing",
            "`#/definitions/Thing` is no reference: a text that begins with `#/` must be `#/STEP/results/KEY` or `#/STEP/arguments/KEY`",
        ),
        (
            "#/start/results/r/0",
            "`#/start/results/r/0` is no reference: it leads inside a value, and only a whole result or argument can be referred to",
        ),
    ] {
        let text =
            document(json!({ "start": step(json!({ "a": 1 }), "b"), "b": step(json!({ "x": reference }), "null") }));
        assert_finding(&text, Code::UnknownStepReference, "/workflow/b/arguments/x", message);
        assert!(!check(&text).is_usable());
    }
    let text =
        document(json!({ "start": step(json!({}), "b"), "b": step(json!({ "x": "#/strat/results/r" }), "null") }));
    assert_eq!(check(&text).findings[0].help.as_deref(), Some("did you mean `#/start/results/r`?"));
    let text = document(json!({
        "start": step(json!({ "temperature": 1 }), "b"),
        "b": step(json!({ "x": "#/start/arguments/temprature" }), "null"),
    }));
    let help = "did you mean `#/start/arguments/temperature`?";
    assert_eq!(check(&text).findings[0].help.as_deref(), Some(help));
}

#[test]
fn a_reference_inside_an_argument_is_an_error() {
    for argument in [
        json!(["#/start/results/r"]),
        json!({ "id": "#/start/arguments/a" }),
        json!([{ "deep": [[{ "er": "#/start/results/r" }]] }]),
        json!(["#/nowhere/results/r"]),
    ] {
        let text =
            document(json!({ "start": step(json!({ "a": 1 }), "b"), "b": step(json!({ "x": argument }), "null") }));
        let codes: Vec<_> = found(&text).into_iter().map(|(code, ..)| code).collect();
        assert_eq!(codes, [Code::NestedReference], "{text}");
    }
    // Only what has the form of a reference: a JSON Schema, for instance, may be an argument.
    for argument in
        [json!({ "$ref": "#/definitions/Thing" }), json!(["see #/start/results/r"]), json!("see #/start/results/r")]
    {
        let text = document(json!({ "start": step(json!({}), "b"), "b": step(json!({ "x": argument }), "null") }));
        assert_eq!(found(&text), [], "{text}");
    }
}

#[test]
fn a_reference_to_a_step_that_has_not_run_is_an_error() {
    let steps = |reference: &str| {
        document(json!({
            "start": step(json!({ "x": reference }), "b"),
            "b": step(json!({}), "null"),
            "never": step(json!({}), "null"),
        }))
    };
    for (reference, why) in [
        ("#/start/results/r", "refers to the step `start`, which is this step itself"),
        ("#/start/arguments/x", "refers to the step `start`, which is this step itself"),
        ("#/b/results/r", "refers to the step `b`, which runs after this one"),
        ("#/never/results/r", "refers to the step `never`, which never runs"),
    ] {
        let found: Vec<_> =
            found(&steps(reference)).into_iter().filter(|(code, ..)| *code != Code::UnreachableStep).collect();
        let message = format!("`{reference}` {why}");
        assert_eq!(found, [(Code::ReferenceTooEarly, "/workflow/start/arguments/x".to_owned(), message)]);
    }
    // In a loop, too: the first time round there is nothing to refer to.
    let text = document(json!({ "start": step(json!({ "x": "#/b/results/r" }), "b"), "b": step(json!({}), "start") }));
    assert_eq!(found(&text)[0].0, Code::ReferenceTooEarly);
}

#[test]
fn results_of_sleep_and_defaults_of_null_are_found() {
    let sleep =
        json!({ "function": "sleep", "arguments": { "milliseconds": 1 }, "results": { "ok": true }, "next": "null" });
    let message = "`sleep` has no result `ok`: it has none at all";
    assert_finding(&document(json!({ "start": sleep })), Code::ResultType, "/workflow/start/results/ok", message);
    let empty = json!({ "function": "f", "arguments": {}, "results": { "r": null }, "next": "null" });
    let message = "the default of `r` is null, so that no other result passes";
    assert_finding(&document(json!({ "start": empty })), Code::NullResult, "/workflow/start/results/r", message);
}

#[test]
fn names_with_slashes_and_tildes_can_be_referred_to() {
    let reference = StepReference::parse("#/a~1b/arguments/c~0d").unwrap().unwrap();
    assert_eq!((&*reference.step, reference.part, &*reference.key), ("a/b", StepPart::Arguments, "c~d"));
    assert_eq!(reference.to_string(), "#/a~1b/arguments/c~0d");
    assert_eq!(StepReference::parse("#/a/b/c"), Some(Err(StepReferenceError::Form)));
    assert_eq!(StepReference::parse("a"), None);
    let text = document(
        json!({ "start": step(json!({ "c~d": 1 }), "b"), "b": step(json!({ "x": "#/start/arguments/c~0d" }), "null") }),
    );
    assert_eq!(found(&text), []);
}

#[test]
fn a_workflow_can_be_built() {
    let workflow = OpenWorkflow::new(Info::new("T", "1"))
        .step("start", WorkflowStep::new("f").argument("a", 1).result("r", json!([0])).then("b"))
        .step("b", WorkflowStep::new("sleep").argument("milliseconds", 5));
    let text = serde_json::to_string(&workflow).unwrap();
    assert_eq!(found(&text), []);
    assert_eq!(workflow.workflow["b"].next, OpenWorkflow::END);
    assert_eq!(text.parse::<OpenWorkflow>().unwrap(), workflow);
}

#[test]
fn a_large_workflow_of_faults_is_checked_in_linear_time() {
    let steps: serde_json::Map<_, _> = (0..5_000)
        .map(|n| {
            let arguments = json!({ "x": format!("#/step{}/results/nothing{n}", n + 1), "y": ["#/a/results/b"] });
            (if n == 0 { "start".to_owned() } else { format!("step{n}") }, step(arguments, &format!("step{}", n + 1)))
        })
        .collect();
    let text = document(steps.into());
    let begun = std::time::Instant::now();
    assert!(check(&text).count(Severity::Error) >= 10_000);
    let seconds = begun.elapsed().as_secs_f64();
    assert!(seconds < 30.0, "{seconds}");
}

/// Steps near the format, with references of every kind.
fn steps() -> impl Strategy<Value = Value> {
    let name = || prop::sample::select(vec!["start", "a", "b", "c", "stert", "null"]);
    let text = prop::sample::select(vec![
        "#/start/results/r",
        "#/a/results/r",
        "#/b/arguments/x",
        "#/c/results",
        "#/a/results/r/0",
        "#/nope/results/r",
        "plain",
    ]);
    let value = prop_oneof![
        text.clone().prop_map(Value::from),
        text.prop_map(|text| json!([text])),
        Just(Value::Null),
        Just(json!(1.5)),
        Just(json!({})),
    ];
    let map = || prop::collection::hash_map(prop::sample::select(vec!["x", "r"]), value.clone(), 0..3);
    let step = (prop::sample::select(vec!["f", "sleep"]), map(), map(), name(), 0..8u8).prop_map(
        |(function, arguments, results, next, dropped)| {
            let mut step = json!({ "function": function, "arguments": arguments, "results": results, "next": next });
            if let Some(key) = ["function", "arguments", "results", "next"].get(usize::from(dropped)) {
                step.as_object_mut().unwrap().remove(*key);
            }
            step
        },
    );
    prop::collection::hash_map(name(), prop_oneof![9 => step, 1 => value.clone()], 0..5).prop_map(|steps| json!(steps))
}

proptest! {
    /// What holds for every document holds for workflows: see `bodies`.
    #[test]
    fn any_workflow_is_checked_fixed_and_read_consistently(steps in steps()) {
        super::bodies::document(document(steps).as_bytes());
    }
}
