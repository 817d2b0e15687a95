//! `opentool init`: a configuration file for what is in a folder.

use serde_json::json as value;

use super::configuration::{schema, violations};
use super::serving::{Script, Served, document};
use super::*;

/// A workflow of a tool of the folder, and a demo tool.
const FLOW: &str = r#"{"openworkflow": "1.0.0", "info": {"title": "Flow", "version": "1.0.0"}, "workflow": {
  "start": {"function": "rain", "arguments": {}, "results": {}, "next": "pause"},
  "pause": {"function": "sleep", "arguments": {"milliseconds": 1}, "results": {}, "next": "last"},
  "last": {"function": "add", "arguments": {"a": 1, "b": 2}, "results": {"sum": 0}, "next": "null"}}}
"#;

/// A folder with something of every kind.
fn project(remote: &Script) -> TestFolder {
    let folder = TestFolder::with("weather.opentool.json", document(&["rain"], Some(&remote.url())).to_string());
    folder.put("plan.opentool.json", document(&["later"], None).to_string());
    folder.put("docs/flow.openworkflow.json", FLOW);
    folder.put("broken.opentool.json", "{ \"opentool\": \"1.1.0\" }");
    folder.put("package.json", "{ \"name\": \"not ours\" }");
    folder.put("libgeo.so", "");
    folder.put("geo.h", "");
    folder.put(".env.example", "# keys\nANTHROPIC_API_KEY=\nexport OTHER=1\n");
    folder.put(
        ".mcp.json",
        value!({ "mcpServers": {
            "files": { "command": "touch", "args": ["started", "a \"b\""], "env": { "LANG": "C", "MY_TOKEN": "planted" } },
            "demo": { "url": "http://127.0.0.1:1/mcp", "headers": { "Authorization": "${AUTH}" } },
            "off": { "command": "x", "disabled": true },
        } })
        .to_string(),
    );
    folder.put("node_modules/other.opentool.json", document(&["hidden"], Some("http://127.0.0.1:1")).to_string());
    folder
}

#[test]
fn what_is_in_the_folder_is_written_trusted_and_served() {
    let remote = Script::with_functions(&["rain"], |_| Some(value!({ "wet": true })));
    let folder = project(&remote);
    folder.put("other.openworkflow.json", FLOW.replace("\"add\"", "\"fly\""));
    let ran = folder.run(&["init"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    for line in [
        "found weather.opentool.json → [sources.weather]: an OpenTool document with 1 function, of http://",
        "found plan.opentool.json: an OpenTool document without `server.url`",
        "found broken.opentool.json: a document with errors: `opentool check broken.opentool.json` shows them",
        "found libgeo.so: a C library without a document: `opentool dyn describe libgeo.so --header geo.h -o libgeo.opendyn.json`",
        "found .mcp.json: the MCP server `files`, which is written as a comment",
        "found docs/flow.openworkflow.json → [sources.flow]: an OpenWorkflow document\n",
        "found other.openworkflow.json: an OpenWorkflow document; no source has the function `fly` of its steps\n",
        "found .env.example: 2 variables",
        "opentool.toml is written, and is trusted until it changes\n",
        "  opentool serve\n",
    ] {
        assert!(ran.stderr.contains(line), "{line}\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("node_modules") && !ran.stderr.contains("`off`"), "{}", ran.stderr);
    let text = folder.read("opentool.toml");
    assert_eq!(violations(&schema(), &text), Vec::<String>::new(), "{text}");
    assert!(!text.contains("planted"), "{text}");

    // As it stands it is served, and nothing that the folder names was started.
    let served = Served::start(&folder, &[], &[]);
    served.wait_for_log("settings from opentool.toml (trusted): port, sources.weather, sources.flow\n");
    assert_eq!(served.call("rain", value!({}))["result"], value!({ "wet": true }));
    assert!(!folder.path("started").exists());
}

#[test]
fn what_is_commented_out_is_right_too() {
    let remote = Script::with_functions(&["rain"], |_| Some(value!({ "wet": true })));
    let folder = project(&remote);
    let ran = folder.run(&["init", "--print"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!folder.path("opentool.toml").exists(), "nothing is written");
    // Everything that looks like TOML behind a `#` becomes a part of the file.
    let is_setting = |line: &str| {
        let line = line.trim_start_matches("# ");
        line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
    };
    let mut lines: Vec<_> =
        ran.stdout.lines().map(|line| if is_setting(line) { line.trim_start_matches("# ") } else { line }).collect();
    // The examples use a name that the folder has too.
    let examples = lines.iter().position(|line| line.starts_with("# Other sources")).unwrap();
    let end = lines.iter().position(|line| line.starts_with("# A file in which calls")).unwrap();
    lines.drain(examples..end);
    let text = lines.join("\n").replace("[\"read=data\"]", "[\"read=/tmp\"]");
    assert!(text.contains("[sources.files]") && text.contains("MY_TOKEN = { env = \"MY_TOKEN\" }"), "{text}");
    assert!(text.contains("headers = { Authorization = { env = \"AUTH\" } }"), "{text}");
    assert!(text.contains("key = { env = \"ANTHROPIC_API_KEY\" }"), "{text}");
    assert_eq!(violations(&schema(), &text), Vec::<String>::new(), "{text}");
    folder.put("opentool.toml", &text);
    let ran = folder.run(&["trust", "--yes"]);
    assert_eq!(ran.code, Some(0), "{text}\n{ran:?}");
    assert!(ran.stderr.contains("sources.flow.tools = [\"demo\", \"weather\"]"), "{ran:?}");
}

#[test]
fn a_library_is_described_by_the_next_command_and_then_served() {
    let folder = TestFolder::with("libgeo.so", "");
    folder.put("libgeo.h", "");
    let describe = "opentool dyn describe libgeo.so --header libgeo.h -o libgeo.opendyn.json";
    let report = json(&folder.run(&["init", "--json"]).stdout);
    assert_eq!(
        report["next"].as_array().unwrap()[..3],
        [describe, "opentool init --force", "opentool serve"],
        "{report}"
    );

    // The document has the name that the command gives it.
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/libm.opendyn.json");
    folder.put("libgeo.opendyn.json", std::fs::read_to_string(example).unwrap());
    let ran = folder.run(&["init", "--force"]);
    assert!(
        ran.stderr.contains("found libgeo.opendyn.json → [sources.libgeo]: 4 functions of the C library libgeo.so\n"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("without a document"), "{ran:?}");
    assert!(folder.read("opentool.toml").contains("library = \"./libgeo.so\"\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_that_the_system_has_is_named_as_it_can_be_loaded() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/libm.opendyn.json");
    let folder = TestFolder::with("libm.opendyn.json", std::fs::read_to_string(example).unwrap());
    let ran = folder.run(&["init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("its library libm.so.6 is the system's, so that it is written as a comment\n"),
        "{ran:?}"
    );
    let text = folder.read("opentool.toml");
    let (before, rest) = text.split_once("# [sources.libm]\n").unwrap();
    let (lines, rest) = rest.split_once("\n\n").unwrap();
    assert!(lines.contains("# library = \"libm.so.6\""), "{text}");
    folder.put("opentool.toml", format!("{before}[sources.libm]\n{}\n\n{rest}", lines.replace("# ", "")));
    let ran = folder.run(&["call", "libm", "cos", "x=0", "--config", "opentool.toml"]);
    assert_eq!((ran.code, json(&ran.stdout)["cosine"].as_f64()), (Some(0), Some(1.0)), "{text}\n{ran:?}");
}

#[test]
fn the_port_is_not_that_of_a_server_that_the_folder_names() {
    let folder = TestFolder::with("a.opentool.json", document(&["rain"], Some("http://127.0.0.1:9627")).to_string());
    folder.put(".mcp.json", value!({ "mcpServers": { "b": { "url": "http://localhost:9628/mcp" } } }).to_string());
    let ran = folder.run(&["init"]);
    assert!(folder.read("opentool.toml").contains("\nport = 9629\n"), "{ran:?}");
    assert!(ran.stderr.contains("  opentool tools http://127.0.0.1:9629\n"), "{ran:?}");
}

#[test]
fn a_file_that_is_there_is_kept() {
    let folder = TestFolder::with("opentool.toml", "port = 1\n");
    let ran = folder.run(&["init"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("opentool.toml is there already: `opentool init --force` replaces it"), "{ran:?}");
    assert_eq!(folder.read("opentool.toml"), "port = 1\n");
    assert_eq!(folder.run(&["init", "--force"]).code, Some(0));
    assert!(folder.read("opentool.toml").contains("[sources.tools]\nkind = \"demo\"\n"));
    let served = Served::start(&folder, &[], &[]);
    assert_eq!(served.call("add", value!({ "a": 1, "b": 2 }))["result"], value!({ "sum": 3 }));

    let other = TestFolder::new();
    std::fs::create_dir(other.path("sub")).unwrap();
    let ran = other.run(&["init", "sub", "--json"]);
    let report = json(&ran.stdout);
    assert_eq!((ran.code, &report["file"], &report["trusted"]), (Some(0), &value!("sub/opentool.toml"), &value!(true)));
    assert_eq!(report["next"][0], "cd sub", "{report}");
    assert_eq!(other.run(&["init", "missing"]).code, Some(2));
}

#[test]
fn no_text_of_a_file_can_become_a_setting() {
    let evil = "x\n[sources.evil]\nkind = \"mcp\"\ncommand = \"touch\"\n#";
    let folder = TestFolder::with(
        ".mcp.json",
        value!({ "mcpServers": { evil: { "command": evil, "args": [evil], "env": { evil: evil } } } }).to_string(),
    );
    let flow = value!({ "openworkflow": "1.0.0", "info": { "title": evil, "version": "1" },
        "workflow": { "start": { "function": evil, "arguments": {}, "results": {}, "next": "null" } } });
    folder.put("a.openworkflow.json", flow.to_string());
    let mut library = json(
        &std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/libm.opendyn.json"))
            .unwrap(),
    );
    library["info"]["title"] = evil.into();
    folder.put("a.opendyn.json", library.to_string());
    let mut remote = document(&["look"], Some("http://127.0.0.1:1"));
    remote["server"]["url"] = format!("http://127.0.0.1:1/{evil}").into();
    folder.put("b.opentool.json", remote.to_string());
    #[cfg(unix)]
    folder.put("c\n[sources.evil]\nkind = \"mcp\"\n#.opentool.json", document(&["look"], None).to_string());
    assert_eq!(folder.run(&["init"]).code, Some(0));
    let text = folder.read("opentool.toml");
    let parsed: toml::Table = text.parse().unwrap();
    let sources = parsed["sources"].as_table().unwrap();
    assert!(sources.values().all(|source| source["kind"].as_str() != Some("mcp")), "{text}");
    assert!(!sources.contains_key("evil"), "{text}");
}

#[test]
fn two_documents_with_a_tool_of_one_name_are_served() {
    let remote = Script::with_functions(&["rain"], |_| Some(value!({ "wet": true })));
    let folder = TestFolder::new();
    for name in ["a", "b"] {
        folder.put(&format!("{name}.opentool.json"), document(&["rain"], Some(&remote.url())).to_string());
    }
    for name in ["flow", "other"] {
        folder.put(&format!("{name}.openworkflow.json"), FLOW);
    }
    let ran = folder.run(&["init"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = folder.read("opentool.toml");
    assert!(text.contains("# Another source has a `rain` too.\nprefix = \"b_\"\n"), "{text}");
    assert_eq!(violations(&schema(), &text), Vec::<String>::new(), "{text}");
    let served = Served::start(&folder, &[], &[]);
    for name in ["rain", "b_rain"] {
        assert_eq!(served.call(name, value!({}))["result"], value!({ "wet": true }), "{name}");
    }
    drop(served);

    // Without the prefix, the error and `doctor` point at the table.
    folder.put("opentool.toml", text.replace("prefix = \"b_\"\n", ""));
    let line = text.lines().position(|line| line == "[sources.b]").unwrap() + 1;
    let place = format!(
        "the source `b`: it has a tool named `rain`, and so has the source `a`\n  --> opentool.toml:{line}:10\n"
    );
    let ran = folder.run(&["serve", "--config", "opentool.toml"]);
    assert!(ran.code == Some(2) && ran.stderr.contains(&place), "{ran:?}\n{place}");
    assert!(ran.stderr.contains("= help: give one of them a `prefix`, such as `prefix = \"b_\"`"), "{ran:?}");
    let ran = folder.run(&["doctor", "--config", "opentool.toml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("FAILED   tools           the source `b`: it has a tool named `rain`"), "{ran:?}");
}

#[test]
fn documents_of_other_formats_are_named() {
    let folder = TestFolder::with(
        "openapi.json",
        value!({ "openapi": "3.1.0", "info": { "title": "A", "version": "1" }, "paths": {} }).to_string(),
    );
    folder.put(
        "my tools.json",
        value!([{ "type": "function", "function": { "name": "a", "parameters": { "type": "object" } } }]).to_string(),
    );
    folder.put("data.schema.json", value!({ "type": "object", "properties": { "parameters": {} } }).to_string());
    let ran = folder.run(&["init"]);
    assert!(
        ran.stderr.contains("found openapi.json: an OpenAPI document, which cannot be served yet\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("`opentool import 'my tools.json'` makes an OpenTool document of it"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("data.schema.json"), "{}", ran.stderr);
}

#[test]
fn printed_commands_are_quoted_for_a_shell() {
    let folder = TestFolder::with("bad one.opentool.json", "{ \"opentool\": \"1.1.0\" }");
    let ran = folder.run(&["init"]);
    let check = "`opentool check 'bad one.opentool.json'` shows them";
    assert!(ran.stderr.contains(check) && folder.read("opentool.toml").contains(check), "{ran:?}");
}

#[test]
fn what_servers_of_an_agent_need_is_said() {
    let folder = TestFolder::with(
        ".mcp.json",
        value!({ "mcpServers": {
            "files": { "command": "x" },
            "old": { "type": "sse", "url": "https://a.example/sse" },
            "web": { "url": "https://a.example/mcp", "headers": { "Authorization": "Bearer sk-planted", "X-Team": "a" } },
            "basic": { "url": "https://b.example/mcp", "headers": { "Authorization": "Basic planted" } },
        } })
        .to_string(),
    );
    let ran = folder.run(&["init"]);
    assert!(ran.stderr.contains("the MCP server `old`, which speaks HTTP+SSE, an older form of MCP"), "{ran:?}");
    let text = folder.read("opentool.toml");
    assert!(!text.contains("a.example/sse") && !text.contains("planted"), "{text}");
    assert_eq!(text.matches("# [sources.files]").count(), 1, "{text}");
    let web = "# The variable has the key alone, without `Bearer`.\n# key = { env = \"WEB_KEY\" }\n\
               # headers = { X-Team = \"a\" }\n";
    assert!(text.contains(web), "{text}");
    assert!(
        text.contains("# The variable AUTHORIZATION has the whole value, with the word before the key.\n"),
        "{text}"
    );
    assert!(
        text.contains("`web` of .mcp.json. Calls would be sent to its URL, so read it, take the `#` away"),
        "{text}"
    );
}
