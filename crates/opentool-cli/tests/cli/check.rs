use super::*;

#[test]
fn a_clean_document_ends_with_0_and_one_line() {
    let ran = TestFolder::with("a.json", CLEAN).run(&["check", "a.json"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "ok: 1 document checked, nothing to report\n", "")
    );
}

#[test]
fn errors_end_with_1_and_are_shown_with_their_lines() {
    let ran = TestFolder::with("a.json", FAULTY).run(&["check", "a.json"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.stderr, "");
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn warnings_end_with_0_and_with_1_when_strict() {
    let folder = TestFolder::with("a.json", WARNED);
    let ran = folder.run(&["check", "a.json"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.starts_with("warning[OT025]"), "{}", ran.stdout);
    let ran = folder.run(&["check", "--strict", "a.json"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.starts_with("error[OT025]"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 error\n"), "{}", ran.stdout);
}

#[test]
fn standard_input_is_checked_under_its_own_name() {
    let ran = TestFolder::new().run_with(&["check", "-"], FAULTY);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("--> <stdin>:3:13\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("opentool fix -\n"), "{}", ran.stdout);
}

#[test]
fn a_folder_is_walked_and_other_json_is_skipped_and_counted() {
    let folder = TestFolder::new();
    folder.put("docs/a.json", CLEAN);
    folder.put("docs/deep/er/b.JSON", WARNED);
    folder.put("docs/package.json", r#"{"name": "x", "dependencies": {"opentool": "1"}}"#);
    folder.put("docs/list.json", r#"["opentool"]"#);
    folder.put("docs/broken-settings.json", "{ oops");
    folder.put("docs/notes.txt", FAULTY);
    for hidden in ["docs/.git/x.json", "docs/target/x.json", "docs/node_modules/x.json", "docs/.x.json"] {
        folder.put(hidden, FAULTY);
    }
    let ran = folder.run(&["check", "docs"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains(" docs/deep/er/b.JSON:4:"), "{}", ran.stdout);
    let summary =
        "2 documents checked, 1 warning (1 with errors or warnings); skipped 3 JSON files that are no documents";
    assert!(ran.stdout.contains(summary), "{}", ran.stdout);
    // Without a name, the folder one is in; and a folder one names is walked even if it is called so.
    assert_eq!(folder.run(&["check"]).stdout, ran.stdout);
    assert_eq!(folder.run(&["check", "docs/target"]).code, Some(1));
}

#[test]
fn a_broken_document_in_a_folder_is_reported() {
    let folder = TestFolder::new();
    folder.put("a.json", r#"{"opentool": "1.1.0", "info": "#);
    folder.put("b.opendyn.json", "");
    folder.put("c.json", r#"{"info": {}, "functions": []}"#);
    folder.put("d.json", b"{\"opendyn\": \"\xff\"}");
    let ran = folder.run(&["check", "--format", "json", "."]);
    assert_eq!(ran.code, Some(1));
    let found = json(&ran.stdout);
    let files: Vec<_> = found.as_array().unwrap().iter().map(|finding| finding["file"].as_str().unwrap()).collect();
    for file in ["a.json", "b.opendyn.json", "c.json", "d.json"] {
        assert!(files.contains(&file), "{file} in {files:?}");
    }
}

#[test]
fn a_file_that_is_named_is_always_checked() {
    let ran = TestFolder::with("package.json", r#"{"name": "x"}"#).run(&["check", "package.json"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("OT010"), "{}", ran.stdout);
}

#[test]
fn a_folder_without_documents_is_said_to_be_so() {
    let ran = TestFolder::with("a.json", "{}").run(&["check", "."]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr, "warning: no OpenTool, OpenDyn or OpenWorkflow document in .\n");
}

#[test]
fn what_cannot_be_read_does_not_stop_the_rest() {
    let folder = TestFolder::with("a.json", FAULTY);
    let ran = folder.run(&["check", "missing.json", "a.json"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "error: cannot read missing.json: no such file or directory\ntry: opentool check\n");
    assert!(ran.stdout.contains("error[OT010]"), "{}", ran.stdout);
    assert!(ran.stdout.contains("; 1 could not be read"), "{}", ran.stdout);
}

#[cfg(unix)]
#[test]
fn a_file_without_read_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TestFolder::with("a.json", CLEAN);
    std::fs::set_permissions(folder.path("a.json"), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(folder.path("a.json")).is_ok() {
        // Root reads every file; a link to itself is what root cannot read either.
        std::fs::remove_file(folder.path("a.json")).unwrap();
        std::os::unix::fs::symlink("a.json", folder.path("a.json")).unwrap();
    }
    let ran = folder.run(&["check", "a.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: cannot read a.json: "), "{}", ran.stderr);
}

#[test]
fn an_empty_file_and_one_that_is_not_text_are_findings() {
    let folder = TestFolder::with("empty.json", "");
    folder.put("latin.json", b"{\"opentool\": \"caf\xe9\"}");
    let ran = folder.run(&["check", "empty.json", "latin.json"]);
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn json_is_one_array_over_all_files() {
    let folder = TestFolder::with("a.json", FAULTY);
    folder.put("b.json", WARNED);
    let ran = folder.run(&["check", "--format", "json", "a.json", "b.json"]);
    assert_eq!(ran.code, Some(1));
    insta::assert_json_snapshot!(json(&ran.stdout));
    let clean = TestFolder::with("a.json", CLEAN).run(&["check", "--format", "json", "a.json"]);
    assert_eq!((clean.code, clean.stdout.as_str()), (Some(0), "[]\n"));
}

#[test]
fn the_edits_of_a_fix_apply_to_the_bytes_of_the_file() {
    let folder = TestFolder::with("a.json", WARNED);
    let found = json(&folder.run(&["check", "--format=json", "a.json"]).stdout);
    let mut text = WARNED.to_owned();
    for edit in found[0]["fix"]["edits"].as_array().unwrap().iter().rev() {
        let at = |key: &str| usize::try_from(edit[key].as_u64().unwrap()).unwrap();
        text.replace_range(at("start")..at("end"), edit["text"].as_str().unwrap());
    }
    folder.put("a.json", text);
    assert_eq!(folder.run(&["check", "--format=json", "a.json"]).stdout, "[]\n");
}

#[test]
fn github_gets_one_escaped_command_a_finding() {
    let folder = TestFolder::with("50%,a:b.json", FAULTY);
    let ran = folder.run(&["check", "--format", "github", "50%,a:b.json"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.starts_with("error: 1 document checked, 2 errors, 1 warning, 1 note\n"), "{}", ran.stderr);
    insta::assert_snapshot!(ran.stdout, @r#"
    ::error file=50%25%2Ca%3Ab.json,line=3,col=13,title=OT010::`title` is missing here, and `titel` is not in the spec%0Ahelp: did you mean `title`? Rename `titel`
    ::warning file=50%25%2Ca%3Ab.json,line=5,col=5,title=OT025::the function has no `parameters`%0Ahelp: add `"parameters": []`
    ::error file=50%25%2Ca%3Ab.json,line=5,col=15,title=OT020::a function's name has only a-z, A-Z, 0-9, - and _, not ' '%0Ahelp: replace it by `"set_alarm"`
    ::notice file=50%25%2Ca%3Ab.json,line=5,col=52,title=OT012::the spec has no `colour` here: it is kept, and other readers ignore it
    "#);
}

#[test]
fn a_minified_megabyte_of_findings_is_shown_in_short_lines() {
    let function = r#"{"name":"f","description":"d","parameters":[{"name":"a","schema":{"type":"int"}}]}"#;
    let functions = vec![function; 5_000].join(",");
    let text = format!(
        r#"{{"opentool":"1.1.0","info":{{"title":"t","version":"1"}},"functions":[{functions}],"x-pad":"{}"}}"#,
        "p".repeat(600_000)
    );
    let folder = TestFolder::with("a.json", text);
    let ran = folder.run(&["check", "a.json", "--max-findings", "0"]);
    assert_eq!(ran.code, Some(1), "all but one are duplicates");
    assert!(ran.stdout.lines().all(|line| line.chars().count() < 160));
    assert_eq!(ran.stdout.matches("error[OT021]").count(), 4_999);
    assert!(ran.stdout.contains(" 10000 warnings"), "all are counted");
}

#[test]
fn terminal_commands_in_documents_and_names_are_not_passed_on() {
    let name = "evil\u{1b}[2J.json";
    let folder =
        TestFolder::with(name, "{\"opentool\": \"1.1.0\", \"\u{1b}]0;owned\u{7}\": 1, \"in\u{9b}fo\": \u{202e}}");
    for format in ["human", "json", "github"] {
        let ran = folder.run(&["check", "--format", format, name, "missing\u{1b}[2J"]);
        assert_eq!(ran.code, Some(2));
        let hidden = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!ran.stdout.contains(hidden), "{:?}", ran.stdout);
        assert!(!ran.stderr.contains(hidden), "{:?}", ran.stderr);
    }
}

#[test]
fn the_examples_of_the_repository_are_clean() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let ran = run(&["check", "--strict", examples.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout, "ok: 6 documents checked, nothing to report\n");
}

#[test]
fn documents_of_others_are_named_with_the_command_that_helps() {
    let folder = TestFolder::with("tools.json", r#"[{"name": "f", "input_schema": {"type": "object"}}]"#);
    let ran = folder.run(&["check", "tools.json"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout
            .starts_with("error[OT008]: this is a list of tools for Anthropic, not an OpenTool or OpenDyn document\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("help: `opentool import FILE` makes an OpenTool document of it"), "{}", ran.stdout);
    for arguments in [&["convert", "tools.json", "--to", "mcp"][..], &["tools", "tools.json"]] {
        let ran = folder.run(arguments);
        assert!(ran.stderr.contains("this is a list of tools for Anthropic"), "{}", ran.stderr);
    }
}

#[test]
fn findings_are_limited_and_the_most_serious_come_first() {
    let keys: String = (0..300).map(|index| format!(r#""k{index}": 1, "#)).collect();
    let text = CLEAN.replacen('{', &format!("{{ {keys}"), 1).replace("\"now\"", "\"n w\"");
    let folder = TestFolder::with("a.json", text);
    let count = |ran: &Ran| ran.stdout.matches("--> a.json").count();
    let ran = folder.run(&["check", "a.json"]);
    assert_eq!((ran.code, count(&ran)), (Some(1), 200));
    assert!(ran.stdout.contains("error[OT020]"), "the error is among them");
    assert!(ran.stdout.contains("… and 101 more in a.json: --max-findings shows them"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 error, 300 notes"), "{}", ran.stdout);
    let ran = folder.run(&["check", "a.json", "--max-findings", "1"]);
    assert_eq!((count(&ran), ran.stdout.contains("error[OT020]")), (1, true));
    assert_eq!(count(&folder.run(&["check", "a.json", "--max-findings", "0"])), 301);
    let ran = folder.run(&["check", "a.json", "--format", "json"]);
    assert_eq!(json(&ran.stdout).as_array().unwrap().len(), 200);
    assert!(ran.stderr.contains("… and 101 more"), "{}", ran.stderr);
}

#[test]
fn quiet_shows_errors_and_nothing_else() {
    let folder = TestFolder::with("a.json", FAULTY);
    let ran = folder.run(&["check", "--quiet", "a.json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""));
    assert_eq!(ran.stdout.matches("error[").count(), 2);
    assert!(!ran.stdout.contains("warning") && !ran.stdout.contains("note[") && !ran.stdout.contains("checked"));
    folder.put("b.json", WARNED);
    let ran = folder.run(&["check", "-q", "b.json"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
}
