use super::*;

#[test]
fn the_schema_of_each_format_is_printed() {
    for (format, title) in [("opentool", "OpenTool 1.1.0"), ("opendyn", "OpenDyn 1.0.0")] {
        let ran = run(&["schema", format]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let schema = json(&ran.stdout);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["title"], title);
    }
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stdout.contains("strict") && ran.stdout.contains("completions"), "{shell}");
    }
}
