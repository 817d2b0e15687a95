//! Structs that the caller makes and only the library understands, and their fields.

use opentool_core::ErrorKind;
use serde_json::{Value, json};

use super::opened;
use crate::harness::{both, call, document, function, gives, may_take, refused, returns, takes, with};

fn stream(keys: Value) -> Value {
    with(takes("stream", "string", "void *"), with(json!({ "x-handle": "stream" }), keys))
}

fn code() -> Value {
    returns("code", "integer", "int")
}

fn field(parameter: Value, name: &str, offset: usize, keys: Value) -> Value {
    let of = json!({ "x-field": format!("stream.{name}"), "x-offset": offset });
    with(with(parameter, of), keys)
}

fn functions(allocated: usize) -> Vec<Value> {
    let succeeds = |codes: Value| json!({ "x-returnsCode": codes });
    let length = |offset: usize| json!({ "x-encoding": "base64", "x-lengthField": { "offset": offset, "cType": "unsigned int" } });
    let reads_event = || {
        vec![
            stream(json!({})),
            takes("which", "integer", "int"),
            field(gives("type", "integer", "int"), "type", 56, json!({})),
            field(
                gives("text", "string", "char *"),
                "data.text",
                64,
                json!({ "x-when": { "parameter": "type", "in": [2] } }),
            ),
            field(
                gives("number", "integer", "int"),
                "data.number",
                64,
                json!({ "x-when": { "parameter": "type", "in": [1] } }),
            ),
        ]
    };
    vec![
        with(
            function(
                "stream_init",
                vec![
                    with(gives("stream", "string", "void *"), json!({ "x-handle": "stream", "x-allocate": allocated })),
                    takes("level", "integer", "int"),
                    takes("version", "string", "char *"),
                    takes("size", "integer", "int"),
                ],
                code(),
            ),
            succeeds(json!(true)),
        ),
        with(
            function(
                "stream_run",
                vec![
                    stream(json!({})),
                    takes("flush", "integer", "int"),
                    field(may_take("input", "string", "unsigned char *"), "next_in", 0, length(8)),
                    field(
                        gives("output", "string", "unsigned char *"),
                        "next_out",
                        16,
                        with(length(24), json!({ "x-size": 4, "x-sizeParam": "room" })),
                    ),
                    field(gives("left", "integer", "unsigned int"), "avail_in", 8, json!({})),
                    field(gives("total", "integer", "long"), "total", 32, json!({})),
                    field(gives("message", "string", "char *"), "message", 48, json!({})),
                ],
                code(),
            ),
            succeeds(json!([0, 1, -5])),
        ),
        function("stream_event", reads_event(), code()),
        function("stream_dangles", vec![stream(json!({}))], returns("dangles", "boolean", "int")),
        with(function("stream_end", vec![stream(json!({ "x-closes": true }))], code()), succeeds(json!(true))),
        function("streams", vec![], returns("open", "integer", "int")),
    ]
}

/// The functions, with a parameter that is no field as the size of the output.
fn sized() -> Vec<Value> {
    let mut functions = functions(72);
    let parameters = functions[1]["parameters"].as_array_mut().unwrap();
    parameters[3].as_object_mut().unwrap().remove("x-sizeParam");
    functions
}

fn init(library: &opentool_dyn::DynLibrary) -> Value {
    let made = call(library, "stream_init", json!({ "level": 1, "version": "1.0", "size": 72 }));
    assert_eq!(made["code"], 0);
    made["stream"].clone()
}

#[test]
fn a_stream_is_made_used_by_its_fields_and_ended() {
    for library in &opened(sized()) {
        let stream = init(library);
        assert!(stream.as_str().unwrap().starts_with("stream:"));
        let run = |flush: i32, input: &str| {
            call(library, "stream_run", json!({ "stream": stream, "flush": flush, "input": input }))
        };
        // "abcdef" with four bytes of room: two are left.
        assert_eq!(
            run(0, "YWJjZGVm"),
            json!({ "code": -5, "output": "QUJDRA==", "left": 2, "total": 4, "message": "running" })
        );
        assert_eq!(call(library, "stream_dangles", json!({ "stream": stream })), json!({ "dangles": false }));
        assert_eq!(run(1, "ZWY="), json!({ "code": 1, "output": "RUY=", "left": 0, "total": 6, "message": null }));
        let without = call(library, "stream_run", json!({ "stream": stream, "flush": 0 }));
        assert_eq!(without["output"], "");
        assert_eq!(call(library, "streams", json!({})), json!({ "open": 1 }));
        assert_eq!(call(library, "stream_end", json!({ "stream": stream })), json!({ "code": 0 }));
        assert_eq!(call(library, "streams", json!({})), json!({ "open": 0 }));
        let stale = refused(library, "stream_run", &json!({ "stream": stream, "flush": 0 }).to_string());
        assert!(stale.message().contains("that is open"), "{stale}");
    }
}

#[test]
fn a_stream_that_fails_to_start_is_no_handle() {
    for library in &opened(sized()) {
        let failed = refused(library, "stream_init", r#"{"level":-1,"version":"1.0","size":72}"#);
        assert_eq!((failed.kind(), failed.code()), (ErrorKind::Failed, Some(-2)));
        assert_eq!(failed.data().unwrap()["result"], json!({ "code": -2, "stream": null }));
    }
}

#[test]
fn the_members_of_a_union_are_read_only_where_they_mean_something() {
    for library in &opened(sized()) {
        let stream = init(library);
        let event = |which: i32| call(library, "stream_event", json!({ "stream": stream, "which": which }));
        assert_eq!(event(2), json!({ "code": 1, "type": 2, "text": "a text", "number": null }));
        assert_eq!(event(1), json!({ "code": 1, "type": 1, "text": null, "number": 16 }));
        call(library, "stream_end", json!({ "stream": stream }));
    }
}

#[test]
fn a_field_beyond_its_struct_is_refused() {
    // In the call that takes the handle, only the handle knows its size.
    let mut functions = sized();
    functions[0]["parameters"][0]["x-allocate"] = json!(56);
    let library = &both(&document(functions.clone()), "features")[0];
    let error = refused(library, "stream_init", r#"{"level":1,"version":"1.0","size":56}"#);
    assert_eq!(error.code(), Some(-6));
    functions[0] = with(functions[0].clone(), json!({ "x-returnsCode": false }));
    let library = &both(&document(functions), "features")[0];
    let stream = call(library, "stream_init", json!({ "level": 1, "version": "1.0", "size": 56 }))["stream"].clone();
    let error = refused(library, "stream_event", &json!({ "stream": stream, "which": 1 }).to_string());
    assert!(error.message().contains("the field `type` lies beyond the 56 bytes of `stream`"), "{error}");
}

#[test]
fn a_field_that_goes_out_is_never_asked_of_the_caller() {
    let mut functions = sized();
    for parameter in functions[1]["parameters"].as_array_mut().unwrap().iter_mut().skip(3) {
        parameter["required"] = json!(true);
    }
    for library in &opened(functions) {
        let definition = library.toolbox().get("stream_run").unwrap().definition();
        assert_eq!(definition.input_schema()["required"], json!(["stream", "flush"]));
        let stream = init(library);
        let ran = call(library, "stream_run", json!({ "stream": stream, "flush": 0, "input": "YWI=" }));
        assert_eq!((&ran["output"], &ran["left"]), (&json!("QUI="), &json!(0)));
        call(library, "stream_end", json!({ "stream": stream }));
    }
}

#[test]
fn a_number_that_goes_into_a_field_is_written_before_the_call() {
    let mut functions = sized();
    let total = field(may_take("total", "integer", "long"), "total", 32, json!({ "x-inOut": true }));
    functions[1]["parameters"][5] = total;
    for library in &opened(functions) {
        let stream = init(library);
        let run = |keys: Value| {
            let arguments = with(json!({ "stream": stream, "flush": 0, "input": "YWI=" }), keys);
            call(library, "stream_run", arguments)["total"].clone()
        };
        assert_eq!(run(json!({ "total": 10 })), 12);
        assert_eq!(run(json!({})), 14, "what is left out leaves the field as it is");
        let error = refused(library, "stream_run", &json!({ "stream": stream, "flush": 0, "total": "x" }).to_string());
        assert!(error.message().contains("/total: expected integer"), "{error}");
        call(library, "stream_end", json!({ "stream": stream }));
    }
}

#[test]
fn only_the_struct_whose_fields_are_written_is_used_alone() {
    let named = |name: &str| with(stream(json!({})), json!({ "name": name }));
    let total = field(gives("total", "integer", "long"), "total", 32, json!({}));
    let copies = function(
        "stream_copies",
        vec![stream(json!({})), named("from"), named("to"), total],
        returns("same", "boolean", "int"),
    );
    let document = with(document([sized(), vec![copies]].concat()), json!({ "x-threadSafe": true }));
    for library in &both(&document, "features") {
        let (written, read) = (init(library), init(library));
        let twice = call(library, "stream_copies", json!({ "stream": written, "from": read, "to": read }));
        assert_eq!(twice, json!({ "same": true, "total": 7 }));
        let alone = json!({ "stream": written, "from": read, "to": written }).to_string();
        let error = refused(library, "stream_copies", &alone);
        assert!(error.message().contains("/to: expected a handle of type `stream` that no call uses"), "{error}");
        for stream in [written, read] {
            call(library, "stream_end", json!({ "stream": stream }));
        }
    }
}

#[test]
fn what_the_size_of_a_field_names_must_be_a_number_that_goes_in() {
    let faults = opentool_dyn::document_faults(&document(functions(72)).to_string());
    assert_eq!(faults, [], "the check of the document finds it: {faults:?}");
    let report = opentool_spec::check(&document(functions(72)).to_string());
    assert!(
        report.findings.iter().any(|finding| finding.message.contains("`x-sizeParam` must be the name of a parameter"))
    );
}
