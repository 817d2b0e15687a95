//! Callbacks: what they are called with is part of the result.

use opentool_core::ErrorKind;
use serde_json::{Value, json};

use super::opened;
use crate::harness::{call, function, gives, refused, returns, schema, takes, with};

fn callback(name: &str, declared: Value, keys: Value) -> Value {
    let parameter = json!({ "name": name, "schema": schema("array", "void *"), "isIn": false, "required": false });
    with(with(parameter, json!({ "x-callback": declared })), keys)
}

fn user_data() -> Value {
    with(takes("data", "string", "void *"), json!({ "x-userData": true }))
}

fn argument(name: &str, c: &str) -> Value {
    json!({ "name": name, "cType": schema("string", c)["cType"] })
}

fn visitor(answer: Value) -> Value {
    json!({
        "parameters": [argument("data", "void *"), argument("index", "int"), argument("name", "char *"), argument("weight", "double")],
        "userData": 0,
        "returns": answer,
        "max": 100,
    })
}

#[test]
fn a_callback_collects_what_it_is_called_with() {
    let visit = |answer: Value| {
        let parameters =
            vec![takes("count", "integer", "int"), callback("visited", visitor(answer), json!({})), user_data()];
        function("visit", parameters, returns("code", "integer", "int"))
    };
    for library in &opened(vec![visit(json!(0))]) {
        assert_eq!(
            call(library, "visit", json!({ "count": 2 })),
            json!({ "code": 0, "visited": [{ "index": 0, "name": "n0", "weight": 0.0 }, { "index": 1, "name": "n1", "weight": 0.5 }] })
        );
        assert_eq!(call(library, "visit", json!({ "count": 0 })), json!({ "code": 0, "visited": [] }));
        assert_eq!(call(library, "visit", json!({ "count": 100 }))["visited"].as_array().unwrap().len(), 100);
        let error = refused(library, "visit", r#"{"count":101}"#);
        assert_eq!(error.kind(), ErrorKind::InvalidResult);
        assert_eq!(
            error.message(),
            "`visit`: `visited` was called more than 100 times: `max` of `x-callback` may be larger"
        );
        assert_eq!(call(library, "visit", json!({ "count": 1 }))["visited"].as_array().unwrap().len(), 1);
        let definition = library.toolbox().get("visit").unwrap().definition();
        assert_eq!(definition.input_schema()["properties"], json!({ "count": { "type": "integer" } }));
        let visited = &definition.output_schema().unwrap()["properties"]["visited"];
        assert_eq!(visited["items"]["properties"]["weight"], json!({ "type": "number" }));
    }
    // A constant answer that ends the walk.
    for library in &opened(vec![visit(json!(-7))]) {
        let ended = call(library, "visit", json!({ "count": 5 }));
        assert_eq!((&ended["code"], ended["visited"].as_array().unwrap().len()), (&json!(-7), 1));
    }
}

#[test]
fn rows_of_texts_and_counted_bytes_are_collected() {
    let texts = |name: &str| with(argument(name, "char *"), json!({ "texts": true, "lengthParam": "columns" }));
    let row = json!({
        "parameters": [argument("data", "void *"), argument("columns", "int"), texts("values"), texts("names")],
        "userData": 0, "returns": 0,
    });
    let chunk = json!({
        "parameters": [
            with(argument("bytes", "unsigned char *"), json!({ "x-encoding": "hex", "lengthParam": "length" })),
            argument("length", "unsigned long"),
            argument("data", "void *"),
        ],
        "userData": 2,
    });
    let error = with(gives("error", "string", "char *"), json!({ "x-indirect": true, "x-free": "text_free" }));
    let libraries = opened(vec![
        with(
            function(
                "query",
                vec![takes("sql", "string", "char *"), callback("rows", row, json!({})), user_data(), error],
                returns("code", "integer", "int"),
            ),
            json!({ "x-returnsCode": true }),
        ),
        function("chunks", vec![callback("taken", chunk, json!({})), user_data()], json!(null)),
        function(
            "bad_text",
            vec![callback("taken", json!({ "parameters": [argument("text", "char *")] }), json!({}))],
            json!(null),
        ),
        function("live_texts", vec![], returns("live", "integer", "int")),
    ]);
    for library in &libraries {
        let row = json!({ "columns": 2, "values": ["select", null], "names": ["sql", "nothing"] });
        assert_eq!(
            call(library, "query", json!({ "sql": "select" })),
            json!({ "code": 0, "rows": [row.clone(), row], "error": null })
        );
        let failed = refused(library, "query", r#"{"sql":""}"#);
        assert_eq!(failed.data().unwrap()["result"], json!({ "code": 1, "rows": [], "error": "no query" }));
        assert_eq!(call(library, "live_texts", json!({})), json!({ "live": 0 }));
        assert_eq!(
            call(library, "chunks", json!({})),
            json!({ "taken": [{ "bytes": "0001", "length": 2 }, { "bytes": "ff", "length": 1 }] })
        );
        let error = refused(library, "bad_text", "{}");
        assert!(error.message().contains("what `taken` was called with is not UTF-8: byte 3 is 0xe9"), "{error}");
    }
}

#[test]
fn registered_callbacks_are_collected_until_they_are_asked_for() {
    let it = |keys: Value| with(with(takes("parser", "string", "void *"), json!({ "x-handle": "parser" })), keys);
    let handler = |name: &str| {
        let declared = json!({ "parameters": [argument("data", "void *"), argument("name", "char *")], "userData": 0 });
        callback(name, declared, json!({ "x-keep": "parser" }))
    };
    let events = json!({ "name": "events", "schema": schema("array", "void *"), "isIn": false, "required": false, "x-events": "parser" });
    let libraries = opened(vec![
        function("parser_new", vec![], with(returns("parser", "string", "void *"), json!({ "x-handle": "parser" }))),
        function("parser_set", vec![it(json!({})), handler("start"), handler("end")], json!(null)),
        function(
            "parser_run",
            vec![it(json!({})), takes("names", "string", "char *"), events],
            returns("code", "integer", "int"),
        ),
        function("parser_free", vec![it(json!({ "x-closes": true }))], json!(null)),
    ]);
    for library in &libraries {
        for _ in 0..3 {
            let parser = call(library, "parser_new", json!({}))["parser"].clone();
            let run = |names: &str| {
                call(library, "parser_run", json!({ "parser": parser, "names": names }))["events"].clone()
            };
            assert_eq!(run("a"), json!([]));
            assert_eq!(call(library, "parser_set", json!({ "parser": parser })), json!({}));
            let event = |callback: &str, name: &str| json!({ "callback": callback, "name": name });
            assert_eq!(
                run("ab"),
                json!([event("start", "a"), event("end", "a"), event("start", "b"), event("end", "b")])
            );
            assert_eq!(run("c"), json!([event("start", "c"), event("end", "c")]));
            call(library, "parser_free", json!({ "parser": parser }));
        }
    }
}
