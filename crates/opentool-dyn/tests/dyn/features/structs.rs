//! Structs whose fields callers see: by pointer, by value, nested, in arrays.

use opentool_core::ErrorKind;
use serde_json::{Value, json};

use super::{opened_with_structs, refers};
use crate::harness::{call, document, function, gives, may_take, refused, returns, schema, takes, with};

/// The structs of `tests/c/features.c`.
pub(super) fn schemas() -> Value {
    let number = |c: &str| schema(if c == "double" || c == "float" { "number" } else { "integer" }, c);
    let layout = |name: &str, size: usize, align: usize, offsets: Value| json!({ "name": name, "size": size, "align": align, "offsets": offsets });
    json!({
        "Point": {
            "type": "object",
            "properties": { "x": number("int"), "y": number("int") },
            "required": ["x", "y"],
            "x-struct": layout("point", 8, 4, json!({ "x": 0, "y": 4 })),
        },
        "Line": {
            "type": "object",
            "properties": {
                "from": { "$ref": "#/schemas/Point" },
                "to": { "$ref": "#/schemas/Point" },
                "width": number("double"),
                "name": with(schema("string", "char"), json!({ "x-size": 8 })),
                "dashes": with(schema("array", "short"), json!({ "minItems": 3, "maxItems": 3 })),
                "closed": schema("boolean", "bool"),
                "note": schema("string", "char *"),
            },
            "required": ["from", "to"],
            "x-struct": layout("line", 48, 8, json!({ "from": 0, "to": 8, "width": 16, "name": 24, "dashes": 32, "closed": 38, "note": 40 })),
        },
        "Large": {
            "type": "object",
            "properties": { "a": number("double"), "b": number("double"), "c": number("double") },
            "required": ["a", "b", "c"],
            "x-struct": layout("large", 24, 8, json!({ "a": 0, "b": 8, "c": 16 })),
        },
        "Mixed": {
            "type": "object",
            "properties": { "tag": schema("integer", "char"), "value": number("float") },
            "required": ["tag", "value"],
            "x-struct": layout("mixed", 8, 4, json!({ "tag": 0, "value": 4 })),
        },
    })
}

fn points(name: &str, keys: Value) -> Value {
    with(
        json!({ "name": name, "schema": { "type": "array", "items": { "$ref": "#/schemas/Point" } }, "isIn": false, "required": false }),
        keys,
    )
}

#[test]
fn structs_go_in_and_out_by_pointer() {
    let libraries = opened_with_structs(vec![
        function(
            "point_sum",
            vec![with(refers("it", "Point", true, json!({})), json!({ "required": false }))],
            returns("sum", "integer", "int"),
        ),
        function(
            "point_make",
            vec![takes("x", "integer", "int"), takes("y", "integer", "int"), refers("made", "Point", false, json!({}))],
            json!(null),
        ),
        function(
            "point_move",
            vec![refers("it", "Point", true, json!({ "x-inOut": true })), takes("by", "integer", "int")],
            json!(null),
        ),
        function(
            "point_origin",
            vec![takes("there", "boolean", "int")],
            json!({ "name": "it", "schema": { "$ref": "#/schemas/Point" } }),
        ),
    ]);
    for library in &libraries {
        assert_eq!(call(library, "point_sum", json!({ "it": { "x": 40, "y": 2 } })), json!({ "sum": 42 }));
        assert_eq!(call(library, "point_sum", json!({})), json!({ "sum": -1 }));
        assert_eq!(call(library, "point_make", json!({ "x": 1, "y": -2 })), json!({ "made": { "x": 1, "y": -2 } }));
        assert_eq!(
            call(library, "point_move", json!({ "it": { "y": 2, "x": 1 }, "by": 10 })),
            json!({ "it": { "x": 11, "y": 12 } })
        );
        assert_eq!(call(library, "point_origin", json!({ "there": true })), json!({ "it": { "x": 0, "y": 0 } }));
        assert_eq!(call(library, "point_origin", json!({ "there": false })), json!({ "it": null }));
        let definition = library.toolbox().get("point_sum").unwrap().definition();
        assert_eq!(definition.input_schema()["properties"]["it"]["properties"]["x"], json!({ "type": "integer" }));
    }
}

#[test]
fn nested_structs_arrays_and_texts_go_both_ways() {
    let libraries = opened_with_structs(vec![function(
        "line_describe",
        vec![
            refers("it", "Line", true, json!({})),
            refers("out", "Line", false, json!({})),
            with(gives("text", "string", "char *"), json!({ "x-sizeParam": "size", "x-size": 100 })),
            may_take("size", "integer", "int"),
        ],
        returns("length", "integer", "int"),
    )]);
    for library in &libraries {
        let it = json!({ "from": { "x": 1, "y": 2 }, "to": { "x": 3, "y": 4 }, "width": 0.5, "name": "Åse", "dashes": [5, 6], "closed": true, "note": "in" });
        let described = call(library, "line_describe", json!({ "it": it }));
        assert_eq!(described["text"], "Åse 1,2-3,4 in");
        assert_eq!(
            described["out"],
            json!({ "from": { "x": 2, "y": 2 }, "to": { "x": 3, "y": 4 }, "width": 1.0, "name": "Åse", "dashes": [5, 6, 9], "closed": false, "note": "a note" })
        );
        let least = call(
            library,
            "line_describe",
            json!({ "it": { "from": { "x": 0, "y": 0 }, "to": { "x": 0, "y": 0 }, "note": null } }),
        );
        assert_eq!(least["text"], " 0,0-0,0 -");
        for (wrong, message) in [
            (r#"{"from":{"x":1,"y":2}}"#, r#"/it: missing required field "to" of `line`"#),
            (r#"{"from":{"x":1,"y":2},"to":{"x":1,"y":"2"}}"#, r#"/it/to/y: expected integer, got string "2""#),
            (r#"{"from":{"x":1,"y":2,"z":3},"to":{"x":1,"y":2}}"#, r#"/it/from: `point` has no field "z""#),
            (r#"{"from":{"x":1,"y":2},"to":{"x":1,"y":2},"name":"12345678"}"#, "/it/name: expected at most 7 bytes"),
            (
                r#"{"from":{"x":1,"y":2},"to":{"x":1,"y":2},"dashes":[1,2,3,4]}"#,
                "/it/dashes: expected at most 3 elements",
            ),
            (
                r#"{"from":{"x":1,"x":2,"y":2},"to":{"x":1,"y":2}}"#,
                r#"/it/from: the field "x" is there more than once"#,
            ),
            ("[]", "/it: expected an object (`line`), got array []"),
        ] {
            let error = refused(library, "line_describe", &format!(r#"{{"it":{wrong}}}"#));
            assert_eq!(error.kind(), ErrorKind::InvalidArguments);
            assert!(error.message().contains(message), "{error}");
        }
    }
}

#[test]
fn structs_are_passed_and_returned_by_value() {
    let value = |name: &str, schema: &str| refers(name, schema, true, json!({ "x-byValue": true }));
    let gives =
        |schema: &str| json!({ "name": "it", "schema": { "$ref": format!("#/schemas/{schema}") }, "x-byValue": true });
    let libraries = opened_with_structs(vec![
        function("point_sum_value", vec![value("it", "Point")], returns("sum", "integer", "int")),
        function("point_swapped", vec![value("it", "Point")], gives("Point")),
        function("large_scaled", vec![value("it", "Large"), takes("by", "number", "double")], gives("Large")),
        function("mixed_next", vec![value("it", "Mixed")], gives("Mixed")),
    ]);
    for library in &libraries {
        assert_eq!(call(library, "point_sum_value", json!({ "it": { "x": 40, "y": 2 } })), json!({ "sum": 42 }));
        assert_eq!(
            call(library, "point_swapped", json!({ "it": { "x": 1, "y": 2 } })),
            json!({ "it": { "x": 2, "y": 1 } })
        );
        assert_eq!(
            call(library, "large_scaled", json!({ "it": { "a": 1, "b": 2, "c": 3.5 }, "by": 2 })),
            json!({ "it": { "a": 2.0, "b": 4.0, "c": 7.0 } })
        );
        assert_eq!(
            call(library, "mixed_next", json!({ "it": { "tag": 65, "value": 1.25 } })),
            json!({ "it": { "tag": 66, "value": 2.5 } })
        );
    }
}

#[test]
fn arrays_of_structs_go_in_and_out_by_count() {
    let libraries = opened_with_structs(vec![
        function(
            "points_list",
            vec![
                points("to", json!({ "x-sizeParam": "capacity", "x-lengthParam": "count" })),
                takes("capacity", "integer", "int"),
            ],
            returns("count", "integer", "int"),
        ),
        function(
            "points_sum",
            vec![
                points("all", json!({ "isIn": true, "required": true, "x-lengthParam": "count" })),
                takes("count", "integer", "int"),
            ],
            returns("sum", "integer", "int"),
        ),
        function(
            "points_own",
            vec![
                points("all", json!({ "x-indirect": true, "x-lengthParam": "count" })),
                gives("count", "integer", "int *"),
            ],
            returns("code", "integer", "int"),
        ),
    ]);
    for library in &libraries {
        assert_eq!(
            call(library, "points_list", json!({ "capacity": 2 })),
            json!({ "count": 2, "to": [{ "x": 0, "y": 0 }, { "x": 1, "y": -1 }] })
        );
        assert_eq!(call(library, "points_list", json!({ "capacity": 9 }))["to"].as_array().unwrap().len(), 3);
        let all = json!([{ "x": 2, "y": 3 }, { "x": 4, "y": 5 }]);
        assert_eq!(call(library, "points_sum", json!({ "all": all })), json!({ "sum": 26 }));
        assert_eq!(call(library, "points_sum", json!({ "all": [] })), json!({ "sum": 0 }));
        let error = refused(library, "points_sum", r#"{"all":[{"x":1,"y":1},{"x":1}]}"#);
        assert!(error.message().contains(r#"/all/1: missing required field "y""#), "{error}");
        assert_eq!(
            call(library, "points_own", json!({})),
            json!({ "code": 0, "all": [{ "x": 1, "y": 2 }, { "x": 3, "y": 4 }], "count": 2 })
        );
    }
}

#[test]
fn text_of_a_struct_that_is_not_utf8_is_an_error() {
    for library in
        &opened_with_structs(vec![function("line_latin1", vec![refers("out", "Line", false, json!({}))], json!(null))])
    {
        let error = refused(library, "line_latin1", "{}");
        assert_eq!(error.kind(), ErrorKind::InvalidResult);
        assert!(error.message().contains("`out` is not UTF-8: byte 3 is 0xe9"), "{error}");
    }
}

#[test]
fn structs_lie_at_most_eight_deep_within_structs() {
    let faults = |depth: usize| {
        let mut inner = schemas()["Mixed"].clone();
        for level in 0..depth {
            inner = json!({ "type": "object", "properties": { "it": inner }, "required": ["it"],
                "x-struct": { "name": format!("level{level}"), "size": 8, "align": 4, "offsets": { "it": 0 } } });
        }
        let mut document =
            document(vec![function("line_latin1", vec![refers("out", "Outer", false, json!({}))], json!(null))]);
        document["schemas"] = json!({ "Outer": inner });
        opentool_dyn::document_faults(&document.to_string())
    };
    assert_eq!(faults(8).len(), 0);
    let nine = faults(9);
    assert!(nine[0].reason.contains("structs lie more than 8 deep within structs"), "{}", nine[0].reason);
}

#[test]
fn layouts_that_cannot_be_are_found_without_the_library() {
    let fault = |change: fn(&mut Value)| {
        let mut document = document(vec![function(
            "point_sum_value",
            vec![refers("it", "Point", true, json!({ "x-byValue": true }))],
            json!(null),
        )]);
        document["schemas"] = schemas();
        change(&mut document["schemas"]["Point"]);
        let faults = opentool_dyn::document_faults(&document.to_string());
        assert_eq!(
            faults.iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(),
            ["/functions/0/parameters/0"]
        );
        faults[0].reason.clone()
    };
    for (change, reason) in [
        ((|point| point["x-struct"]["size"] = json!(0)) as fn(&mut Value), "needs a `size` from 1"),
        (|point| point["x-struct"]["align"] = json!(3), "needs an `align`, a power of two"),
        (|point| point["x-struct"]["size"] = json!(6), "its size of 6 is no multiple of its alignment of 4"),
        (|point| point["x-struct"]["offsets"]["y"] = json!(6), "field `y`: it ends after the 8 bytes of the struct"),
        (|point| point["x-struct"]["offsets"]["z"] = json!(0), "`offsets` has `z`, which is no property"),
        (|point| point["x-struct"]["offsets"] = json!({ "x": 0 }), "field `y`: `offsets` does not say where it is"),
        (|point| point["x-struct"]["size"] = json!(12), "by value every field must be there"),
        (|point| point["properties"]["y"] = json!({ "$ref": "#/schemas/Point" }), "the struct contains itself"),
        (
            |point| point["properties"]["y"]["cType"]["isPointer"] = json!(true),
            "a pointer within a struct can only be text",
        ),
    ] {
        let found = fault(change);
        assert!(found.contains(reason), "{found}");
    }
}
