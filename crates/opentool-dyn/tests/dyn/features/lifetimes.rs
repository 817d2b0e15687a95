//! Memory that outlives a call, and handles that end with others.

use opentool_dyn::DynLibrary;
use serde_json::{Value, json};

use super::opened;
use crate::harness::{call, function, gives, refused, returns, takes, with};

fn functions(cursor: Value) -> Vec<Value> {
    let handle = |parameter: Value, kind: &str| with(parameter, json!({ "x-handle": kind }));
    let reader = || handle(takes("reader", "string", "void *"), "reader");
    let at = || handle(takes("cursor", "string", "void *"), "cursor");
    let input =
        |holder: &str| with(takes("input", "string", "char *"), json!({ "x-lengthParam": "length", "x-keep": holder }));
    let length = || takes("length", "integer", "unsigned long");
    let byte = || returns("byte", "integer", "int");
    let code = json!({ "x-returnsCode": true });
    vec![
        function("reader_new", vec![input("made"), length()], handle(returns("made", "string", "void *"), "reader")),
        with(
            function("reader_set", vec![reader(), input("reader"), length()], returns("code", "integer", "int")),
            code.clone(),
        ),
        function("reader_next", vec![reader()], byte()),
        with(
            function(
                "reader_close",
                vec![with(reader(), json!({ "x-closes": true }))],
                returns("code", "integer", "int"),
            ),
            code,
        ),
        function(
            "cursor_new",
            vec![reader()],
            with(
                handle(returns("cursor", "string", "void *"), "cursor"),
                with(json!({ "x-parent": "reader" }), cursor),
            ),
        ),
        function("cursor_next", vec![at()], byte()),
        function("cursor_close", vec![with(at(), json!({ "x-closes": true }))], json!(null)),
        function("cursor_orphan", vec![at()], json!(null)),
        function("counts", vec![gives("cursors", "integer", "int *")], returns("readers", "integer", "int")),
    ]
}

fn bytes(library: &DynLibrary, reader: &Value) -> String {
    let mut text = String::new();
    loop {
        let byte = call(library, "reader_next", json!({ "reader": reader }))["byte"].as_i64().unwrap();
        match u8::try_from(byte) {
            Ok(byte) => text.push(char::from(byte)),
            Err(_) => return text,
        }
    }
}

#[test]
fn memory_lives_until_its_handle_is_closed() {
    for library in &opened(functions(json!({}))) {
        let long = "input that lives ".repeat(100);
        let reader = call(library, "reader_new", json!({ "input": long }))["made"].clone();
        // Other calls use the memory of theirs meanwhile.
        let other = call(library, "reader_new", json!({ "input": "x".repeat(1700) }))["made"].clone();
        assert_eq!(bytes(library, &reader), long);
        call(library, "reader_set", json!({ "reader": reader, "input": "other" }));
        call(library, "reader_set", json!({ "reader": other, "input": "thing" }));
        assert_eq!((bytes(library, &reader).as_str(), bytes(library, &other).as_str()), ("other", "thing"));
        for reader in [reader, other] {
            call(library, "reader_close", json!({ "reader": reader }));
        }
        assert_eq!(call(library, "counts", json!({})), json!({ "readers": 0, "cursors": 0 }));
    }
}

#[test]
fn closing_a_parent_closes_its_children_first() {
    for library in &opened(functions(json!({ "x-close": "cursor_close" }))) {
        let reader = call(library, "reader_new", json!({ "input": "ab" }))["made"].clone();
        let cursor = |_| call(library, "cursor_new", json!({ "reader": reader }))["cursor"].clone();
        let [first, second] = [0, 1].map(cursor);
        assert_eq!(call(library, "cursor_next", json!({ "cursor": first })), json!({ "byte": 97 }));
        call(library, "cursor_close", json!({ "cursor": first }));
        assert_eq!(call(library, "counts", json!({})), json!({ "readers": 1, "cursors": 1 }));
        assert_eq!(call(library, "reader_close", json!({ "reader": reader })), json!({ "code": 0 }));
        assert_eq!(call(library, "counts", json!({})), json!({ "readers": 0, "cursors": 0 }));
        for cursor in [first, second] {
            let stale = refused(library, "cursor_next", &json!({ "cursor": cursor }).to_string());
            assert!(stale.message().contains("that is open"), "{stale}");
        }
    }
}

#[test]
fn without_a_destructor_children_end_only_where_the_parent_does() {
    for library in &opened(functions(json!({}))) {
        let reader = call(library, "reader_new", json!({ "input": "ab" }))["made"].clone();
        let cursor = call(library, "cursor_new", json!({ "reader": reader }))["cursor"].clone();
        // The reader does not close while it has a cursor: both stay.
        assert_eq!(refused(library, "reader_close", &json!({ "reader": reader }).to_string()).code(), Some(5));
        assert_eq!(call(library, "cursor_next", json!({ "cursor": cursor })), json!({ "byte": 97 }));
        call(library, "cursor_orphan", json!({ "cursor": cursor }));
        call(library, "reader_close", json!({ "reader": reader }));
        let stale = refused(library, "cursor_next", &json!({ "cursor": cursor }).to_string());
        assert!(stale.message().contains("that is open"), "{stale}");
    }
}
