//! The examples of the manual pages run, and so do manual pages and completions.

use std::process::Command as Program;

use super::*;

/// Whether a program is on this machine.
fn is_installed(program: &str) -> bool {
    let found = Program::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
    found.status.success()
}

/// Where programs are looked for, the binary among them.
fn search_path() -> String {
    format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap())
}

fn pages() -> TestFolder {
    let folder = TestFolder::new();
    let ran = folder.run(&["man", "--output", "man1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    folder
}

/// The example lines of a page, without what explains them.
fn examples(page: &str) -> Vec<String> {
    let samples = page.split(".SH EXAMPLES\n.nf\n").nth(1).and_then(|rest| rest.split("\n.fi\n").next());
    let lines = samples.unwrap_or_default().lines().map(|line| line.replace("\\-", "-").replace("\\e", "\\"));
    // Two spaces begin the explanation; none of the samples has them in quotes.
    lines.map(|line| line.trim().split("  ").next().unwrap().to_owned()).collect()
}

/// Whether an example needs neither a network, nor a model, nor an agent, nor a file that only its reader has.
fn runs_here(example: &str) -> bool {
    let needs = [
        "http",
        "../other",
        "opentool version",
        "npx",
        "serve",
        "chat",
        "models",
        "mcp",
        "login",
        "RUN",
        "~",
        "$PROFILE",
        "vendor",
        "--pkg",
        "calls.sqlite",
    ];
    let tools = [("jq", "| jq"), ("patch", "| patch"), ("man", "| man")];
    !needs.iter().any(|word| example.contains(word))
        && tools.iter().all(|(program, pipe)| !example.contains(pipe) || is_installed(program))
}

/// A folder with the files that the examples name.
fn folder_of_examples(tools: &str) -> TestFolder {
    let folder = TestFolder::new();
    let weather = include_str!("../../../../examples/weather.opentool.json");
    for name in ["weather.json", "weather.opentool.json", "api.json", "a.json", "old.json", "docs/weather.json"] {
        folder.put(name, weather);
    }
    folder.put("libm.opendyn.json", include_str!("../../../../examples/libm.opendyn.json"));
    folder.put("flow.openworkflow.json", include_str!("../../../../examples/notes.openworkflow.json"));
    folder.put(
        "person.schema.json",
        r#"{ "title": "person", "type": "object", "properties": { "name": { "type": "string" } } }"#,
    );
    folder.put("tools.json", tools);
    folder.put("opentool.toml", "port = 9627\n");
    folder.put("tools/clock.opentool.json", weather);
    folder
}

#[cfg(target_os = "linux")]
#[test]
fn the_examples_that_need_no_network_run() {
    let pages = pages();
    let tools = folder_of_examples("[]").run(&["convert", "weather.json", "--to", "openai"]).stdout;
    let mut ran = Vec::new();
    for entry in pages.path("man1").read_dir().unwrap() {
        let entry = entry.unwrap();
        let page = std::fs::read_to_string(entry.path()).unwrap();
        let examples = examples(&page);
        assert!(!examples.is_empty(), "{entry:?}");
        for example in examples.into_iter().filter(|example| runs_here(example)) {
            let folder = folder_of_examples(&tools);
            let mut shell = Program::new("sh");
            shell.args(["-c", &example]).current_dir(folder.0.path()).env("PATH", search_path());
            shell.env("XDG_STATE_HOME", folder.path("state")).env_remove("OPENTOOL_API_KEY").env("MANPAGER", "cat");
            let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
            let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let expected = match example.as_str() {
                // To replace the file of the folder is refused, as documented.
                "opentool init" => 2,
                _ => 0,
            };
            assert_eq!(output.status.code(), Some(expected), "{example}: {stdout}{stderr}");
            ran.push(example);
        }
    }
    assert!(ran.len() > 30, "only {} examples ran: {ran:#?}", ran.len());
}

#[test]
fn every_command_has_a_manual_page() {
    let pages = pages();
    let ran = run(&["man"]);
    assert_eq!(ran.stdout, pages.read("man1/opentool.1"));
    let login = run(&["man", "mcp", "login"]);
    assert_eq!(login.stdout, pages.read("man1/opentool-mcp-login.1"));
    for page in [&ran.stdout, &login.stdout] {
        for section in [".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXAMPLES", ".SH \"EXIT STATUS\""] {
            assert!(page.contains(section), "{section}: {page}");
        }
    }
    let ran = run(&["man", "mcp", "logn"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("there is no command `mcp logn`"), "{}", ran.stderr);
    if is_installed("groff") {
        let groff = Program::new("groff")
            .args(["-man", "-Kutf8", "-Tutf8", "-ww", "-z"])
            .arg(pages.path("man1/opentool-serve.1"))
            .output();
        let groff = groff.unwrap();
        assert!(groff.stderr.is_empty(), "{}", String::from_utf8_lossy(&groff.stderr));
    }
}

#[test]
fn completions_load_in_the_shells_that_are_here() {
    let folder = TestFolder::new();
    for (shell, load) in [
        ("bash", "source ./script && complete -p opentool"),
        ("zsh", "autoload -Uz compinit && compinit -u -d ./dump && source ./script && (( ${+functions[_opentool]} ))"),
        ("fish", "source ./script; and complete -C 'opentool che' | string match -q 'check*'"),
    ] {
        let ran = run(&["completions", shell]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("completions") && ran.stdout.contains("describe"), "{shell}");
        folder.put("script", &ran.stdout);
        if is_installed(shell) {
            let mut program = Program::new(shell);
            program.args(["-c", load]).current_dir(folder.0.path()).env("HOME", folder.0.path());
            let output = program.output().unwrap();
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn bash_completes_commands_and_options() {
    if !is_installed("bash") {
        return;
    }
    let folder = TestFolder::with("script", run(&["completions", "bash"]).stdout);
    let complete = |words: &str, count: usize| {
        let script = format!(
            "source ./script; COMP_WORDS=({words}); COMP_CWORD={count}; _opentool opentool \"${{COMP_WORDS[{count}]}}\" \"\"; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let output = Program::new("bash").args(["-c", &script]).current_dir(folder.0.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("opentool che", 1), "check");
    assert_eq!(complete("opentool check --str", 2), "--strict");
    assert_eq!(complete("opentool mcp log", 2), "login");
}

#[test]
fn the_version_names_the_commit_and_the_parts() {
    let ran = run(&["--version"]);
    let version = ran.stdout.strip_prefix(concat!("opentool ", env!("CARGO_PKG_VERSION"), " (")).unwrap();
    assert!(version.ends_with(")\n") && version.lines().count() == 1, "{version}");
    for part in ["chat", "dyn", "mcp", "server"] {
        let (_, parts) = version.split_once("features ").unwrap();
        assert!(parts.trim_end_matches(")\n").split(' ').any(|name| name == part), "{version}");
    }
    let git = |arguments: &[&str]| {
        let output = Program::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    // In a repository, it is one of its commits; a build may be older than the last one.
    if git(&["rev-parse", "HEAD"]).is_some() {
        let (commit, rest) = version.split_once(' ').unwrap();
        assert!(git(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_some(), "{version}");
        assert!(rest.starts_with("20") && rest.as_bytes()[10] == b',', "{version}");
    }
}

const PAGE: &str = include_str!("../../../../docs/command-line.md");

/// The samples of the page, in order.
fn samples() -> Vec<&'static str> {
    PAGE.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("console\n")).collect()
}

#[test]
fn the_error_of_the_page_is_what_is_said() {
    let folder = TestFolder::with("weather.json", CLEAN);
    assert_eq!(readme::walk(&folder, samples()[0], "2>&1"), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn the_examination_of_the_page_has_the_lines_of_a_real_one() {
    let folder = TestFolder::new();
    let output = folder.command().arg("doctor").env_remove("OPENTOOL_MODEL").output().unwrap();
    let real = String::from_utf8(output.stdout).unwrap();
    // The state and the text depend on the machine, the areas and names do not.
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains(" try: ") && !line.contains(" failed"));
        let name = |line: &str| match line.strip_prefix("  ") {
            Some(found) => found.get(9..23).unwrap_or_default().trim().to_owned(),
            None => line.to_owned(),
        };
        lines.skip_while(|line| *line != "sandbox").map(name).collect()
    };
    assert_eq!(lines(samples()[1]), lines(&real), "{real}");
}
