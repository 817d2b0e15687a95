//! The names of constants, and variables of a library.

use opentool_core::ErrorKind;
use serde_json::{Value, json};

use super::{opened, opened_with_structs};
use crate::harness::{call, call_text, document, function, library, open_here, refused, returns, takes, with};

#[test]
fn constants_go_by_name_or_number_and_flags_as_a_list() {
    let values = json!({ "x-values": { "MODE_READ": 1, "MODE_WRITE": 2, "MODE_ALL": 7 } });
    let named = |name: &str, c: &str, keys: Value| {
        let mode = with(with(takes("mode", "integer", c), values.clone()), keys);
        function(name, vec![mode], with(returns("bits", "integer", c), values.clone()))
    };
    let libraries = opened(vec![
        named("mode_bits", "int", json!({ "x-flags": true })),
        named("small_mode", "unsigned char", json!({})),
    ]);
    for library in &libraries {
        for (mode, bits) in [
            (json!("MODE_WRITE"), 2),
            (json!(4), 4),
            (json!([]), 0),
            (json!(["MODE_READ", "MODE_WRITE"]), 3),
            (json!(["MODE_READ", 8]), 9),
        ] {
            assert_eq!(call(library, "mode_bits", json!({ "mode": mode })), json!({ "bits": bits }));
        }
        assert_eq!(call(library, "small_mode", json!({ "mode": "MODE_ALL" })), json!({ "bits": 7 }));
        let wrong = refused(library, "small_mode", r#"{"mode":"MODE_REED"}"#);
        assert_eq!(wrong.kind(), ErrorKind::InvalidArguments);
        assert_eq!(
            wrong.message(),
            "invalid arguments: /mode: expected an integer or one of MODE_READ, MODE_WRITE, MODE_ALL, got \"MODE_REED\"; did you mean \"MODE_READ\"?"
        );
        assert!(refused(library, "small_mode", r#"{"mode":["MODE_READ"]}"#).message().contains("expected integer"));
        assert!(refused(library, "small_mode", r#"{"mode":256}"#).message().contains("from 0 to 255"));
        let wrong = refused(library, "mode_bits", r#"{"mode":["MODE_READ","x"]}"#);
        assert!(wrong.message().contains("/mode/1: expected an integer or one of"), "{wrong}");
        let definition = library.toolbox().get("mode_bits").unwrap().definition();
        let mode = &definition.input_schema()["properties"]["mode"]["anyOf"];
        assert_eq!(mode[0], json!({ "type": "integer" }));
        assert_eq!(mode[1], json!({ "type": "string", "enum": ["MODE_READ", "MODE_WRITE", "MODE_ALL"] }));
        let bits = definition.output_schema().unwrap()["properties"]["bits"]["description"].clone();
        assert_eq!(bits, "MODE_READ = 1, MODE_WRITE = 2, MODE_ALL = 7");
    }
}

#[test]
fn variables_are_read_by_their_type() {
    let global = |name: &str, returns: Value| with(function(name, vec![], returns), json!({ "x-global": true }));
    let functions = vec![
        global("answer", returns("it", "integer", "int")),
        global("ratio", returns("it", "number", "double")),
        global("negative", returns("it", "integer", "long long")),
        global("flag_byte", returns("it", "integer", "unsigned char")),
        global("version", returns("it", "string", "char *")),
        global("release", with(returns("it", "string", "char *"), json!({ "x-size": 8 }))),
        global("table", with(returns("it", "array", "int *"), json!({ "x-size": 4 }))),
        global("global_point", json!({ "name": "it", "schema": { "$ref": "#/schemas/Point" } })),
        with(global("live", returns("it", "integer", "int")), json!({ "x-symbol": "streams_open" })),
    ];
    for library in &opened_with_structs(functions) {
        for (name, value) in [
            ("answer", json!(42)),
            ("ratio", json!(1.5)),
            ("negative", json!(-5)),
            ("flag_byte", json!(200)),
            ("version", json!("2.7")),
            ("release", json!("r12")),
            ("table", json!([1, 2, 3, 4])),
            ("global_point", json!({ "x": 7, "y": 8 })),
        ] {
            assert_eq!(call(library, name, json!({})), json!({ "it": value }), "{name}");
        }
        assert_eq!(call_text(library, "answer", "").unwrap(), r#"{"it":42}"#);
    }
}

#[test]
fn a_variable_is_no_function_and_a_function_no_variable() {
    let answer = function("answer", vec![], returns("it", "integer", "int"));
    let bits = with(function("live_texts", vec![], returns("it", "integer", "int")), json!({ "x-global": true }));
    let works = function("streams", vec![], returns("it", "integer", "int"));
    let opened = open_here(&document(vec![answer, bits, works]), &library("features")).unwrap();
    assert_eq!(
        opened.disabled().collect::<Vec<_>>(),
        [
            ("answer", "`answer` is data of the library, not a function: `x-global` reads it"),
            ("live_texts", "`live_texts` is a function of the library, not data: leave out `x-global`"),
        ]
    );
}
