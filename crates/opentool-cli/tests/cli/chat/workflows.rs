//! Workflows in a chat: as tools, and written by the model.

use super::{
    super::workflows::{EXAMPLE, store},
    *,
};

#[test]
fn a_model_calls_a_workflow() {
    let (folder, store) = (TestFolder::with("flow.openworkflow.json", EXAMPLE), store());
    let model = Model::start(vec![Reply::calls("store_and_look", "{}"), Reply::says("It is there.")]);
    let ran = chat(&folder, &model, &["flow.openworkflow.json", "--tools", &store.url(), "--yes", "Store it"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is there.\n"), "{}", ran.stderr);
    let asked = model.asked();
    let tools: Vec<_> =
        asked[0].body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["store_and_look"]);
    assert_eq!(asked[1].said_by("tool"), [r#"{"value":"a"}"#]);
}

/// A workflow that deletes the note it has written.
const DELETES: &str = r##"{"document": {"openworkflow": "1.0.0", "info": {"title": "Clean", "version": "1"}, "workflow": {
  "start": {"function": "add_note", "arguments": {"title": "a", "text": "b"}, "results": {"id": 0}, "next": "clean"},
  "clean": {"function": "delete_note", "arguments": {"id": "#/start/results/id"}, "results": {}, "next": "look"},
  "look": {"function": "list_notes", "arguments": {}, "results": {"notes": []}, "next": "null"}}}}"##;

#[test]
fn a_model_writes_a_workflow_and_each_destructive_step_needs_approval() {
    let folder = TestFolder::new();
    let model = Model::start(vec![
        Reply::calls("run_workflow", DELETES),
        Reply::says("Denied."),
        Reply::calls("run_workflow", DELETES),
        Reply::says("Done."),
        Reply::calls("run_workflow", DELETES),
        Reply::says("There is no such tool."),
    ]);
    let ran = chat(&folder, &model, &["demo", "--run-workflows", "--approve", "destructive", "Clean up"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Denied.\n"), "{}", ran.stderr);
    let denied = &model.asked()[1].said_by("tool")[0];
    assert!(denied.contains("the step `clean` (`delete_note`) failed: the call was not approved"), "{denied}");
    let ran = chat(&folder, &model, &["demo", "--run-workflows", "--yes", "Clean up"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{}", ran.stderr);
    assert_eq!(model.asked()[3].said_by("tool"), [r#"{"notes":[]}"#]);
    let ran = chat(&folder, &model, &["demo", "Clean up"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let unknown = &model.asked()[5].said_by("tool")[0];
    assert!(unknown.contains("there is no tool named `run_workflow`"), "{unknown}");
}

#[test]
#[cfg(unix)]
fn the_user_is_asked_about_each_destructive_step_at_the_terminal() {
    let folder = TestFolder::new();
    let model = Model::start(vec![Reply::calls("run_workflow", DELETES), Reply::says("Done.")]);
    let environment = environment(&model);
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let arguments = ["chat", "demo", "--run-workflows", "--approve", "destructive", "--prompt", "Clean up"];
    let mut terminal = terminal::Terminal::start(&folder, &arguments, &environment);
    terminal.wait_for("the model wants to run");
    terminal.wait_for("delete_note {\"id\":1}");
    terminal.enter("y");
    terminal.wait_for("Done.");
    assert_eq!(terminal.wait().code(), Some(0));
    assert_eq!(model.asked()[1].said_by("tool"), [r#"{"notes":[]}"#]);
}
