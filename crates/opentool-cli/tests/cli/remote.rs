//! `opentool tools`, `call`, `load` and `version` against a server.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::serving::{Script, Served, document};
use super::*;

#[test]
fn the_tools_of_a_server_are_listed_for_people_and_for_machines() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    let ran = folder.run(&["tools", &served.url]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("opentool demo tools "), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("\nadd(a: integer, b: integer) -> sum: integer\n    Add two integers.\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("\ncurrent_date_time(time_zone?: string)"), "{}", ran.stdout);

    let ran = folder.run(&["tools", &served.url, "--json"]);
    let tools = json(&ran.stdout);
    let add = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "add").unwrap();
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!((&add["outputName"], &add["outputSchema"]["type"]), (&json!("sum"), &json!("integer")));
}

#[test]
fn the_same_tools_come_from_the_program_itself_and_from_a_document() {
    let names =
        |text: &str| -> Vec<Value> { json(text).as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect() };
    let folder = TestFolder::new();
    let served = Served::start(&folder, &["demo"], &[]);
    folder.put("demo.json", folder.run(&["load", &served.url]).stdout);
    let expected = names(&folder.run(&["tools", &served.url, "--json"]).stdout);
    assert_eq!(names(&folder.run(&["tools", "demo", "--json"]).stdout), expected);
    assert_eq!(names(&folder.run(&["tools", "demo.json", "--json"]).stdout), expected);
    assert_eq!(folder.run(&["load", "demo"]).stdout, folder.read("demo.json"));
    assert_eq!(folder.run(&["check", "demo.json", "--strict"]).code, Some(0));
}

#[test]
fn a_call_prints_what_the_server_answers_for_every_kind_of_source() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    folder.put("served.json", folder.run(&["load", &served.url]).stdout);
    let mut document = json(&folder.read("served.json"));
    document["server"] = json!({ "url": served.url });
    folder.put("served.json", document.to_string());
    for (function, arguments) in [
        ("add", json!({ "a": 1, "b": 2 })),
        ("divide", json!({ "a": 7, "b": 2 })),
        ("convert_unit", json!({ "value": 1.5, "from": "kilometre", "to": "metre" })),
        ("text_statistics", json!({ "text": "a b" })),
        ("list_notes", json!({})),
    ] {
        let answered = served.call(function, arguments.clone());
        for source in [served.url.as_str(), "demo", "served.json"] {
            let ran = folder.run(&["call", source, function, "--args", &arguments.to_string()]);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{source} {function}");
            assert_eq!(json(&ran.stdout), answered["result"], "{source} {function}");
        }
    }
    assert_eq!(folder.run(&["call", "demo", "add", "a=1", "b=2"]).stdout, "{\n  \"sum\": 3\n}\n");
    let url = served.url.as_str();
    assert_eq!(folder.run(&["call", url, "add_note", "title=a", "text=b"]).code, Some(0));
    let ran = folder.run(&["call", url, "delete_note", "id=1"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{}\n"), "no value: {}", ran.stderr);
}

#[test]
fn nested_json_is_printed_in_linear_space() {
    let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let wide = format!("[{}]", vec!["[[[]]]"; 140_000].join(","));
    for nested in [deep, wide] {
        let size = nested.len();
        let script = Script::start(move |request| match request.path() {
            "/opentool/load" => Some((200, document(&["f"], None).to_string())),
            _ => Some((200, format!(r#"{{"jsonrpc":"2.0","result":{{"x":{nested}}},"error":null,"id":"1"}}"#))),
        });
        for raw in [&["--raw"][..], &[]] {
            let ran = run(&[&["call", &script.url(), "f", "--max-result", "2M"], raw].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            assert!(ran.stdout.len() < 40 * size, "{} bytes for {size}", ran.stdout.len());
        }
    }
}

#[test]
fn a_call_prints_the_bare_result_on_request() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    let url = served.url.as_str();
    for (arguments, result) in [
        (&["add", "a=1", "b=-2"][..], json!(-1)),
        (&["add", "--args", r#"{"a": 1, "b": 2}"#], json!(3)),
        (&["divide", "a=7", "b=2"], json!({ "quotient": 3, "remainder": 1 })),
        (&["convert_unit", "value=1.5", "from=kilometre", "to=metre"], json!(1500.0)),
        (&["add_note", "title=12", "text=a = b"], json!(1)),
        (&["read_note", "id=1"], json!({ "id": 1, "title": "12", "text": "a = b" })),
        (&["delete_note", "id=1"], Value::Null),
    ] {
        let ran = folder.run(&[&["call", url, "--raw"], arguments].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert_eq!(json(&ran.stdout), result, "{arguments:?}");
    }
    let ran = folder.run_with(&["call", url, "add", "--raw", "--args", "-"], r#"{"a": 40, "b": 2}"#);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "42\n"));
    assert_eq!(folder.run(&["call", "demo", "add", "a=1", "b=2", "--raw"]).stdout, "3\n");
}

#[test]
fn a_tools_error_ends_with_1() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    for (arguments, message) in [
        (&["divide", "a=1", "b=0"][..], "error: 1 cannot be divided by zero\n"),
        (&["add", "a=1"], "error: invalid arguments: missing required argument \"b\" (integer)\n"),
        (&["ad"], "error: there is no tool named `ad`; did you mean `add`"),
        (&["add", "--args", "{"], "error: invalid arguments"),
    ] {
        for source in [served.url.as_str(), "demo"] {
            let ran = folder.run(&[&["call", source], arguments].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}");
            assert!(ran.stderr.starts_with(message), "{arguments:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = TestFolder::with("plain.json", CLEAN);
    for (arguments, message) in [
        (&["call", "demo"][..], "the name of the function is missing"),
        (&["call", "demo", "add", "a=one"], "`a` must be an integer, not `one`"),
        (&["call", "demo", "add", "c=1"], "`add` has no parameter `c`: it has `a`, `b`"),
        (&["call", "demo", "add", "a"], "`a` is no argument: write `name=value`"),
        (&["call", "demo", "add", "a=1", "--args", "{}"], "cannot be used with"),
        (&["call", "plain.json", "now"], "says nothing about where its functions can be called"),
        (&["version", "plain.json"], "says nothing about where its functions can be called"),
        (&["load", "missing.json"], "cannot read missing.json"),
        (&["tools"], "required arguments were not provided"),
        (&["version", "http://"], "cannot be the address of a server"),
    ] {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_server_that_cannot_be_reached_ends_with_3() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let no_opentool = Script::start(|_| Some((404, "<html>".to_owned())));
    let folder = TestFolder::with("gone.json", document(&["now"], Some(&format!("http://{gone}"))).to_string());
    let (gone, no_opentool) = (format!("http://{gone}"), no_opentool.url());
    let other = "error: what answers at http://127.";
    let unreachable = "error: no OpenTool server could be reached at http://127.";
    for arguments in [
        &["version", &gone][..],
        &["load", &gone],
        &["tools", &gone],
        &["call", &gone, "now"],
        &["call", "gone.json", "now"],
        &["version", &no_opentool],
    ] {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{arguments:?}: {}", ran.stderr);
        let message = if arguments[1] == no_opentool { other } else { unreachable };
        assert!(ran.stderr.starts_with(message), "{}", ran.stderr);
        assert!(!ran.stderr.contains("os error"), "{}", ran.stderr);
    }
}

#[test]
fn a_refused_key_ends_with_4_and_the_right_one_does_not() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[("OPENTOOL_API_KEY", "s3cret")]);
    let url = served.url.as_str();
    folder.put("here.json", document(&["current_date_time"], Some(url)).to_string());
    folder.put("wrong.key", "wrong-key\n");
    folder.put("right.key", "s3cret\n");
    let commands = [
        &["version", url][..],
        &["load", url],
        &["tools", url],
        &["call", url, "add", "a=1", "b=2"],
        &["call", "here.json", "current_date_time"],
    ];
    for arguments in commands {
        for (given, message) in [
            (&[][..], "wants an API key, and none was given\ntry: "),
            (&["--api-key", "wrong-key"], "refused the API key that it was given\n"),
            (&["--api-key-file", "wrong.key"], "refused the API key that it was given\n"),
        ] {
            let ran = folder.run(&[arguments, given].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{arguments:?}: {}", ran.stderr);
            let source = if arguments[1] == url { url } else { "here.json" };
            assert!(ran.stderr.contains(&format!("error: {source} {message}")), "{}", ran.stderr);
            assert!(!ran.stderr.contains("wrong-key"), "{}", ran.stderr);
        }
        let output = folder.command().args(arguments).env("OPENTOOL_API_KEY", "s3cret").output().unwrap();
        // The environment's key is for a URL that the user gave, never for one that a document names.
        let is_given = arguments[1] == url;
        assert_eq!(output.status.code(), Some(if is_given { 0 } else { 4 }), "{arguments:?}");
        assert_eq!(output.stderr.is_empty(), is_given, "{arguments:?}");
        let ran = folder.run(&[arguments, &["--api-key-file", "right.key"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        let ran = folder.run(&[arguments, &["--api-key", "s3cret"]].concat());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("shows in `ps`"), "{}", ran.stderr);
    }
}

#[test]
fn the_version_of_a_server_is_printed() {
    let script = Script::with_functions(&[], |_| None);
    let folder = TestFolder::with("a.json", document(&["f"], Some(&script.url())).to_string());
    for source in [script.url().as_str(), "a.json"] {
        assert_eq!(folder.run(&["version", source]).stdout, "9.8.7\n");
    }
}

#[test]
fn a_server_without_a_document_can_be_called_and_says_so() {
    let script = Script::start(|request| match request.path() {
        "/opentool/load" => Some((200, "{}".to_owned())),
        _ => Some((200, json!({ "result": { "got": request.json()["params"] }, "id": "1" }).to_string())),
    });
    let ran = run(&["load", &script.url()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "{}\n"));
    assert!(ran.stderr.ends_with(" has no document\n"), "{}", ran.stderr);
    let ran = run(&["tools", &script.url()]);
    assert!(ran.stdout.contains("The server has no document"), "{}", ran.stdout);
    let ran = run(&["call", &script.url(), "anything", "a=1", "b=one"]);
    assert_eq!(json(&ran.stdout), json!({ "got": { "a": 1, "b": "one" } }), "{}", ran.stderr);
}

#[test]
fn what_a_server_says_cannot_command_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";
    let mut document = document(&["f"], None);
    document["info"]["title"] = format!("t{evil}").into();
    document["functions"][0]["description"] = format!("d{evil}").into();
    let script = Script::start(move |request| match request.path() {
        "/opentool/load" => Some((200, document.to_string())),
        "/opentool/version" => Some((200, json!({ "version": format!("1{evil}") }).to_string())),
        _ => {
            let error = json!({ "code": 500, "message": format!("m{evil}") });
            Some((200, json!({ "result": {}, "error": error, "id": "1" }).to_string()))
        }
    });
    let url = script.url();
    for arguments in
        [&["tools", &url][..], &["tools", &url, "--json"], &["load", &url], &["version", &url], &["call", &url, "f"]]
    {
        let ran = run(arguments);
        let hidden = |char: char| matches!(char, '\u{1b}' | '\u{7}' | '\u{9b}' | '\u{202e}');
        assert!(!ran.stdout.contains(hidden) && !ran.stderr.contains(hidden), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.len() + ran.stderr.len() > 1, "{arguments:?}");
    }
}
