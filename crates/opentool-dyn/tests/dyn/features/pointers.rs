//! NULL, text through `char **`, and lengths that go in and come out.

use opentool_core::ErrorKind;
use serde_json::json;

use super::opened;
use crate::harness::{call, function, gives, may_take, refused, returns, takes, with};

#[test]
fn what_may_be_null_is_null_where_it_is_left_out() {
    let libraries = opened(vec![function(
        "is_null",
        vec![
            with(may_take("object", "string", "void *"), json!({ "x-handle": "object" })),
            may_take("text", "string", "char *"),
            may_take("values", "array", "int *"),
        ],
        returns("which", "integer", "int"),
    )]);
    for library in &libraries {
        assert_eq!(call(library, "is_null", json!({})), json!({ "which": 7 }));
        assert_eq!(
            call(library, "is_null", json!({ "object": null, "text": null, "values": [] })),
            json!({ "which": 3 })
        );
        assert_eq!(call(library, "is_null", json!({ "text": "" })), json!({ "which": 5 }));
    }
}

#[test]
fn a_text_that_the_function_points_to_is_copied_and_freed() {
    let made = |keys| with(gives("made", "string", "char *"), keys);
    let libraries = opened(vec![
        with(
            function(
                "text_make",
                vec![takes("from", "string", "char *"), made(json!({ "x-indirect": true, "x-free": "text_free" }))],
                returns("code", "integer", "int"),
            ),
            json!({ "x-returnsCode": true }),
        ),
        function("text_constant", vec![made(json!({ "x-indirect": true }))], returns("code", "integer", "int")),
        function("nothing_made", vec![made(json!({ "x-indirect": true }))], returns("code", "integer", "int")),
        function("live_texts", vec![], returns("live", "integer", "int")),
    ]);
    for library in &libraries {
        assert_eq!(call(library, "text_make", json!({ "from": "é" })), json!({ "code": 0, "made": "<é>" }));
        assert_eq!(call(library, "text_constant", json!({})), json!({ "code": 0, "made": "constant" }));
        assert_eq!(call(library, "nothing_made", json!({})), json!({ "code": 0, "made": null }));
        let failed = refused(library, "text_make", r#"{"from":""}"#);
        assert_eq!(failed.data().unwrap()["result"], json!({ "code": 1, "made": null }));
        assert_eq!(call(library, "live_texts", json!({})), json!({ "live": 0 }));
    }
}

#[test]
fn bytes_and_arrays_that_the_function_points_to_are_counted() {
    let libraries = opened(vec![
        function(
            "bytes_make",
            vec![
                with(
                    gives("made", "string", "unsigned char *"),
                    json!({ "x-indirect": true, "x-encoding": "hex", "x-lengthParam": "length" }),
                ),
                gives("length", "integer", "unsigned long *"),
            ],
            returns("code", "integer", "int"),
        ),
        function(
            "numbers_make",
            vec![
                with(gives("made", "array", "int *"), json!({ "x-indirect": true, "x-lengthParam": "count" })),
                gives("count", "integer", "int *"),
            ],
            returns("code", "integer", "int"),
        ),
    ]);
    for library in &libraries {
        assert_eq!(call(library, "bytes_make", json!({})), json!({ "code": 0, "made": "00ff0100", "length": 4 }));
        assert_eq!(call(library, "numbers_make", json!({})), json!({ "code": 0, "made": [3, 1, 4], "count": 3 }));
    }
}

#[test]
fn a_length_goes_in_as_capacity_and_comes_out_as_length() {
    let in_out = |name: &str, c: &str| with(takes(name, "integer", c), json!({ "x-inOut": true }));
    let libraries = opened(vec![
        with(
            function(
                "encode",
                vec![
                    takes("from", "string", "char *"),
                    with(
                        gives("to", "string", "char *"),
                        json!({ "x-sizeParam": "length", "x-lengthParam": "length", "x-size": 8 }),
                    ),
                    in_out("length", "unsigned long *"),
                ],
                returns("code", "integer", "int"),
            ),
            json!({ "x-returnsCode": true }),
        ),
        function("double_it", vec![in_out("value", "int *")], json!(null)),
    ]);
    for library in &libraries {
        assert_eq!(call(library, "encode", json!({ "from": "abc" })), json!({ "code": 0, "to": "abc", "length": 3 }));
        assert_eq!(
            call(library, "encode", json!({ "from": "0123456789", "length": 10 })),
            json!({ "code": 0, "to": "0123456789", "length": 10 })
        );
        let short = refused(library, "encode", r#"{"from":"0123456789"}"#);
        assert_eq!((short.kind(), short.code()), (ErrorKind::Failed, Some(1)));
        assert_eq!(call(library, "double_it", json!({ "value": 21 })), json!({ "value": 42 }));
        assert!(refused(library, "double_it", "{}").message().contains("missing required argument \"value\""));
        let definition = library.toolbox().get("double_it").unwrap().definition();
        assert_eq!(definition.input_schema()["required"], json!(["value"]));
        assert_eq!(definition.output_schema().unwrap()["required"], json!(["value"]));
        let encode = library.toolbox().get("encode").unwrap().definition();
        assert_eq!(encode.input_schema()["required"], json!(["from"]));
    }
}

#[test]
fn bytes_that_are_no_text_are_an_error_that_says_what_to_declare() {
    let raw = |keys| {
        function(
            "raw_bytes",
            vec![with(gives("to", "string", "char *"), keys), with(takes("size", "integer", "int"), json!({}))],
            returns("length", "integer", "int"),
        )
    };
    let counted = json!({ "x-sizeParam": "size", "x-lengthParam": "length" });
    for library in &opened(vec![raw(counted.clone())]) {
        let error = refused(library, "raw_bytes", r#"{"size":8}"#);
        assert_eq!(error.kind(), ErrorKind::InvalidResult);
        assert_eq!(
            error.message(),
            "`raw_bytes`: `to` is not UTF-8: byte 2 is 0xff; say in the document what it is: `x-encoding`: `latin1` for text, `base64` or `hex` for bytes"
        );
    }
    for (encoding, text) in [("base64", "b2v//g=="), ("hex", "6f6bfffe"), ("latin1", "okÿþ")] {
        for library in &opened(vec![raw(with(counted.clone(), json!({ "x-encoding": encoding })))]) {
            assert_eq!(call(library, "raw_bytes", json!({ "size": 8 })), json!({ "length": 4, "to": text }));
        }
    }
}
