//! Arguments: in any order, missing, twice, unknown, no JSON; and whatever they are, the answer is the right one.

use opentool_core::{ErrorKind, Executor, Strictness};
use opentool_dyn::DynLibrary;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{call, call_text, function, gives, here, may_take, refused, returns, takes, with};

fn subtract() -> DynLibrary {
    let parameters = vec![takes("minuend", "integer", "int"), takes("subtrahend", "integer", "int")];
    here("types", vec![function("subtract", parameters, returns("difference", "integer", "int"))])
}

#[test]
fn any_order_and_any_whitespace_and_any_escapes() {
    let library = subtract();
    for text in [
        r#"{"minuend":10,"subtrahend":3}"#,
        r#"{"subtrahend":3,"minuend":10}"#,
        " {\n\t\"minuend\" : 10 ,\r\n \"subtrahend\": 3 } ",
        r#"{"\u006dinuend":10,"subtrahend":3}"#,
        r#"{"subtrahend":3.0,"minuend":1e1}"#,
        r#"{"minuend":10,"subtrahend":3,"unknown":{"a":[1,{"b":null}],"c":"\ud83d\ude00"}}"#,
    ] {
        assert_eq!(call_text(&library, "subtract", text).unwrap(), r#"{"difference":7}"#, "{text}");
    }
}

#[test]
fn all_wrong_arguments_are_reported_at_once() {
    let library = subtract();
    let message = |text: &str| refused(&library, "subtract", text).message().to_owned();
    assert_eq!(message(r#"{"minuend":10}"#), r#"invalid arguments: missing required argument "subtrahend" (integer)"#);
    assert_eq!(
        message("{}"),
        r#"invalid arguments: missing required argument "minuend" (integer); missing required argument "subtrahend" (integer)"#
    );
    assert_eq!(
        message(r#"{"minuend":"x","subtrahend":99999999999}"#),
        "invalid arguments: /minuend: expected integer, got string \"x\"; \
         /subtrahend: expected an integer from -2147483648 to 2147483647 (`int`), got 99999999999"
    );
    assert_eq!(
        message(r#"{"minuend":1,"subtrahend":2,"minuend":3}"#),
        r#"invalid arguments: /minuend: the name "minuend" is there more than once"#
    );
    assert_eq!(
        message(r#"{"minuend":1,"subtrahend":2,"x":3,"\u0078":4}"#),
        r#"invalid arguments: /x: the name "x" is there more than once"#
    );
    assert_eq!(
        message(r#"{"minuend":1,"subtrahend":null}"#),
        "invalid arguments: /subtrahend: expected integer, got null"
    );
    assert!(message(r#"{"minuend":1,"subtrahent":2}"#).ends_with(r#"is it what you call "subtrahent"?"#));
}

#[test]
fn what_is_no_json_object_is_refused_and_the_next_call_works() {
    let library = subtract();
    for text in [
        "[1,2]",
        "7",
        "\"x\"",
        "true",
        "{",
        "{\"minuend\"",
        "{\"minuend\":",
        "{\"minuend\":1,}",
        "{minuend:1}",
        "{\"minuend\":1 \"subtrahend\":2}",
        "{\"minuend\":01,\"subtrahend\":2}",
        "{\"minuend\":1,\"subtrahend\":2}x",
        "{\"minuend\":1,\"subtrahend\":2",
        "{\"minuend\":NaN,\"subtrahend\":2}",
        "{\"minuend\":1,\"subtrahend\":2,\"x\":tru}",
        "{\"minuend\":1,\"subtrahend\":2,\"x\":\"\\ud800\"}",
        "{\"minuend\":-,\"subtrahend\":2}",
        "{\"minuend\":1.,\"subtrahend\":2}",
        "{\"minuend\":\"\u{1}\",\"subtrahend\":2}",
    ] {
        let error = refused(&library, "subtract", text);
        assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{text}");
        assert_eq!(call_text(&library, "subtract", r#"{"minuend":3,"subtrahend":1}"#).unwrap(), r#"{"difference":2}"#);
    }
    let deep = format!(r#"{{"minuend":1,"subtrahend":2,"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(&library, "subtract", &deep).message().contains("127 levels"));
}

#[test]
fn the_executor_decides_about_unknown_arguments() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let arguments = r#"{"minuend":3,"subtrahend":1,"more":2}"#;
    let lenient = Executor::new().host(subtract());
    let answer = runtime.block_on(lenient.call("subtract", arguments)).unwrap();
    assert_eq!(answer.to_text(), r#"{"difference":2}"#);
    let strict = Executor::builder().strictness(Strictness::Strict).build().host(subtract());
    let error = runtime.block_on(strict.call("subtract", arguments)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert!(error.message().contains(r#"/more: unknown argument "more""#), "{error}");
    assert!(runtime.block_on(strict.call("subtract", r#"{"minuend":3,"subtrahend":1}"#)).is_ok());
    let error = runtime.block_on(lenient.call("subtract", r#"{"minuend":"3"}"#)).unwrap_err();
    assert_eq!(
        error.message(),
        r#"invalid arguments: /minuend: expected integer, got string "3"; missing required argument "subtrahend" (integer)"#
    );
}

#[test]
fn many_parameters_are_found_by_name() {
    let names: Vec<String> = (0..200).map(|n| format!("p{n}")).collect();
    let parameters = names.iter().map(|name| may_take(name, "integer", "long long")).collect();
    let library = here(
        "types",
        vec![with(
            function("add_two_hundred", parameters, returns("sum", "integer", "long long")),
            json!({ "x-symbol": "add_ten" }),
        )],
    );
    let arguments: serde_json::Map<String, Value> = (0..10).rev().map(|n| (format!("p{n}"), json!(n))).collect();
    assert_eq!(call(&library, "add_two_hundred", arguments.into()), json!({ "sum": 9_876_543_210_i64 }));
}

fn round_trips() -> DynLibrary {
    let value = |name: &str, seen: &str, c: &str| {
        function(&format!("value_{name}"), vec![takes("v", seen, c)], returns("it", seen, c))
    };
    here(
        "types",
        vec![
            value("long_long", "integer", "long long"),
            value("unsigned_long_long", "integer", "unsigned long long"),
            value("int", "integer", "int"),
            value("short", "integer", "short"),
            value("float", "number", "float"),
            value("double", "number", "double"),
            function(
                "copy_double",
                vec![
                    with(takes("from", "array", "double *"), json!({ "x-lengthParam": "count" })),
                    takes("count", "integer", "int"),
                    with(gives("to", "array", "double *"), json!({ "x-sizeParam": "count" })),
                ],
                Value::Null,
            ),
        ],
    )
}

fn texts() -> DynLibrary {
    let encoded = json!({ "x-lengthParam": "length" });
    here(
        "text",
        vec![function(
            "counted",
            vec![
                with(takes("from", "string", "unsigned char *"), encoded),
                takes("length", "integer", "unsigned long"),
                with(gives("to", "string", "unsigned char *"), json!({ "x-size": 65536, "x-lengthParam": "written" })),
                gives("written", "integer", "unsigned long *"),
            ],
            Value::Null,
        )],
    )
}

thread_local! {
    static ROUND_TRIPS: DynLibrary = round_trips();
    static TEXTS: DynLibrary = texts();
}

proptest! {
    #[test]
    fn every_value_survives_the_way_through_c(
        signed: i64, unsigned: u64, int: i32, short: i16, float: f32, double: f64, doubles in prop::collection::vec(any::<f64>(), 0..40),
    ) {
        ROUND_TRIPS.with(|library| {
            let back = |name: &str, value: Value| call(library, name, json!({ "v": value }))["it"].clone();
            assert_eq!(back("value_long_long", json!(signed)).as_i64(), Some(signed));
            assert_eq!(back("value_unsigned_long_long", json!(unsigned)).as_u64(), Some(unsigned));
            assert_eq!(back("value_int", json!(int)).as_i64(), Some(int.into()));
            assert_eq!(back("value_short", json!(short)).as_i64(), Some(short.into()));
            assert_eq!(call_text(library, "value_long_long", &format!(r#"{{"v": "{signed}" }}"#)).unwrap(), format!(r#"{{"it":{signed}}}"#));
            if double.is_finite() {
                assert_eq!(back("value_double", json!(double)).as_f64().map(f64::to_bits), Some(double.to_bits()));
            }
            if float.is_finite() {
                let text = serde_json::to_string(&float).unwrap();
                assert_eq!(call_text(library, "value_float", &format!(r#"{{"v":{text}}}"#)).unwrap(), format!(r#"{{"it":{text}}}"#));
            }
            let finite: Vec<f64> = doubles.into_iter().filter(|double| double.is_finite()).collect();
            let mut reversed = finite.clone();
            reversed.reverse();
            assert_eq!(call(library, "copy_double", json!({ "from": finite })), json!({ "to": reversed }));
        });
    }

    #[test]
    fn every_text_survives_the_way_through_c(text in "\\PC{0,40}|[\u{0}-\u{7f}]{0,40}") {
        TEXTS.with(|library| {
            let bytes: Vec<u8> = text.bytes().rev().collect();
            match String::from_utf8(bytes) {
                Ok(reversed) => {
                    let there = call(library, "counted", json!({ "from": text }));
                    assert_eq!(there, json!({ "to": reversed, "written": text.len() }));
                }
                Err(_) => {
                    let error = refused(library, "counted", &json!({ "from": text }).to_string());
                    assert!(error.message().contains("`to` is not UTF-8"), "{error}");
                }
            }
        });
    }

    #[test]
    fn any_text_whatsoever_gets_an_answer_or_a_refusal(text in "\\PC{0,60}|[{}\\[\\]\",:0-9a-z\\\\ .eE+-]{0,60}") {
        ROUND_TRIPS.with(|library| {
            let said = call_text(library, "value_int", &text);
            let read = serde_json::from_str::<Value>(&text).ok();
            if let Ok(result) = said {
                let given = read.and_then(|value| value.get("v").and_then(Value::as_f64));
                let result: Value = serde_json::from_str(&result).unwrap();
                assert_eq!(result["it"].as_f64(), given);
            }
        });
    }
}

#[test]
fn what_the_schema_asks_for_beyond_the_type_is_asked_of_callers() {
    let constrained = |keys: Value| {
        let mut schema = crate::harness::schema("integer", "int");
        schema.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        schema
    };
    let of_two =
        json!({ "name": "minuend", "schema": constrained(json!({ "enum": [1, 2] })), "isIn": true, "required": true });
    let five =
        json!({ "name": "subtrahend", "schema": constrained(json!({ "minimum": 5 })), "isIn": true, "required": true });
    let parameters = vec![of_two, five];
    let library = here("types", vec![function("subtract", parameters, returns("difference", "integer", "int"))]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let host = Executor::new().host(library);
    let call = |text: &str| runtime.block_on(host.call("subtract", text));
    assert_eq!(call(r#"{"minuend":2,"subtrahend":5}"#).unwrap().to_text(), r#"{"difference":-3}"#);
    for (wrong, pointer) in
        [(r#"{"minuend":7,"subtrahend":5}"#, "/minuend"), (r#"{"minuend":1,"subtrahend":4}"#, "/subtrahend")]
    {
        let error = call(wrong).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArguments && error.message().contains(pointer), "{error}");
    }
}
