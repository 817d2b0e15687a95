//! What is taken out of an export, and what is not.

use opentool_core::testing::FakeTool;
use opentool_core::{Arguments, CallKey, ToolCall, ToolContext, ToolError, ToolOutput};
use opentool_journal::{Redaction, RunStatus};
use serde_json::json;

use super::{folder, host, open};

#[test]
fn secrets_are_found_wherever_a_schema_has_them() {
    let schema = json!({
        "type": "object",
        "properties": {
            "plain": {"type": "string"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/secret"}},
            "pair": {"prefixItems": [{"type": "string"}, {"format": "password"}]},
            "either": {"anyOf": [{"type": "null"}, {"type": "string", "format": "password"}]},
            "deep": {"allOf": [{"properties": {"a": {"properties": {"b": {"writeOnly": true}}}}}]},
            "short": {"type": "string", "writeOnly": true, "maxLength": 4},
            "range": {"type": "integer", "writeOnly": true, "minimum": 1000},
            "below": {"type": "number", "writeOnly": true, "exclusiveMaximum": 0},
            "loop": {"$ref": "#"},
        },
        "additionalProperties": {"writeOnly": true},
        "$defs": {"secret": {"type": "string", "writeOnly": true}},
    });
    let redaction = Redaction::new().tool("t", &schema);
    let redact = |arguments: &str| redaction.arguments("t", arguments);
    for (arguments, redacted) in [
        (r#"{"plain":"a", "n":1}"#, r#"{"plain":"a","n":0}"#),
        (r#"{"list":["a","b"]}"#, r#"{"list":["[redacted]","[redacted]"]}"#),
        (r#"{"pair":["a","b"]}"#, r#"{"pair":["a","[redacted]"]}"#),
        (r#"{"either":"a"}"#, r#"{"either":"[redacted]"}"#),
        (r#"{"either":null}"#, r#"{"either":null}"#),
        (r#"{"deep":{"a":{"b":{"c":["x",7,true]}}}}"#, r#"{"deep":{"a":{"b":{"c":["[redacted]",0,false]}}}}"#),
        (r#"{"short":"abcd"}"#, r#"{"short":"[red"}"#),
        (r#"{"short":"too long"}"#, r#"{"short":"[redacte"}"#),
        (r#"{"range":2000,"below":-7}"#, r#"{"range":1000,"below":-1}"#),
        (r#"{"range":20,"below":7.5}"#, r#"{"range":999,"below":0}"#),
        (r#"{"loop":{"loop":{"short":"abcd","plain":"x"}}}"#, r#"{"loop":{"loop":{"short":"[red","plain":"x"}}}"#),
        ("{\"plain\":\"a\"", "[redacted]"),
    ] {
        assert_eq!(redact(arguments), redacted, "{arguments}");
        assert_eq!(redact(&redact(arguments)), redacted, "once more changes nothing: {arguments}");
    }
    assert_eq!(redaction.arguments("other", r#"{"short":"abcd"}"#), r#"{"short":"abcd"}"#, "each tool its own");
    assert_eq!(redaction.arguments("other", "no JSON"), "no JSON");
}

#[test]
fn names_count_at_any_depth_and_in_json_within_texts() {
    let redaction = Redaction::new().names(["token", "API-Key"]);
    let json = r#"{"a":[{"Token":"x1"}],"text":"{\"api-key\":\"y\",\"b\":12345678901234567890123}","tokens":"z"}"#;
    let redacted = r#"{"a":[{"Token":"[redacted]"}],"text":"{\"api-key\":\"[redacted]\",\"b\":12345678901234567890123}","tokens":"z"}"#;
    assert_eq!(redaction.json(json), redacted);
    assert_eq!(Redaction::new().json(json), json, "nothing is said about them");
}

#[test]
fn a_secret_is_taken_out_of_other_texts_and_short_words_are_not() {
    let redaction = Redaction::new().names(["password", "pin"]);
    let json = r#"{"password":"correct horse battery","said":"correct horse battery? (\"correct horse…\")","pin":"no","yes":"no","n":4711}"#;
    let redacted =
        r#"{"password":"[redacted]","said":"[redacted]? (\"[redacted]…\")","pin":"[redacted]","yes":"no","n":4711}"#;
    assert_eq!(redaction.json(json), redacted);
    assert_eq!(
        redaction.json(r#"{"pin":4711,"n":[4711,47110],"t":"4711"}"#),
        r#"{"pin":0,"n":[0,47110],"t":"[redacted]"}"#
    );
    assert_eq!(
        Redaction::new().value("ab").json(r#"["cabd"]"#),
        r#"["c[redacted]d"]"#,
        "what the operator gives counts"
    );
}

#[tokio::test]
async fn an_export_has_no_secret_and_the_hash_of_what_is_left() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let run = journal.start_run("chat", "log in with hunter2hunter2").await.unwrap();
    let schema = json!({"type": "object", "properties": {"user": {}, "password": {"format": "password"}}});
    let call = json!({"id": "1", "name": "login", "arguments": r#"{"user":"ann","password":"hunter2hunter2"}"#});
    let tools = json!([{"name": "login", "description": "", "input_schema": schema}]);
    run.add_step("request", &json!({"messages": [{"role": "user", "text": "hunter2hunter2!"}], "tools": tools}))
        .await
        .unwrap();
    run.add_step("answer", &json!({"response": {"generations": [{"message": {"tool_calls": [call]}}]}})).await.unwrap();
    let host = host([
        FakeTool::new("login")
            .answers(ToolOutput::json(&json!({"session": "s-99881", "for": "hunter2hunter2"})).unwrap()),
        FakeTool::new("fail")
            .fails(ToolError::failed("hunter2hunter2 is wrong").with_data(json!({"session": "s-99881"}))),
    ]);
    let context = run.context(&ToolContext::new());
    for tool in ["login", "fail"] {
        host.run(ToolCall::new("1", tool, r#"{"user":"ann","password":"hunter2hunter2"}"#), &context).await;
    }
    run.finish(RunStatus::Done).await.unwrap();

    let export = journal.export(run.id()).await.unwrap();
    assert!(export.to_string().contains("hunter2hunter2"), "the journal itself needs it");
    let redacted = export.redacted(&Redaction::new().name("session")).unwrap();
    let text = redacted.to_string();
    assert!(!text.contains("hunter2") && !text.contains("s-99881"), "{text}");
    let call = &redacted.record.calls[0];
    assert_eq!(call.arguments.get(), r#"{"user":"ann","password":"[redacted]"}"#);
    let key = CallKey::new(run.id(), &*call.place, "login", &Arguments::from(&*call.arguments));
    assert_eq!(call.arguments_hash, *key.arguments_hash);
    assert!(text.contains(&key.to_string()) && !text.contains(&export.record.calls[0].arguments_hash));
    assert_eq!(opentool_journal::RunExport::parse(&text).unwrap().to_string(), text);
}
