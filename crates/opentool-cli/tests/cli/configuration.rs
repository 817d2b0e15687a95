//! `opentool.toml`: what may stand in it, its JSON Schema, and the page that describes it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use serde_json::{Value, json as value};

use super::readme::walk;
use super::serving::{Script, Served};
use super::workflows::{EXAMPLE, store};
use super::*;

pub(crate) fn schema() -> Value {
    let ran = run(&["schema", "opentool.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    json(&ran.stdout)
}

/// Says what is wrong with a file, by the schema.
pub(crate) fn violations(schema: &Value, file: &str) -> Vec<String> {
    let file: Value = serde_json::to_value(file.parse::<toml::Table>().unwrap()).unwrap();
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.iter_errors(&file).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Files that are right as such, where the fault is that each has, what is said about it, and whether `doctor` finds it by looking.
const UNUSABLE: [(&str, &str, &str, bool); 18] = [
    ("api-key = { env = \"NOPE\" }", "1:11", "the variable NOPE of the environment is not set", true),
    ("api-key = { file = \"nope.key\" }", "1:11", "cannot read nope.key: no such file or directory", true),
    ("api-key = [{ file = \"key\" }, { env = \"NOPE\" }]", "1:30", "the variable NOPE", true),
    ("sources = \"dmo\"", "1:11", "`dmo` is neither a file nor a source; did you mean `demo`?", true),
    ("sources = [\"demo\", \"no.json\"]", "1:20", "cannot read no.json: no such file or directory", true),
    ("[model]\nprovider = \"openai\"\nname = \"a\"\nkey = { env = \"NOPE\" }", "4:7", "the variable NOPE", true),
    ("api-keys-file = \"nope\"", "1:17", "nope: cannot be read: no such file or directory", true),
    ("tls-cert = \"nope\"\ntls-key = \"key\"", "1:12", "nope: cannot be read: no such file or directory", true),
    ("tls-cert = \"key\"", "1:12", "`tls-cert` needs `tls-key`", true),
    ("journal = \"no/such/a.sqlite\"", "1:11", "the journal no/such/a.sqlite cannot be opened", true),
    ("[journal]\nfile = \"no/such/a.sqlite\"", "2:8", "the journal no/such/a.sqlite cannot be opened", true),
    ("host = \"bogus..host\"", "1:8", "cannot bind bogus..host:9627", true),
    ("host = \"0.0.0.0\"\nport = 0", "1:8", "set a key with OPENTOOL_API_KEY or `api-keys-file`", true),
    ("public-url = \"here\"", "1:14", "is no http:// or https:// URL", true),
    (
        "[sources.a]\nkind = \"demo\"\n[sources.b]\nkind = \"demo\"",
        "3:10",
        "it has a tool named `current_date_time`, and so has the source `a`",
        true,
    ),
    ("[sources.a]\nkind = \"opentool\"\nurl = \"http://127.0.0.1:1\"\nkey = { env = \"NOPE\" }", "4:7", "NOPE", false),
    ("max-calls = 1.5", "1:13", "`max-calls` must be a whole number, not 1.5", true),
    ("\u{feff}prot = 1", "1:1", "the file has no key `prot`", true),
];

#[test]
fn a_value_that_cannot_be_used_is_shown_with_its_line() {
    for (text, place, problem, _) in UNUSABLE {
        let folder = TestFolder::with("c.toml", format!("{text}\n"));
        folder.put("key", "some-key-123");
        let ran = folder.run(&["serve", "--config", "c.toml"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{text}: {ran:?}");
        let error = &ran.stderr[ran.stderr.find("error: ").unwrap()..];
        assert!(error.contains(&format!("--> c.toml:{place}\n")) && error.contains("^"), "{text}: {error}");
        assert!(error.contains(problem), "{text}: {error}");
        assert!(!error.contains("try: ") && !error.contains('\u{fffd}'), "{text}: {error}");
    }
}

#[test]
fn doctor_finds_what_keeps_the_server_from_starting() {
    for (text, _, problem, _) in UNUSABLE.iter().filter(|(.., is_found)| *is_found) {
        let folder = TestFolder::with("c.toml", format!("{text}\n"));
        folder.put("key", "some-key-123");
        let ran = folder.run(&["doctor", "--config", "c.toml"]);
        assert_eq!(ran.code, Some(1), "{text}: {ran:?}");
        let is_journal = problem.starts_with("the journal");
        assert!(ran.stdout.contains(if is_journal { "there is no such folder" } else { problem }), "{text}: {ran:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_with_their_line() {
    let folder = TestFolder::with("c.toml", b"port = 1\ntag = \"\xff\"\n");
    let ran = folder.run(&["serve", "--config", "c.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.starts_with("error: the file is not UTF-8 from here on\n --> c.toml:2:8\n"), "{ran:?}");
}

#[test]
fn a_value_of_the_command_line_is_not_said_to_be_of_the_file() {
    let folder = TestFolder::with("c.toml", "host = \"127.0.0.1\"\n");
    let ran = folder.run(&["serve", "--config", "c.toml", "--host", "bogus..host"]);
    assert!(ran.code == Some(2) && !ran.stderr.contains("c.toml:"), "{ran:?}");
}

/// The keys of a table in the schema, and a value that its reader takes.
fn keys(table: &Value) -> Vec<(String, String)> {
    let properties = table["properties"].as_object().unwrap();
    properties.iter().map(|(key, schema)| (key.clone(), sample(key, schema))).collect()
}

/// A value for a key.
fn sample(key: &str, schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        return choices[0].to_string();
    }
    if let Some(word) = schema.get("const") {
        return word.to_string();
    }
    if let Some(alternatives) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        return sample(key, &alternatives[0]);
    }
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    match &schema["type"] {
        Value::String(of) if of == "boolean" => "false".to_owned(),
        Value::String(of) if of == "integer" => "1".to_owned(),
        Value::String(of) if of == "object" => match schema["required"][0].as_str() {
            Some(place) if schema["properties"].as_object().unwrap().len() == 1 => format!("{{ {place} = \"x\" }}"),
            _ => "{}".to_owned(),
        },
        _ if pattern.contains("ms") => "\"5s\"".to_owned(),
        _ if pattern.contains("kKmM") => "\"512M\"".to_owned(),
        _ if pattern.contains("://") => "\"http://127.0.0.1:1\"".to_owned(),
        _ if key == "allow" => "\"net\"".to_owned(),
        _ => "\"x\"".to_owned(),
    }
}

/// The tables of the schema that have keys of their own, with the line that begins each in a file.
fn tables(schema: &Value) -> Vec<(String, Value)> {
    let mut tables = vec![(String::new(), schema.clone())];
    for (name, at) in [("model", "/properties/model"), ("page", "/properties/page")] {
        tables.push((format!("[{name}]\n"), schema.pointer(at).unwrap().clone()));
    }
    tables.push(("[journal]\n".to_owned(), schema.pointer("/properties/journal/anyOf/1").unwrap().clone()));
    let kinds = schema.pointer("/properties/sources/anyOf/1/additionalProperties/oneOf").unwrap();
    for kind in kinds.as_array().unwrap() {
        let name = kind["title"].as_str().unwrap();
        tables.push((format!("[sources.a]\nkind = \"{name}\"\n"), kind.clone()));
    }
    for kind in kinds.as_array().unwrap() {
        let name = kind["title"].as_str().unwrap();
        let tool = kind.pointer("/properties/tool/additionalProperties").unwrap();
        tables.push((format!("[sources.a]\nkind = \"{name}\"\n[sources.a.tool.add]\n"), tool.clone()));
    }
    tables
}

#[test]
fn the_reader_and_the_schema_know_the_same_keys() {
    let (folder, schema) = (TestFolder::new(), schema());
    let mut count = 0;
    for (head, table) in tables(&schema) {
        for (key, sample) in keys(&table).into_iter().filter(|(key, _)| key != "kind") {
            let file = format!("{head}{key} = {sample}\n");
            folder.put("opentool.toml", &file);
            let ran = folder.run(&["trust"]);
            // Other keys may be needed too; this one is known, and its value is right.
            assert!(
                !ran.stderr.contains("has no key") && !ran.stderr.contains(&format!("`{key}` must")),
                "{file}{ran:?}"
            );
            assert!(!ran.stderr.contains("` cannot be `"), "{file}{ran:?}");
            assert!(!ran.stderr.contains("is secret"), "{file}{ran:?}");
            count += 1;
        }
        let file = format!("{head}no-such-key = 1\n");
        folder.put("opentool.toml", &file);
        assert!(folder.run(&["trust"]).stderr.contains("has no key `no-such-key`"), "{file}");
        assert_eq!(table["additionalProperties"], value!(false), "{head}");
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_schema_takes_what_the_reader_takes_and_refuses_what_it_refuses() {
    let (folder, schema) = (TestFolder::new(), schema());
    let right = r#"
        port = 0
        api-key = [{ env = "A" }, { file = "b" }]
        timeout = 20
        max-body = "16M"
        read-only = "look"
        [journal]
        file = "calls.sqlite"
        key-retention = "24h"
        [model]
        provider = "ollama"
        name = "qwen3"
        [page]
        enabled = false
        [sources.a]
        kind = "mcp"
        command = "npx"
        args = ["-y", "server"]
        env = { LANG = "C", MY_TOKEN = { env = "B" } }
        [sources.a.tool.pay]
        approval = "caller"
        timeout = "2m"
        max-calls = 2
        max-result = "64k"
        [sources.b]
        kind = "library"
        document = "b.json"
        library = "b.so"
        allow = ["net", "read=/tmp"]
        memory = "512M"
        threads = 4
        max-calls-per-turn = 5
        [sources.b.tool.save]
        allow = "write=/tmp"
        [sources.c]
        kind = "workflow"
        document = "c.json"
        tools = ["a", "demo"]
    "#;
    assert_eq!(violations(&schema, right), Vec::<String>::new());
    folder.put("opentool.toml", right);
    let ran = folder.run(&["trust", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for wrong in [
        "port = \"9627\"",
        "prot = 9627",
        "api-key = \"planted\"",
        "timeout = \"soon\"",
        "max-body = true",
        "approval = \"maybe\"",
        "[model]\nprovider = \"ollama\"",
        "[model]\nprovider = \"acme\"\nname = \"a\"",
        "[page]\nenabled = 1",
        "[journal]\nkey-retention = \"1h\"",
        "[sources.a]\nkind = \"dyn\"",
        "[sources.a]\nurl = \"http://a\"",
        "[sources.a]\nkind = \"mcp\"\nurl = \"ftp://a\"",
        "[sources.a]\nkind = \"mcp\"\nurl = \"http://a\"\nkey = \"planted\"",
        "[sources.a]\nkind = \"demo\"\ncommand = \"a\"",
        "[sources.a]\nkind = \"library\"",
        "[sources.a]\nkind = \"demo\"\n[sources.a.tool.add]\nread-only = \"yes\"",
        "[sources.a]\nkind = \"demo\"\nmax-calls = 0",
        "[sources.a]\nkind = \"demo\"\nmax-result = \"lots\"",
        "[sources.a]\nkind = \"demo\"\n[sources.a.tool.add]\nmax-calls-per-turn = -1",
        "[sources.a]\nkind = \"demo\"\n[sources.a.tool.add]\nallow = \"net\"",
    ] {
        assert!(!violations(&schema, wrong).is_empty(), "{wrong}");
        folder.put("opentool.toml", wrong);
        let ran = folder.run(&["trust", "--yes"]);
        assert_eq!(ran.code, Some(2), "{wrong}: {ran:?}");
        assert!(ran.stderr.contains(" --> opentool.toml:"), "{wrong}: {ran:?}");
    }
}

#[test]
fn the_page_about_the_file_has_every_key_and_no_other() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    // A row of a table that describes a key begins with it.
    let described: BTreeSet<_> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect();
    let known: BTreeSet<_> = tables(&schema()).iter().flat_map(|(_, table)| keys(table)).map(|(key, _)| key).collect();
    let missing: Vec<_> = known.difference(&described).collect();
    let unknown: Vec<_> = described.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, unknown: {unknown:?}");
}

#[test]
fn the_commands_of_the_page_print_what_it_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    let folder = TestFolder::new();
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    assert!(blocks.map(|block| walk(&folder, block, "")).sum::<usize>() >= 2);
}

#[test]
fn the_examples_of_the_page_are_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (folder, schema) = (TestFolder::new(), schema());
    let examples: Vec<_> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 4, "{}", examples.len());
    for example in examples {
        assert_eq!(violations(&schema, example), Vec::<String>::new(), "{example}");
        folder.put("opentool.toml", example);
        let ran = folder.run(&["trust", "--yes"]);
        assert_eq!(ran.code, Some(0), "{example}\n{ran:?}");
    }
}

#[test]
fn keys_of_callers_are_named_by_where_they_stand() {
    let folder = TestFolder::with("opentool.toml", "api-key = [{ env = \"FIRST\" }, { file = \"second\" }]\n");
    folder.put("second", "of-the-file\n");
    let arguments = ["--config", "opentool.toml"];
    let served = Served::start(&folder, &arguments, &[("FIRST", "of-the-variable")]);
    let status = |key: &str| served.ask("GET", "/opentool/version", &[("authorization", key)], "").status;
    assert_eq!(["of-the-variable", "of-the-file", "other"].map(status), [200, 200, 401]);
    let ran = folder.run(&["serve", "--port", "0", "--config", "opentool.toml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("the variable FIRST of the environment is not set"), "{ran:?}");
    let ran = folder.run(&["trust"]);
    assert!(
        ran.stderr.contains("opentool.toml:1: api-key = [{ env = \"FIRST\" }, { file = \"second\" }]\n"),
        "{ran:?}"
    );
}

#[test]
fn one_tool_of_a_source_has_its_own_rules() {
    let remote = Script::with_functions(&["look", "pay", "wait"], |function| {
        if function == "wait" {
            std::thread::sleep(std::time::Duration::from_secs(3));
        }
        Some(value!({ "done": true }))
    });
    let folder = TestFolder::with(
        "opentool.toml",
        format!(
            "[sources.shop]\nkind = \"opentool\"\nurl = \"{}\"\nprefix = \"shop_\"\n[sources.shop.tool.pay]\n\
             approval = \"deny\"\n[sources.shop.tool.wait]\ntimeout = \"300ms\"\nread-only = true\n",
            remote.url()
        ),
    );
    let served = Served::start(&folder, &["--config", "opentool.toml", "--approval", "caller"], &[]);
    assert_eq!(served.call("shop_look", value!({}))["result"], value!({ "done": true }));
    let denied = served.call("shop_pay", value!({}));
    assert_eq!(denied["error"]["message"], "the tool needs approval, and this server asks no one for it", "{denied}");
    let late = served.call("shop_wait", value!({}));
    assert_eq!(late["error"]["code"], 504, "{late}");

    folder.put("wrong.toml", folder.read("opentool.toml").replace("tool.pay", "tool.pya"));
    let ran = folder.run(&["tools", "shop", "--config", "wrong.toml"]);
    let shown = "error: the source `shop`: it has no tool `pya`, which `tool` lists; did you mean `pay`?\n \
                 --> wrong.toml:5:20\n  |\n5 | [sources.shop.tool.pya]\n  |                    ^^^\n";
    assert_eq!(ran.stderr, shown);
}

#[test]
fn a_source_and_one_of_its_tools_have_limits_of_their_own() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = most.clone();
    let remote = Script::with_functions(&["look", "wait", "long", "longer"], move |function| {
        most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
        std::thread::sleep(std::time::Duration::from_millis(200));
        running.fetch_sub(1, SeqCst);
        Some(value!({ "text": "x".repeat(if function.starts_with("long") { 3000 } else { 1 }) }))
    });
    let folder = TestFolder::with(
        "opentool.toml",
        format!(
            "[sources.shop]\nkind = \"opentool\"\nurl = \"{}\"\nprefix = \"shop_\"\nmax-calls = 3\nmax-result = \"2k\"\n\
             [sources.shop.tool.wait]\nmax-calls = 1\n[sources.shop.tool.longer]\nmax-result = \"4k\"\n",
            remote.url()
        ),
    );
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let call_at_once = |tool: &str| {
        peak.store(0, SeqCst);
        std::thread::scope(|scope| {
            let calls: Vec<_> = (0..6).map(|_| scope.spawn(|| served.call(tool, value!({})))).collect();
            for call in calls {
                let answer = call.join().unwrap();
                assert_eq!(answer["result"], value!({ "text": "x" }), "{answer}");
            }
        });
        peak.load(SeqCst)
    };
    assert_eq!((call_at_once("shop_wait"), call_at_once("shop_look")), (1, 3));
    let answer = served.call("shop_long", value!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("2048"), "{answer}");
    assert_eq!(served.call("shop_longer", value!({}))["result"]["text"].as_str().unwrap().len(), 3000);

    // What lists no tools cannot be limited tool by tool.
    let unlisted = Script::start(|request| match request.path() {
        "/opentool/version" => Some((200, value!({ "version": "1" }).to_string())),
        _ => Some((404, "{}".to_owned())),
    });
    folder.put(
        "opentool.toml",
        format!("[sources.a]\nkind = \"opentool\"\nurl = \"{}\"\nmax-calls = 1\n", unlisted.url()),
    );
    let ran = folder.run(&["call", "a", "x", "--config", "opentool.toml"]);
    assert!(ran.stderr.contains("does not list its tools, so that `max-calls` cannot be enforced"), "{ran:?}");
}

#[test]
fn a_workflow_is_a_source_whose_steps_use_other_sources_of_the_file() {
    let store = store();
    let folder = TestFolder::with("docs/flow.json", EXAMPLE);
    folder.put(
        "docs/opentool.toml",
        format!(
            "[sources.store]\nkind = \"opentool\"\nurl = \"{}\"\n[sources.flow]\nkind = \"workflow\"\n\
             document = \"flow.json\"\ntools = [\"store\"]\n",
            store.url()
        ),
    );
    let arguments = ["--config", "docs/opentool.toml"];
    let served = Served::start(&folder, &[&arguments[..], &["flow"]].concat(), &[]);
    let document = served.get("/opentool/load").json();
    let name = document["functions"][0]["name"].as_str().unwrap().to_owned();
    let answer = served.call(&name, value!({}));
    assert!(answer["error"].is_null() && answer.to_string().contains("\"a\""), "{answer}");

    folder.put("docs/opentool.toml", folder.read("docs/opentool.toml").replace("[\"store\"]", "[\"flow\"]"));
    let ran = folder.run(&["tools", "flow", "--config", "docs/opentool.toml"]);
    assert!(ran.stderr.contains("the source `flow`: a workflow cannot be a tool of its own steps"), "{ran:?}");
}
