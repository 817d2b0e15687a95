//! Sources that a configuration file describes: `[sources.NAME]`.

use serde_json::json as value;

use super::mcp::Agent;
use super::serving::{Script, Served, document};
use super::*;

/// A file with an MCP server that is a program, which leaves a file when it is started.
fn program() -> String {
    let script = format!("touch started; exec '{}' mcp demo", binary().display());
    format!(
        "[sources.tools]\nkind = \"mcp\"\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\nprefix = \"my_\"\n\
         only = [\"add\", \"delete_note\", \"add_note\"]\nexcept = \"add_note\"\ntimeout = \"20s\"\n"
    )
}

fn is_started(folder: &TestFolder) -> bool {
    folder.path("started").exists()
}

#[test]
fn a_table_is_a_source_by_its_name_in_every_command_once_it_is_trusted() {
    let folder = TestFolder::with("opentool.toml", program());
    for arguments in [&["tools", "tools"][..], &["call", "tools", "my_add"], &["load", "tools"], &["mcp", "tools"]] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("opentool.toml is not trusted, so its sources are not used"), "{ran:?}");
        assert!(ran.stderr.contains("opentool.toml:3: sources.tools.command = \"sh\""), "{ran:?}");
        assert!(ran.stderr.contains(&format!("opentool {} --config opentool.toml", arguments[0])), "{ran:?}");
    }
    assert_eq!(folder.run(&["serve", "--port", "0"]).code, Some(2));
    assert!(!is_started(&folder), "an untrusted file starts nothing");

    let ran = folder.run(&["tools", "tools", "--config", "opentool.toml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "a file that is named counts");
    let names: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with("my_")).collect();
    assert_eq!(names, ["my_add(a: integer, b: integer)", "my_delete_note(id: integer)"]);

    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let ran = folder.run(&["call", "tools", "my_add", "a=1", "b=2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"result\": \"3\"\n}\n"), "{ran:?}");
    let ran = folder.run(&["call", "tools", "my_add_note", "title=a", "text=b"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("my_add"), "{ran:?}");
    let ran = folder.run(&["load", "tools"]);
    assert_eq!(json(&ran.stdout)["functions"].as_array().unwrap().len(), 2);

    std::fs::remove_file(folder.path("started")).unwrap();
    for arguments in [&["tools", "demo"][..], &["call", "demo", "add", "a=1", "b=2"], &["check"]] {
        assert_eq!(folder.run(arguments).code, Some(0));
    }
    assert!(!is_started(&folder), "what is not named is not started");
}

#[test]
fn serve_offers_all_tables_of_a_file_or_those_that_are_named() {
    let remote = Script::with_functions(&["ring"], |_| Some(value!({ "rang": true })));
    let tables = format!(
        "port = 0\n[sources.bell]\nkind = \"opentool\"\nurl = \"{}\"\nprefix = \"door_\"\n\n{}[sources.own]\n\
         kind = \"demo\"\nonly = [\"multiply\"]\n",
        remote.url(),
        program()
    );
    let folder = TestFolder::with("opentool.toml", tables);
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    served.wait_for_log(
        "settings from opentool.toml (named by --config): port, sources.bell, sources.tools, sources.own\n",
    );
    let document = served.get("/opentool/load").json();
    let names: Vec<_> = document["functions"].as_array().unwrap().iter().map(|function| &function["name"]).collect();
    assert_eq!(names, ["door_ring", "my_add", "my_delete_note", "multiply"]);
    assert_eq!(served.call("door_ring", value!({}))["result"], value!({ "rang": true }));
    assert_eq!(served.call("my_add", value!({ "a": 1, "b": 2 }))["result"], value!({ "result": "3" }));
    drop(served);
    let served = Served::start(&folder, &["--config", "opentool.toml", "own"], &[]);
    let document = served.get("/opentool/load").json();
    assert_eq!(document["functions"].as_array().unwrap().len(), 1, "{document}");
    let ran = folder.run(&["serve", "--config", "opentool.toml", "ownn", "--port", "0"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("`ownn` is neither a file nor a source; did you mean `own` of opentool.toml?"),
        "{ran:?}"
    );
}

#[test]
fn an_agent_gets_what_the_file_describes_where_it_names_no_source() {
    let closed = "http://127.0.0.1:1";
    let tables = format!(
        "port = 1\nmax-body = \"4k\"\n[sources.bell]\nkind = \"opentool\"\nurl = \"{closed}\"\n\n{}[sources.own]\n\
         kind = \"demo\"\nonly = [\"multiply\"]\n",
        program()
    );
    let folder = TestFolder::with("opentool.toml", tables);
    let ran = folder.run(&["mcp"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("opentool.toml is not trusted, so its sources are not used"), "{ran:?}");
    assert!(ran.stderr.contains("opentool mcp --config opentool.toml"), "{ran:?}");
    assert!(!is_started(&folder), "an untrusted file starts nothing");
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));

    let mut agent = Agent::start(&folder, &[]);
    let listed = agent.ask("tools/list", value!({}))["result"]["tools"].take();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["my_add", "my_delete_note", "multiply"], "the others are there while one is down");
    assert_eq!(agent.call("my_add", value!({ "a": 1, "b": 2 }))["content"][0]["text"], "3");
    let refused = agent.ask("tools/call", value!({ "name": "multiply", "arguments": { "a": "1".repeat(5_000) } }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("4096"), "a limit of the file: {refused}");
    let mut agent = Agent::start(&folder, &["--max-body", "8k"]);
    let ran = agent.ask("tools/call", value!({ "name": "multiply", "arguments": { "a": "1".repeat(5_000) } }));
    assert_eq!(ran["result"]["isError"], true, "the command line goes before the file: {ran}");
    let mut agent = Agent::start(&folder, &["demo"]);
    assert_eq!(agent.call("add", value!({ "a": 1, "b": 2 }))["content"][0]["text"], "3", "a source that is named");
}

#[test]
fn what_an_agent_does_not_use_of_a_file_needs_no_trust() {
    let folder =
        TestFolder::with("opentool.toml", "host = \"0.0.0.0\"\njournal = \"calls.sqlite\"\nmax-result = \"1k\"\n");
    assert_eq!(folder.run(&["serve"]).code, Some(2), "other machines would reach it");
    let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}}\n";
    let ran = folder.run_with(&["mcp"], request);
    assert_eq!((ran.code, &json(&ran.stdout)["result"]["content"][0]["text"]), (Some(0), &value!("3")), "{ran:?}");
    assert_eq!(ran.stderr, "settings from opentool.toml: max-result\n");
    assert!(!folder.path("calls.sqlite").exists());
}

#[test]
fn an_agent_is_notified_when_a_source_comes_back() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let tables = format!("[sources.bell]\nkind = \"opentool\"\nurl = \"http://{address}/opentool\"\n");
    let folder = TestFolder::with("opentool.toml", tables);
    let mut agent = Agent::start(&folder, &["--config", "opentool.toml"]);
    agent.initialize("2025-11-25", value!({}));
    assert_eq!(agent.ask("tools/list", value!({}))["result"]["tools"], value!([]));
    let port = address.port().to_string();
    let _served = Served::start_exactly(&TestFolder::new(), &["demo", "--port", &port], &[]);
    assert_eq!(agent.receive()["method"], "notifications/tools/list_changed");
    assert_eq!(agent.call("add", value!({ "a": 1, "b": 2 }))["content"][0]["text"], "3");
}

#[test]
fn keys_and_headers_come_from_the_environment_or_a_file_only() {
    let folder = TestFolder::with("key", "s3cret-key\n");
    let served = Served::start(&folder, &[], &[("OPENTOOL_API_KEY", "s3cret-key")]);
    let (mcp, plain) = (format!("http://{}/mcp", served.address), format!("http://{}", served.address));
    for (kind, url) in [("mcp", mcp.as_str()), ("opentool", plain.as_str())] {
        let by_file = format!("[sources.a]\nkind = \"{kind}\"\nurl = \"{url}\"\nkey = {{ file = \"key\" }}\n");
        folder.put("opentool.toml", by_file);
        let ran = folder.run(&["call", "a", "add", "a=1", "b=2", "--raw", "--config", "opentool.toml"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{kind}: {ran:?}");

        let by_variable = format!("[sources.a]\nkind = \"{kind}\"\nurl = \"{url}\"\nkey = {{ env = \"TEST_KEY\" }}\n");
        folder.put("opentool.toml", by_variable);
        let ran = folder.run(&["tools", "a", "--config", "opentool.toml"]);
        assert_eq!(ran.code, Some(2), "{kind}: {ran:?}");
        let missing = "the source `a`: the variable TEST_KEY of the environment is not set";
        assert!(ran.stderr.contains(missing), "{kind}: {ran:?}");
        let mut command = folder.command();
        command.args(["tools", "a", "--config", "opentool.toml"]).env("TEST_KEY", "s3cret-key");
        assert!(command.output().unwrap().status.success(), "{kind}");

        // The key of the environment is for URLs that the user typed.
        folder.put("opentool.toml", format!("[sources.a]\nkind = \"{kind}\"\nurl = \"{url}\"\n"));
        let mut command = folder.command();
        command.args(["call", "a", "add", "a=1", "b=2", "--config", "opentool.toml"]);
        assert_eq!(command.env("OPENTOOL_API_KEY", "s3cret-key").output().unwrap().status.code(), Some(4), "{kind}");

        folder.put("opentool.toml", format!("[sources.a]\nkind = \"{kind}\"\nurl = \"{url}\"\nkey = \"planted\"\n"));
        let ran = folder.run(&["tools", "a", "--config", "opentool.toml"]);
        assert_eq!(ran.code, Some(2), "{kind}: {ran:?}");
        assert!(ran.stderr.contains("`key` is secret and must not stand in the file"), "{ran:?}");
        assert!(!ran.stderr.contains("planted"), "{ran:?}");
    }
    let header = format!(
        "[sources.a]\nkind = \"mcp\"\nurl = \"{mcp}\"\nheaders = {{ Authorization = {{ env = \"TEST_AUTH\" }} }}\n"
    );
    folder.put("opentool.toml", header);
    let mut command = folder.command();
    command.args(["tools", "a", "--config", "opentool.toml"]).env("TEST_AUTH", "Bearer s3cret-key");
    assert!(command.output().unwrap().status.success());
}

#[test]
fn a_program_gets_the_variables_that_its_table_names() {
    let script = r#"printf '%s %s' "$GREETING" "$MY_TOKEN" > seen; exit 1"#;
    let folder = TestFolder::with(
        "opentool.toml",
        format!(
            "[sources.a]\nkind = \"mcp\"\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\ncwd = \"sub\"\n\
             env = {{ GREETING = \"hello\", MY_TOKEN = {{ file = \"token\" }} }}\n"
        ),
    );
    folder.put("token", "t0ken");
    folder.put("sub/x", "");
    let ran = folder.run(&["tools", "a", "--config", "opentool.toml"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(folder.read("sub/seen"), "hello t0ken");
    let planted = folder.read("opentool.toml").replace("{ file = \"token\" }", "\"planted\"");
    folder.put("opentool.toml", planted);
    let ran = folder.run(&["tools", "a", "--config", "opentool.toml"]);
    assert!(ran.stderr.contains("`MY_TOKEN` is secret") && !ran.stderr.contains("planted"), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_document_and_a_library_are_sources_too() {
    let remote = Script::with_functions(&["ring"], |_| Some(value!({ "rang": true })));
    let folder = TestFolder::with("docs/bell.json", document(&["ring"], Some(&remote.url())).to_string());
    let libm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/libm.opendyn.json");
    folder.put("docs/libm.json", std::fs::read(libm).unwrap());
    // Paths start from the folder of the file.
    folder.put(
        "docs/opentool.toml",
        "[sources.bell]\nkind = \"opentool\"\ndocument = \"bell.json\"\n[sources.maths]\nkind = \"library\"\n\
         document = \"libm.json\"\nlibrary = \"libm.so.6\"\nonly = \"cos\"\nmemory = \"512M\"\ntimeout = 5\n",
    );
    let ran = folder.run(&["call", "bell", "ring", "--config", "docs/opentool.toml"]);
    assert_eq!(json(&ran.stdout), value!({ "rang": true }), "{ran:?}");
    let ran = folder.run(&["call", "maths", "cos", "x=0", "--config", "docs/opentool.toml"]);
    assert_eq!(json(&ran.stdout), value!({ "cosine": 1.0 }), "{ran:?}");
    let ran = folder.run(&["tools", "maths", "--config", "docs/opentool.toml", "--json"]);
    assert_eq!(json(&ran.stdout).as_array().unwrap().len(), 1, "{ran:?}");
}

#[test]
fn a_fault_in_a_table_has_its_line_a_caret_and_a_near_name() {
    let folder = TestFolder::new();
    for (table, shown) in [
        (
            "[sources.a]\nkind = \"mcp\"\ncomand = \"planted\"\n",
            "error: a source of the kind `mcp` has no key `comand`\n --> opentool.toml:3:1\n  |\n3 | comand = …\n  | ^^^^^^\n  |\n  = help: did you mean `command`?\n",
        ),
        (
            "[sources.a]\nkind = \"mpc\"\n",
            "error: there is no kind of sources `mpc`\n --> opentool.toml:2:8\n  |\n2 | kind = …\n  |        ^\n  |\n  = help: did you mean \"mcp\"?\n",
        ),
        (
            "[sources.a]\nurl = \"http://planted\"\n",
            "error: the source `a` has no `kind`\n --> opentool.toml:1:10\n  |\n1 | [sources.a]\n  |          ^\n  |\n  = help: write `kind = …`, one of \"mcp\", \"opentool\", \"library\", \"workflow\", \"demo\"\n",
        ),
        (
            "[sources.a]\nkind = \"mcp\"\ncommand = \"x\"\nargs = 7\n",
            "error: `args` must be a text or a list of texts, not a number\n --> opentool.toml:4:8\n",
        ),
        ("[sources.a]\nkind = \"mcp\"\n", "error: a source of the kind `mcp` needs either `command` or `url`\n"),
        ("[sources.a]\nkind = \"mcp\"\nurl = \"planted\"\n", "error: `url` must begin with http:// or https://\n"),
        (
            "[sources.a]\nkind = \"mcp\"\nurl = \"http://x\"\nargs = []\n",
            "error: `args` goes with `command`, and this source has a `url`\n",
        ),
        ("[sources.a]\nkind = \"demo\"\napproval = \"caler\"\n", "error: `approval` cannot be `caler`\n"),
        (
            "[sources.a]\nkind = \"demo\"\ntimeout = \"soon\"\n",
            "error: `timeout`: write a time such as 500ms, 35s or 2m\n",
        ),
        ("[sources.demo]\nkind = \"mcp\"\ncommand = \"x\"\n", "error: `demo` is the word for the tools that come with"),
        ("[sources]\na = \"planted\"\n", "error: `sources.a` must be a table\n"),
        (
            "[sources.a]\nkind = \"library\"\ndocument = \"a.json\"\nlibrary = \"x\"\nisolation = \"sometimes\"\n",
            "error: `isolation` cannot be `sometimes`\n --> opentool.toml:5:13\n",
        ),
    ] {
        folder.put("opentool.toml", table);
        for command in [&["serve", "--port", "0"][..], &["tools", "a"], &["trust", "--yes"]] {
            let ran = folder.run(command);
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.stderr.starts_with(shown), "{command:?} of {table}:\n{}", ran.stderr);
            assert!(!ran.stderr.contains("planted"), "{}", ran.stderr);
        }
    }
    folder.put("opentool.toml", "[sources.a]\nkind = \"demo\"\nonly = [\"ad\"]\n");
    let ran = folder.run(&["tools", "a"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.stderr,
        "error: the source `a`: it has no tool `ad`, which `only` lists; did you mean `add`?\n \
         --> opentool.toml:3:8\n  |\n3 | only = …\n  |        ^\n"
    );
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/libm.opendyn.json");
    folder.put("libm.json", std::fs::read(library).unwrap());
    for (table, problem, place) in [
        ("kind = \"opentool\"\ndocument = \"x.json\"", "cannot read x.json: no such file or directory", "3:12"),
        (
            "kind = \"opentool\"\nurl = \"http://a\"\nkey = { env = \"NOPE\" }",
            "the variable NOPE of the environment is not set",
            "4:7",
        ),
        ("kind = \"library\"\ndocument = \"x.json\"\nlibrary = \"libm.so.6\"", "cannot read x.json", "3:12"),
        (
            "kind = \"library\"\ndocument = \"libm.json\"\nlibrary = \"libm.so.66\"",
            "there is no library `libm.so.66`",
            "4:11",
        ),
        (
            "kind = \"library\"\ndocument = \"libm.json\"\nlibrary = \"libm.so.6\"\nallow = [\"read=/nowhere\"]",
            "",
            "1:10",
        ),
        ("kind = \"mcp\"\ncommand = \"x\"\nenv = { A = { file = \"gone\" } }", "cannot read gone", "4:7"),
    ] {
        folder.put("opentool.toml", format!("[sources.a]\n{table}\n"));
        let ran = folder.run(&["serve", "--config", "opentool.toml", "--port", "0"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let begin = format!("error: the source `a`: {problem}");
        assert!(ran.stderr.contains(&begin) && ran.stderr.contains(&format!("--> opentool.toml:{place}\n")), "{ran:?}");
        assert_eq!(ran.stderr.contains("try:"), problem.starts_with("there is no library"), "{ran:?}");
    }
}

#[test]
fn demo_tools_need_no_trust_and_trust_shows_what_runs() {
    let folder = TestFolder::with("opentool.toml", "[sources.own]\nkind = \"demo\"\nprefix = \"d_\"\n");
    let ran = folder.run(&["call", "own", "d_add", "a=1", "b=2"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{\n  \"sum\": 3\n}\n"), "{ran:?}");
    folder.put("opentool.toml", program());
    let ran = folder.run(&["trust"]);
    assert_eq!(ran.code, Some(2), "no terminal to ask at: {ran:?}");
    assert!(ran.stderr.contains("opentool.toml:3: sources.tools.command = \"sh\"\n"), "{ran:?}");
    assert!(ran.stderr.contains("opentool.toml:5: sources.tools.prefix = \"my_\"\n"), "{ran:?}");
}

#[test]
fn the_configuration_of_an_agent_names_the_file_of_its_sources() {
    let folder = TestFolder::with("opentool.toml", program());
    assert_eq!(folder.run(&["mcp", "tools", "--print-config"]).code, Some(2), "it is not trusted");
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let harmless = TestFolder::with("opentool.toml", "port = 1\n");
    let ran = harmless.run(&["mcp", "--print-config"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "named, it would count after any change: {ran:?}");
    assert!(ran.stderr.ends_with("try: opentool trust --yes\n"), "{ran:?}");
    assert_eq!(harmless.run(&["trust", "--yes"]).code, Some(0));
    assert_eq!(harmless.run(&["mcp", "--print-config"]).code, Some(0));
    let ran = folder.run(&["mcp", "tools", "--print-config"]);
    let arguments = json(&ran.stdout)["mcpServers"]["opentool"]["args"].clone();
    let file = std::fs::canonicalize(folder.path("opentool.toml")).unwrap();
    assert_eq!(arguments, value!(["mcp", "tools", "--config", file]), "{ran:?}");
    for (given, expected) in [
        (&["mcp", "--print-config"][..], value!(["mcp", "--config", file])),
        (&["mcp", "demo", "--print-config"], value!(["mcp", "demo"])),
        (&["mcp", "--config", "opentool.toml", "--print-config"], value!(["mcp", "--config", file])),
    ] {
        let ran = folder.run(given);
        assert_eq!(json(&ran.stdout)["mcpServers"]["opentool"]["args"], expected, "{ran:?}");
        assert_eq!(ran.stderr.contains("without `opentool trust`"), given.len() == 2, "{ran:?}");
    }
}
