//! One prompt, one answer.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Command, Stdio},
    sync::mpsc,
};

use serde_json::{Value, json};

use super::{super::binary, *};

#[test]
fn a_prompt_is_answered_with_what_tools_say_and_each_call_is_shown() {
    let folder = TestFolder::new();
    let model = Model::start(vec![
        Reply::SaysAndCalls("Let me see. ", ("add", r#"{"a": 17, "b": 25}"#)),
        Reply::Says(vec!["It is ", "42."]),
    ]);
    let ran = chat(&folder, &model, &["What is 17 + 25?"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Let me see. \nIt is 42.\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr, "→ add {\"a\":17,\"b\":25}\n← add 42\n");

    let asked = model.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].said_by("user"), ["What is 17 + 25?"]);
    assert!(asked[0].head.to_lowercase().contains("authorization: bearer s3cret-key"), "{}", asked[0].head);
    assert_eq!(asked[0].body["model"], "scripted");
    let tools = asked[0].body["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["function"]["name"] == "add"), "the demo tools are there");
    assert_eq!(asked[1].said_by("tool"), ["42"]);
    assert!(!folder.path("data").join("opentool/conversations.sqlite").exists(), "one prompt is kept nowhere");
}

#[test]
fn a_model_calls_the_tools_of_an_mcp_server() {
    let folder = TestFolder::new();
    let model = Model::start(vec![Reply::calls("add", r#"{"a": 17, "b": 25}"#), Reply::says("It is 42.")]);
    let server = format!("'{}' mcp demo", binary().display());
    let ran = chat(&folder, &model, &["--mcp", &server, "--read-only", "add", "What is 17 + 25?"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is 42.\n"), "{}", ran.stderr);
    assert_eq!(model.asked()[1].said_by("tool"), ["42"]);
    let ran = chat(&folder, &model, &["--mcp", "/nowhere/no-such-server", "What is 17 + 25?"], "");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
}

#[test]
fn a_turn_is_kept_although_its_output_is_not_read() {
    let folder = TestFolder::new();
    let (go_on, gate) = mpsc::channel();
    let model = Model::start(vec![
        Reply::SaysAndCalls("Let me see.", ("add", r#"{"a": 1, "b": 2}"#)),
        Reply::SaysSlowly(vec!["It", " is", " 3."], gate),
        Reply::says("You asked for 1 + 2."),
    ]);
    let mut command = Command::new(binary());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.current_dir(folder.0.path()).env("XDG_DATA_HOME", folder.path("data")).envs(environment(&model));
    command.args(["chat", "--conversation", "a", "What is 1 + 2?"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut read = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    read.read_line(&mut line).unwrap();
    assert_eq!(line, "Let me see.\n");
    drop(read);
    go_on.send(()).unwrap();
    go_on.send(()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "the reader has closed the pipe");

    chat(&folder, &model, &["--conversation", "a", "What did I ask?"], "");
    let last = model.asked().pop().unwrap();
    assert_eq!(last.said_by("user"), ["What is 1 + 2?", "What did I ask?"]);
    assert_eq!(
        (last.said_by("tool"), last.said_by("assistant").pop()),
        (vec!["3".to_owned()], Some("It is 3.".to_owned()))
    );
}

#[test]
fn the_prompt_may_come_from_standard_input_or_be_added_to_by_it() {
    let folder = TestFolder::new();
    let model = Model::start(vec![Reply::says("a"), Reply::says("b"), Reply::says("c"), Reply::says("d")]);
    for (arguments, input) in [
        (&[][..], "What time is it?\n"),
        (&["demo"], "What time is it?"),
        (&["Sum up:", "-"], "one\ntwo\n"),
        (&["--prompt", "demo"], "not read"),
    ] {
        let ran = chat(&folder, &model, arguments, input);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let said: Vec<_> = model.asked().iter().flat_map(|asked| asked.said_by("user")).collect();
    assert_eq!(said, ["What time is it?", "What time is it?", "Sum up:\n\none\ntwo", "demo"]);
}

#[test]
fn json_is_one_object_with_everything_that_happened() {
    let folder = TestFolder::new();
    let model = Model::start(vec![
        Reply::Calls(vec![
            ("add", r#"{"a": 1, "b": 2}"#),
            ("divide", r#"{"a": 1, "b": 0}"#),
            ("add", r#"{"a": 12345678901234567890123}"#),
            ("add", "{not json"),
        ]),
        Reply::says("Three."),
    ]);
    let ran = chat(&folder, &model, &["--json", "Count"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("12345678901234567890123"), "digits stay: {}", ran.stdout);
    let message = json(&ran.stdout);
    assert_eq!(message["text"], "Three.");
    assert_eq!((&message["model"], &message["finish_reason"]), (&json!("scripted"), &json!("stop")));
    assert_eq!((&message["end"], &message["cost"]), (&json!("answered"), &Value::Null));
    assert_eq!(message["usage"]["input_tokens"], 20);
    assert_eq!(message["usage"]["output_tokens"], 10);
    let roles: Vec<_> = message["messages"].as_array().unwrap().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let calls = message["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), 4);
    assert_eq!((&calls[0]["name"], &calls[0]["arguments"]), (&json!("add"), &json!({ "a": 1, "b": 2 })));
    assert_eq!(calls[0]["outcome"], json!({ "result": 3 }));
    let error = json!({ "kind": "failed", "message": "1 cannot be divided by zero" });
    assert_eq!(calls[1]["outcome"], json!({ "error": error }));
    assert_eq!(calls[2]["outcome"]["error"]["kind"], "invalid_arguments");
    assert_eq!(calls[3]["arguments"], "{not json");
    assert_eq!(calls[3]["outcome"]["error"]["kind"], "invalid_arguments");
}

#[test]
fn answers_that_are_not_whole_have_their_own_exit_code() {
    let folder = TestFolder::new();
    for (reason, code, end, words) in [
        ("stop", 0, "answered", ""),
        ("length", 5, "cut_off", "the answer is cut off: the model ran out of tokens"),
        ("content_filter", 6, "filtered", "its provider withheld the rest"),
    ] {
        let model = Model::start(vec![Reply::Ends("Once", reason), Reply::Ends("Once", reason)]);
        let ran = chat(&folder, &model, &["Tell a story"], "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), "Once\n"), "{reason}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{reason}: {}", ran.stderr);
        let ran = chat(&folder, &model, &["--json", "Tell a story"], "");
        assert_eq!(ran.code, Some(code));
        assert_eq!(json(&ran.stdout)["end"], end);
    }
    let model = Model::start(vec![Reply::says("")]);
    let ran = chat(&folder, &model, &["Tell a story"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(ran.stderr.contains("the answer is empty"), "{}", ran.stderr);
}

#[test]
fn an_answer_follows_a_schema_and_has_a_price() {
    let city = r#"{"type":"object","properties":{"name":{"type":"string"},"inhabitants":{"type":"integer"}},"required":["name","inhabitants"]}"#;
    let folder = TestFolder::with("city.json", city);
    folder.put("prices.json", r#"{"scripted": {"input": 1.0, "output": 10.0}}"#);
    let replies = || {
        vec![
            Reply::calls("add", r#"{"a":1,"b":2}"#),
            Reply::says(r#"{"name":"Ulm"}"#),
            Reply::says(r#"{"name":"Ulm","inhabitants":128000}"#),
        ]
    };
    let model = Model::start(replies());
    let ran = chat(&folder, &model, &["--schema", "city.json", "Where was Einstein born?"], "");
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "{\"name\":\"Ulm\",\"inhabitants\":128000}\n"),
        "{}",
        ran.stderr
    );
    assert!(model.asked()[2].body.to_string().contains("missing required property"));
    let model = Model::start(replies());
    let ran = chat(&folder, &model, &["--schema", "city.json", "--prices", "prices.json", "--json", "Where?"], "");
    let report = json(&ran.stdout);
    assert_eq!(report["answer"], json!({ "name": "Ulm", "inhabitants": 128_000 }), "{}", ran.stderr);
    let cost = report["cost"].as_f64().unwrap();
    assert!((cost - (30.0 + 150.0) / 1e6).abs() < 1e-12, "{cost}");

    let model = Model::start((0..3).map(|_| Reply::says("I do not know.")).collect());
    let ran = chat(&folder, &model, &["--schema", "city.json", "Where?"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("does not have the form that was asked for after 3 tries"), "{}", ran.stderr);
    folder.put("broken.json", "{");
    for (option, file) in [("--schema", "broken.json"), ("--schema", "missing.json"), ("--prices", "broken.json")] {
        let ran = chat(&folder, &model, &[option, file, "Where?"], "");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(file), "{}", ran.stderr);
    }
}

#[test]
fn json_of_nested_results_is_printed_in_linear_space() {
    let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let wide = format!("[{}]", vec!["[[[]]]"; 140_000].join(","));
    for nested in [deep, wide] {
        let size = nested.len();
        let script = serving::Script::start(move |request| match request.path() {
            "/opentool/load" => Some((200, document(&["f"], None).to_string())),
            _ => Some((200, format!(r#"{{"jsonrpc":"2.0","result":{{"x":{nested}}},"error":null,"id":"1"}}"#))),
        });
        let model = Model::start(vec![Reply::calls("f", "{}"), Reply::says("Nested.")]);
        let folder = TestFolder::new();
        let ran = chat(&folder, &model, &[&script.url(), "--max-result", "2M", "--json", "--yes", "Call it"], "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("\"outcome\"") && ran.stdout.contains("Nested."));
        // The result stands in it twice: as it came to the model, and as the outcome of the call.
        assert!(ran.stdout.len() < 80 * size, "{} bytes for {size}", ran.stdout.len());
    }
}

#[test]
fn a_question_of_a_tool_has_no_answer_without_a_terminal() {
    let folder = TestFolder::new();
    let model = Model::start(vec![Reply::calls("ask_user", r#"{"question": "Who?"}"#), Reply::says("Nobody.")]);
    let ran = chat(&folder, &model, &["Ask me"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let answer = "the tool asks \"Who?\", and there is no terminal at which the user could answer";
    assert_eq!(model.asked()[1].said_by("tool"), [answer]);
}

#[test]
fn a_source_of_the_configuration_file_is_named_in_a_chat() {
    let folder =
        TestFolder::with("opentool.toml", "[sources.sums]\nkind = \"demo\"\nonly = \"add\"\nprefix = \"my_\"\n");
    let model = Model::start(vec![Reply::calls("my_add", r#"{"a": 17, "b": 25}"#), Reply::says("It is 42.")]);
    let ran = chat(&folder, &model, &["sums", "What is 17 + 25?"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is 42.\n"), "{}", ran.stderr);
    let asked = model.asked();
    assert_eq!(asked[0].body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(asked[1].said_by("tool"), ["42"]);
    let ran = chat(&folder, &model, &["sms", "What is 17 + 25?"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`sms` is no source (did you mean `sums` of opentool.toml?)"), "{}", ran.stderr);
}

#[test]
fn a_destructive_tool_is_denied_without_a_terminal_or_yes() {
    let folder = TestFolder::new();
    let script = || {
        Model::start(vec![
            Reply::calls("add_note", r#"{"title": "a", "text": "b"}"#),
            Reply::calls("delete_note", r#"{"id": 1}"#),
            Reply::calls("list_notes", "{}"),
            Reply::says("Done."),
        ])
    };
    for (arguments, input, left) in [
        (&["--json", "--approve", "destructive", "Delete it"][..], "", json!([{ "id": 1, "title": "a" }])),
        (&["--json", "--approve", "destructive"], "Delete it", json!([{ "id": 1, "title": "a" }])),
        (&["--json", "--yes", "Delete it"], "", json!([])),
    ] {
        let model = script();
        let ran = chat(&folder, &model, arguments, input);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let calls = json(&ran.stdout)["tool_calls"].clone();
        assert_eq!(calls[2]["outcome"]["result"], left, "{arguments:?}");
        let expected = if left == json!([]) { Value::Null } else { json!("denied") };
        assert_eq!(calls[1]["outcome"]["error"]["kind"], expected, "{arguments:?}");
    }
    let model = script();
    let ran = chat(&folder, &model, &["Delete it"], "");
    assert!(
        ran.stderr.contains("← delete_note error: the call was not approved: the user cannot be asked here"),
        "{}",
        ran.stderr
    );
    assert!(model.asked()[2].said_by("tool")[1].contains("`--yes` was not given"), "the model sees it");
}

#[test]
fn a_tool_of_a_server_is_destructive_where_the_user_says_so() {
    let folder = TestFolder::new();
    let server = serving::Script::with_functions(&["wipe", "look"], |_| Some(json!({ "done": true })));
    let url = server.url();
    let replies = || vec![Reply::Calls(vec![("wipe", "{}"), ("look", "{}")]), Reply::says("Done.")];
    let model = Model::start(replies());
    let ran = chat(&folder, &model, &[&url, "--destructive", "wipe", "--read-only", "look", "--json", "Wipe it"], "");
    let calls = json(&ran.stdout)["tool_calls"].clone();
    assert_eq!(calls[0]["outcome"]["error"]["kind"], "denied", "{}", ran.stderr);
    assert_eq!(calls[1]["outcome"]["result"]["done"], true);

    let model = Model::start(replies());
    let ran = chat(&folder, &model, &[&url, "--destructive", "wip", "Wipe it"], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no server among the sources has the tool `wip`"), "{}", ran.stderr);
    assert!(model.asked().is_empty());
}

#[test]
fn every_source_has_its_tools_and_each_key_one_server() {
    let folder = TestFolder::new();
    let served = serving::Served::start(&folder, &[], &[("OPENTOOL_API_KEY", "t00l-key")]);
    let script = serving::Script::with_functions(&["look"], |_| Some(json!({ "seen": 7 })));
    folder.put("look.opentool.json", document(&["look"], Some(&script.url())).to_string());
    let model =
        Model::start(vec![Reply::Calls(vec![("look", "{}"), ("add", r#"{"a":1,"b":2}"#)]), Reply::says("Done.")]);
    let key = format!("{}=t00l-key", served.url);
    let arguments = [&served.url, "look.opentool.json", "--source-api-key", &key, "--json", "--yes", "Look"];
    let ran = chat(&folder, &model, &arguments, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let calls = json(&ran.stdout)["tool_calls"].clone();
    assert_eq!(calls[0]["outcome"]["result"], json!({ "seen": 7 }));
    assert_eq!(calls[1]["outcome"]["result"], 3);
    for request in script.requests() {
        assert!(!request.head.contains("key"), "{}", request.head);
    }
    assert!(model.asked().iter().all(|asked| !asked.head.contains("t00l-key")));

    let model = Model::start(vec![Reply::says("Done.")]);
    let mut environment = environment(&model).to_vec();
    environment.push(("OPENTOOL_API_KEY", "t00l-key".to_owned()));
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let ran = chat_in(&folder, &[&served.url, "Look"], &environment, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn every_provider_is_asked_in_its_own_words() {
    let folder = TestFolder::new();
    for (name, variable, path, key) in [
        ("openai", "OPENAI_BASE_URL", "/v1", Some("OPENAI_API_KEY")),
        ("anthropic", "ANTHROPIC_BASE_URL", "", Some("ANTHROPIC_API_KEY")),
        ("ollama", "OLLAMA_HOST", "", None),
    ] {
        let model = Model::start(vec![Reply::calls("add", r#"{"a": 1, "b": 2}"#), Reply::Says(vec!["Three", "."])]);
        let url = model.url(path);
        let mut environment = vec![(variable, url.as_str())];
        environment.extend(key.map(|key| (key, "s3cret-key")));
        let model_name = format!("{name}:scripted");
        let ran = chat_in(&folder, &["--model", &model_name, "--system", "Be brief.", "1 + 2?"], &environment, "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Three.\n"), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("← add 3"), "{name}: {}", ran.stderr);
        let first = &model.asked()[0].body;
        assert_eq!(first["model"], "scripted", "{name}");
        assert!(first.to_string().contains("Be brief."), "{name}: {first}");
    }
}

#[test]
fn without_a_model_or_its_key_it_says_what_to_set() {
    let folder = TestFolder::new();
    let ran = chat_in(&folder, &["Hello"], &[], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    for word in ["--model PROVIDER:NAME", "OPENTOOL_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_HOST"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    for (model, key) in [("openai:gpt", "OPENAI_API_KEY"), ("anthropic:claude", "ANTHROPIC_API_KEY")] {
        let ran = chat_in(&folder, &["--model", model, "Hello"], &[], "");
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(key), "{}", ran.stderr);
    }
    let ran = chat_in(&folder, &["--model", "acme:gpt", "Hello"], &[], "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`acme:gpt` is no model: write PROVIDER:NAME"), "{}", ran.stderr);
    let ran = chat_in(&folder, &["Hello"], &[("OPENTOOL_MODEL", "gpt")], "");
    assert!(ran.stderr.contains("OPENTOOL_MODEL: `gpt` is no model"), "{}", ran.stderr);
}

#[test]
fn wrong_usage_ends_with_2_before_anyone_is_asked() {
    let folder = TestFolder::new();
    let model = Model::start(vec![]);
    for (arguments, message) in [
        (&["what", "time"][..], "`what` is no source"),
        (&["missing.json", "Hello"], "cannot read missing.json"),
        (&["missing.json"], "cannot read missing.json"),
        (&["ftp://a", "Hello"], "is no http:// or https:// URL"),
        (&["demo", "demo", "Hello"], "two sources have a tool named"),
        (&[], "standard input is empty"),
        (&["--conversation", " ", "Hello"], "the name after `--conversation` is empty"),
        (&["--conversation", "a", "--memory", "no/folder/a.sqlite", "Hello"], "a.sqlite cannot be opened"),
        (&["--source-api-key", "k", "Hello"], "does not say whose key it is"),
    ] {
        let ran = chat(&folder, &model, arguments, "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{arguments:?}: {}", ran.stderr);
    }
    assert!(model.asked().is_empty());
}

#[test]
fn what_goes_wrong_with_a_model_has_its_exit_code_and_never_shows_the_key() {
    let folder = TestFolder::new();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = chat_in(
        &folder,
        &["Hello"],
        &[
            ("OPENAI_BASE_URL", &format!("http://{gone}/v1")),
            ("OPENAI_API_KEY", "s3cret-key"),
            ("OPENTOOL_MODEL", "openai:scripted"),
        ],
        "",
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot be reached") && !ran.stderr.contains("s3cret"), "{}", ran.stderr);
    for (status, message, code) in [(401, "no such key", 4), (400, "no such model", 1)] {
        let model = Model::start(vec![Reply::Refuses(status, message)]);
        let ran = chat(&folder, &model, &["Hello"], "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(message) && !ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
    let model = Model::start(vec![Reply::calls("add", r#"{"a":1,"b":2}"#), Reply::Refuses(400, "too long")]);
    let ran = chat(&folder, &model, &["--json", "Hello"], "");
    assert_eq!(ran.code, Some(1));
    let message = json(&ran.stdout);
    assert!(message["error"].as_str().unwrap().contains("too long"), "{message}");
    assert_eq!(message["tool_calls"][0]["outcome"]["result"], 3, "the work done is not lost");
    assert_eq!(message["end"], "failed");
}

#[test]
fn what_a_model_says_cannot_command_the_terminal() {
    let folder = TestFolder::new();
    let evil = r#"{"title": "\u001b]0;owned\u0007", "text": "\u009b2J\u202e"}"#;
    let model = Model::start(vec![
        Reply::Calls(vec![("add_note", evil), ("no\u{1b}[2Jtool", "{}"), ("list_notes", "{}")]),
        Reply::says("Done."),
    ]);
    let ran = chat(&folder, &model, &["Hello"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let hidden = |char: char| matches!(char, '\u{1b}' | '\u{7}' | '\u{9b}' | '\u{202e}');
    assert!(!ran.stderr.contains(hidden), "{:?}", ran.stderr);
    assert!(ran.stderr.contains("→ add_note"), "{}", ran.stderr);
}
