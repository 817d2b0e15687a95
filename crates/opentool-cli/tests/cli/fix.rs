use super::*;

#[test]
fn without_options_the_changes_are_shown_and_the_file_stays() {
    let folder = TestFolder::with("a.json", FAULTY);
    let ran = folder.run(&["fix", "a.json"]);
    assert_eq!(ran.code, Some(1), "an error is left");
    assert_eq!(folder.read("a.json"), FAULTY);
    insta::assert_snapshot!("fix_diff", ran.stdout);
    insta::assert_snapshot!("fix_left", ran.stderr);
}

#[test]
fn write_changes_the_file_once_and_leaves_nothing_behind() {
    let folder = TestFolder::with("a.json", WARNED);
    let ran = folder.run(&["fix", "--write", "a.json"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stderr, "a.json: 1 fix, written\n");
    assert!(ran.stdout.starts_with("--- a.json\n+++ a.json\n"), "{}", ran.stdout);
    let fixed = WARNED.replace(r#""The time." }"#, r#""The time.", "parameters": [] }"#);
    assert_eq!(folder.read("a.json"), fixed);
    assert_eq!(folder.names(), ["a.json"]);

    let again = folder.run(&["fix", "-w", "a.json"]);
    assert_eq!((again.code, again.stdout.as_str(), again.stderr.as_str()), (Some(0), "", "a.json: nothing to fix\n"));
    assert_eq!(folder.read("a.json"), fixed);
}

#[cfg(unix)]
#[test]
fn write_replaces_the_file_keeps_its_permissions_and_follows_a_link() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let folder = TestFolder::with("real.json", WARNED);
    std::fs::set_permissions(folder.path("real.json"), std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::hard_link(folder.path("real.json"), folder.path("old.json")).unwrap();
    std::os::unix::fs::symlink("real.json", folder.path("link.json")).unwrap();
    assert_eq!(folder.run(&["fix", "--write", "link.json"]).code, Some(0));
    assert!(folder.path("link.json").is_symlink());
    let metadata = std::fs::metadata(folder.path("real.json")).unwrap();
    assert_eq!(metadata.mode() & 0o777, 0o640);
    assert!(folder.read("real.json").contains("parameters"));
    assert_eq!(folder.read("old.json"), WARNED, "a reader that has the old file open keeps reading it whole");
}

#[cfg(unix)]
#[test]
fn a_file_that_must_not_be_written_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TestFolder::with("a.json", WARNED);
    std::fs::set_permissions(folder.path("a.json"), std::fs::Permissions::from_mode(0o444)).unwrap();
    let ran = folder.run(&["fix", "--write", "a.json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), "error: cannot write a.json: the file is read-only\n"));
    assert_eq!(folder.read("a.json"), WARNED);
    assert_eq!(folder.names(), ["a.json"]);
}

#[test]
fn output_goes_to_another_file() {
    let folder = TestFolder::with("a.json", WARNED);
    let ran = folder.run(&["fix", "a.json", "-o", "b.json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), "a.json: 1 fix, written to b.json\n"));
    assert_eq!(folder.read("a.json"), WARNED);
    assert_eq!(folder.run(&["check", "--strict", "b.json"]).code, Some(0));
    // Also where there is nothing to fix: asking for a file yields one.
    assert_eq!(folder.run(&["fix", "b.json", "-o", "c.json"]).code, Some(0));
    assert_eq!(folder.read("c.json"), folder.read("b.json"));
}

#[test]
fn a_new_file_is_readable_like_any_other() {
    let folder = TestFolder::with("a.json", WARNED);
    folder.run(&["fix", "a.json", "-o", "b.json"]);
    let permissions = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions();
    assert_eq!(permissions("a.json"), permissions("b.json"));
}

#[test]
fn standard_input_to_standard_output_is_a_filter() {
    let ran = TestFolder::new().run_with(&["fix", "-", "-o", "-"], WARNED);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stdout, WARNED.replace(r#""The time." }"#, r#""The time.", "parameters": [] }"#));
    assert_eq!(ran.stderr, "<stdin>: 1 fix\n");
    assert_eq!(TestFolder::new().run_with(&["fix", "-", "-o", "-"], ran.stdout.clone()).stdout, ran.stdout);
}

#[test]
fn standard_input_alone_gives_the_changes_and_cannot_be_written_back() {
    let ran = TestFolder::new().run_with(&["fix", "-"], WARNED);
    assert!(ran.stdout.starts_with("--- <stdin>\n"), "{}", ran.stdout);
    let ran = TestFolder::new().run_with(&["fix", "-", "--write"], WARNED);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("use `-o FILE`"), "{}", ran.stderr);
}

#[test]
fn line_ends_of_windows_stay() {
    let text = WARNED.replace('\n', "\r\n");
    let folder = TestFolder::with("a.json", &text);
    assert_eq!(folder.run(&["fix", "-w", "a.json"]).code, Some(0));
    let fixed = folder.read("a.json");
    assert_eq!(fixed.matches("\r\n").count(), text.matches("\r\n").count());
    assert_eq!(fixed.matches('\n').count(), fixed.matches("\r\n").count());
}

#[test]
fn an_older_version_is_brought_up_to_date() {
    let folder = TestFolder::with("a.json", CLEAN.replace("1.1.0", "1.0.0"));
    let ran = folder.run(&["fix", "-w", "a.json"]);
    assert_eq!(ran.stderr, "a.json: the version updated, written\n");
    assert_eq!(folder.read("a.json"), CLEAN);
}

#[test]
fn what_cannot_be_fixed_is_left_as_it_is() {
    let text = "{\"opentool\": \"1.1.0\", ";
    let folder = TestFolder::with("a.json", text);
    let ran = folder.run(&["fix", "-w", "a.json"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("error[OT001]"), "{}", ran.stderr);
    assert_eq!(folder.read("a.json"), text);
}

#[test]
fn faulty_requests_end_with_2() {
    let folder = TestFolder::with("latin.json", b"{\"a\": \"\xe9\"}");
    for (arguments, message) in [
        (&["fix"][..], "<FILE>"),
        (&["fix", "missing.json"], "cannot read missing.json: no such file or directory"),
        (&["fix", "latin.json"], "latin.json is not UTF-8 from byte 7 on"),
        (&["fix", "latin.json", "-w", "-o", "x"], "cannot be used with"),
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
    folder.put("a.json", WARNED);
    let ran = folder.run(&["fix", "a.json", "-o", "no/such/folder.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.starts_with("error: cannot write no/such/folder.json: no such file"), "{}", ran.stderr);
}

#[test]
fn several_files_and_folders_are_fixed() {
    let folder = TestFolder::with("a.json", WARNED);
    folder.put("docs/b.json", WARNED);
    folder.put("docs/clean.json", CLEAN);
    folder.put("docs/package.json", r#"{"name": "x", "dependencies": {"opentool": "1"}}"#);
    let ran = folder.run(&["fix", "a.json", "docs", "missing.json", "--write"]);
    assert_eq!(ran.code, Some(2), "one could not be read: {}", ran.stderr);
    for name in ["a.json", "docs/b.json"] {
        assert!(folder.read(name).contains("\"parameters\": []"), "{name}");
    }

    assert!(ran.stderr.contains("error: cannot read missing.json"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("3 documents: 2 fixes, 2 changed\ntry: opentool check\n"), "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("+++ ").count(), 2);

    let ran = folder.run(&["fix", "a.json", "docs", "-o", "x.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`-o OUT` takes one document"), "{}", ran.stderr);
}

#[test]
fn fix_never_writes_a_document_of_others() {
    let openapi = r#"{"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": {},
        "components": {"schemas": {"A": {"type": "string"}}}}"#;
    let folder = TestFolder::with("api.json", openapi);
    for arguments in [&["fix", "api.json", "--write"][..], &["fix", "api.json"], &["fix", "api.json", "-o", "out.json"]]
    {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(ran.stderr.contains("error[OT008]: this is an OpenAPI document"), "{}", ran.stderr);
        assert!(ran.stderr.ends_with("api.json: an OpenAPI document, left as it is\n"), "{}", ran.stderr);
        assert_eq!((folder.read("api.json").as_str(), folder.names()), (openapi, vec!["api.json".to_owned()]));
    }
}

#[test]
fn places_of_what_is_left_are_those_of_the_file_on_disk() {
    let text = "{\n  // one\n  \"opentool\": \"1.1.0\",\n  \"info\": { \"title\": \"T\", \"version\": \"1\" },\n  \"functions\": [\n    { \"name\": \"a b\", \"description\": \"D.\" }\n  ]\n}\n";
    let folder = TestFolder::with("a.json", text);
    let ran = folder.run(&["fix", "a.json"]);
    assert!(ran.stderr.contains("--> a.json:6:15\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("6 |     { \"name\": \"a b\", \"description\": \"D.\" }\n"), "{}", ran.stderr);
    let text = text.replace("  // one\n", "  // one\n  // two\n").replace("{\n  // one", "{ // one");
    folder.put("a.json", &text);
    let ran = folder.run(&["fix", "a.json", "--write"]);
    let line = folder.read("a.json").lines().position(|line| line.contains("a b")).unwrap() + 1;
    assert!(ran.stderr.contains(&format!("--> a.json:{line}:15\n")), "{}", ran.stderr);
}

#[test]
fn the_number_that_can_be_fixed_is_the_number_that_is_fixed() {
    let text = CLEAN.replace(
        r#""parameters": []"#,
        r#""parameters": {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"schema": {"type": "int"}, "required": true}}}}}"#,
    );
    let folder = TestFolder::with("a.json", text);
    let checked = folder.run(&["check", "a.json"]);
    let said = checked.stdout.lines().last().unwrap().split(' ').next().unwrap().to_owned();
    let fixed = folder.run(&["fix", "a.json", "-o", "-"]);
    assert!(fixed.stderr.contains(&format!("a.json: {said} fixes")), "{said}: {}", fixed.stderr);
}

#[test]
fn quiet_says_nothing_but_errors() {
    let folder = TestFolder::with("a.json", FAULTY);
    let ran = folder.run(&["fix", "--quiet", "a.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert_eq!(ran.stderr.matches("error[").count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("nothing written"), "{}", ran.stderr);
    folder.put("b.json", WARNED);
    let ran = folder.run(&["fix", "-q", "-w", "b.json"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
}
