//! Every type × {value, pointer in, pointer out, in and out, return, array}, at both ends of its range.

use std::sync::LazyLock;

use opentool_dyn::DynLibrary;
use serde_json::{Value, json};

use crate::harness::{call, call_text, function, gives, here, may_take, refused, returns, takes, with};

/// A C type, what callers see, and values as JSON texts that must come back as they are.
struct Type {
    c: &'static str,
    seen: &'static str,
    values: &'static [&'static str],
    /// What is refused because it does not fit.
    beyond: &'static [&'static str],
}

const TYPES: &[Type] = &[
    Type { c: "bool", seen: "boolean", values: &["true", "false"], beyond: &["2", "-1", "0.5", "\"true\""] },
    Type { c: "char", seen: "integer", values: &["-128", "-1", "0", "127"], beyond: &["-129", "128", "255", "1e3"] },
    Type { c: "unsigned char", seen: "integer", values: &["0", "128", "255"], beyond: &["-1", "256"] },
    Type { c: "short", seen: "integer", values: &["-32768", "-1", "32767"], beyond: &["-32769", "32768"] },
    Type { c: "unsigned short", seen: "integer", values: &["0", "32768", "65535"], beyond: &["-1", "65536"] },
    Type {
        c: "int",
        seen: "integer",
        values: &["-2147483648", "-1", "2147483647"],
        beyond: &["-2147483649", "2147483648", "1.5", "true", "\"1\"", "[1]", "{}"],
    },
    Type {
        c: "unsigned int",
        seen: "integer",
        values: &["0", "2147483648", "4294967295"],
        beyond: &["-1", "4294967296"],
    },
    Type {
        c: "long",
        seen: "integer",
        values: &["-9223372036854775808", "9223372036854775807", "9007199254740993", "-9007199254740993"],
        beyond: &["-9223372036854775809", "9223372036854775808", "1e300", "9223372036854775808.0", "1.5e0"],
    },
    Type {
        c: "unsigned long",
        seen: "integer",
        values: &["0", "9223372036854775808", "18446744073709551615"],
        beyond: &["-1", "18446744073709551616", "-18446744073709551615"],
    },
    Type {
        c: "long long",
        seen: "integer",
        values: &["-9223372036854775808", "9223372036854775807", "9007199254740993"],
        beyond: &["-9223372036854775809", "9223372036854775808"],
    },
    Type {
        c: "unsigned long long",
        seen: "integer",
        values: &["0", "9007199254740993", "18446744073709551615"],
        beyond: &["-1", "18446744073709551616", "340282366920938463463374607431768211456"],
    },
    Type {
        c: "float",
        seen: "number",
        values: &[
            "2.42",
            "0.1",
            "-0.0",
            "1e-45",
            "3.4028235e+38",
            "-3.4028235e+38",
            "\"NaN\"",
            "\"Infinity\"",
            "\"-Infinity\"",
        ],
        beyond: &["3.5e38", "-1e300", "\"1\"", "true"],
    },
    Type {
        c: "double",
        seen: "number",
        values: &[
            "2.42",
            "0.1",
            "-0.0",
            "5e-324",
            "1.7976931348623157e+308",
            "\"NaN\"",
            "\"Infinity\"",
            "\"-Infinity\"",
        ],
        beyond: &["\"nan\"", "false", "null"],
    },
];

impl Type {
    fn name(&self) -> String {
        self.c.replace(' ', "_")
    }

    /// The functions of `tests/c/types.c` for the type.
    fn functions(&self) -> Vec<Value> {
        let (seen, c, name) = (self.seen, self.c, self.name());
        let pointer = format!("{c} *");
        let pointer = pointer.as_str();
        let counted = || with(takes("from", "array", pointer), json!({ "x-lengthParam": "count" }));
        vec![
            function(&format!("value_{name}"), vec![takes("v", seen, c)], returns("it", seen, c)),
            function(&format!("pointer_in_{name}"), vec![takes("v", seen, pointer)], returns("it", seen, c)),
            function(&format!("is_null_{name}"), vec![may_take("v", seen, pointer)], returns("it", "boolean", "bool")),
            function(
                &format!("pointer_out_{name}"),
                vec![takes("v", seen, c), gives("it", seen, pointer)],
                returns("nothing", "integer", "void"),
            ),
            function(&format!("in_out_{name}"), vec![gives("both", seen, pointer)], Value::Null),
            function(&format!("returned_pointer_{name}"), vec![takes("v", seen, c)], returns("it", seen, pointer)),
            function(
                &format!("last_of_{name}"),
                vec![counted(), takes("count", "integer", "int")],
                returns("it", seen, c),
            ),
            function(
                &format!("copy_{name}"),
                vec![
                    counted(),
                    takes("count", "integer", "int"),
                    with(gives("to", "array", pointer), json!({ "x-sizeParam": "count", "x-lengthParam": "copied" })),
                ],
                returns("copied", "integer", "int"),
            ),
        ]
    }
}

/// All of them, opened once.
fn all() -> &'static DynLibrary {
    static ALL: LazyLock<DynLibrary> =
        LazyLock::new(|| here("types", TYPES.iter().flat_map(Type::functions).collect()));
    &ALL
}

fn text(library: &DynLibrary, name: &str, arguments: &str) -> String {
    call_text(library, name, arguments).unwrap_or_else(|error| panic!("{name}({arguments}): {error}"))
}

#[test]
fn every_value_of_every_type_comes_back_exactly_on_every_way() {
    let library = all();
    for kind in TYPES {
        let name = kind.name();
        for value in kind.values {
            let given = format!(r#"{{"v":{value}}}"#);
            let back = format!(r#"{{"it":{value}}}"#);
            for way in ["value", "pointer_in", "pointer_out", "returned_pointer"] {
                assert_eq!(text(library, &format!("{way}_{name}"), &given), back, "{way} of {}", kind.c);
            }
            let last = text(library, &format!("last_of_{name}"), &format!(r#"{{"from":[{value},{value}]}}"#));
            assert_eq!(last, back, "last of {}", kind.c);
        }
    }
}

#[test]
fn arrays_come_back_whole_and_in_order() {
    let library = all();
    for kind in TYPES {
        let mut values = kind.values.to_vec();
        let given = format!(r#"{{"from":[{}]}}"#, values.join(","));
        values.reverse();
        let back = format!(r#"{{"copied":{},"to":[{}]}}"#, values.len(), values.join(","));
        assert_eq!(text(library, &format!("copy_{}", kind.name()), &given), back);
    }
    assert_eq!(text(library, "copy_int", r#"{"from":[]}"#), r#"{"copied":0,"to":[]}"#);
}

#[test]
fn what_does_not_fit_is_refused_with_place_value_and_range() {
    let library = all();
    for kind in TYPES {
        let name = kind.name();
        for value in kind.beyond {
            for way in ["value", "pointer_in", "pointer_out", "returned_pointer"] {
                let error = refused(library, &format!("{way}_{name}"), &format!(r#"{{"v":{value}}}"#));
                assert_eq!(error.kind(), opentool_core::ErrorKind::InvalidArguments);
                let message = error.message();
                assert!(message.contains("/v: expected") && message.contains(value), "{}: {message}", kind.c);
                assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/v");
            }
            if *value != "null" {
                let error = refused(
                    library,
                    &format!("last_of_{name}"),
                    &format!(r#"{{"from":[{},{value}]}}"#, kind.values[0]),
                );
                assert!(error.message().contains("/from/1: expected"), "{}: {error}", kind.c);
            }
        }
    }
    let error = refused(library, "value_int", r#"{"v":2147483648}"#);
    assert_eq!(
        error.message(),
        "invalid arguments: /v: expected an integer from -2147483648 to 2147483647 (`int`), got 2147483648"
    );
}

#[test]
fn what_was_expected_is_named_by_its_json_type() {
    let library = all();
    for (name, expected) in [("value_double", "number"), ("value_float", "number"), ("value_int", "integer")] {
        let error = refused(library, name, r#"{"v":true}"#);
        assert_eq!(error.message(), format!("invalid arguments: /v: expected {expected}, got boolean true"));
        let error = refused(library, name, "{}");
        let missing = format!("missing required argument \"v\" ({expected})");
        assert!(error.message().contains(&missing), "{error}");
    }
}

#[test]
fn integral_floats_are_integers_up_to_two_to_53() {
    let library = all();
    assert_eq!(call(library, "value_int", json!({ "v": 1.0 })), json!({ "it": 1 }));
    assert_eq!(text(library, "value_int", r#"{"v":1e3}"#), r#"{"it":1000}"#);
    assert_eq!(text(library, "value_long", r#"{"v":9007199254740992.0}"#), r#"{"it":9007199254740992}"#);
    assert_eq!(text(library, "value_int", r#"{"v":-0}"#), r#"{"it":0}"#);
    assert_eq!(text(library, "value_double", r#"{"v":-0}"#), r#"{"it":-0.0}"#);
    assert_eq!(text(library, "value_bool", r#"{"v":1}"#), r#"{"it":true}"#);
    assert_eq!(text(library, "value_bool", r#"{"v":0}"#), r#"{"it":false}"#);
}

#[test]
fn integers_of_64_bits_may_be_given_as_digits() {
    let library = all();
    for (way, value) in
        [("value_long_long", "-9223372036854775808"), ("pointer_in_unsigned_long_long", "18446744073709551615")]
    {
        assert_eq!(text(library, way, &format!(r#"{{"v":"{value}"}}"#)), format!(r#"{{"it":{value}}}"#));
    }
    for wrong in ["9223372036854775808", "1e3", "", "-", "+1", " 1", "0x1"] {
        let error = refused(library, "value_long_long", &json!({ "v": wrong }).to_string());
        assert!(error.message().contains("/v: expected"), "{error}");
    }
}

#[test]
fn integers_of_64_bits_are_written_as_digits_on_request() {
    let wanted = ["long long", "unsigned long", "int"];
    let functions = TYPES.iter().filter(|kind| wanted.contains(&kind.c)).flat_map(Type::functions).collect();
    let library = opentool_dyn::DynLibrary::builder()
        .document_text(crate::harness::document(functions).to_string())
        .library(crate::harness::library("types"))
        .isolation(opentool_dyn::Isolation::None)
        .big_integers_as_strings(true)
        .open()
        .unwrap();
    assert_eq!(text(&library, "value_long_long", r#"{"v":"9007199254740993"}"#), r#"{"it":"9007199254740993"}"#);
    assert_eq!(text(&library, "pointer_out_unsigned_long", r#"{"v":7}"#), r#"{"it":"7"}"#);
    assert_eq!(text(&library, "value_int", r#"{"v":7}"#), r#"{"it":7}"#);
}

#[test]
fn characters_are_integers_or_one_character_as_the_schema_says() {
    let characters = here(
        "types",
        vec![
            function("value_char", vec![takes("v", "string", "char")], returns("it", "string", "char")),
            function(
                "value_unsigned_char",
                vec![takes("v", "integer", "unsigned char")],
                returns("it", "integer", "unsigned char"),
            ),
            function(
                "pointer_out_char",
                vec![takes("v", "string", "char"), gives("it", "integer", "char *")],
                Value::Null,
            ),
        ],
    );
    assert_eq!(text(&characters, "value_char", r#"{"v":"x"}"#), r#"{"it":"x"}"#);
    assert_eq!(text(&characters, "value_char", r#"{"v":65}"#), r#"{"it":"A"}"#);
    assert_eq!(text(&characters, "value_char", r#"{"v":"\n"}"#), r#"{"it":"\n"}"#);
    assert_eq!(text(&characters, "value_unsigned_char", r#"{"v":"~"}"#), r#"{"it":126}"#);
    assert_eq!(text(&characters, "pointer_out_char", r#"{"v":"x"}"#), r#"{"it":120}"#);
    for wrong in ["", "xy", "é", "😀"] {
        let error = refused(&characters, "value_char", &json!({ "v": wrong }).to_string());
        assert!(error.message().contains("/v: expected string of one ASCII character"), "{error}");
    }
}

#[test]
fn null_and_absent_arguments_are_null_pointers_where_allowed() {
    let library = all();
    for kind in TYPES {
        let name = format!("is_null_{}", kind.name());
        assert_eq!(text(library, &name, "{}"), r#"{"it":true}"#);
        assert_eq!(text(library, &name, r#"{"v":null}"#), r#"{"it":true}"#);
        assert_eq!(text(library, &name, &format!(r#"{{"v":{}}}"#, kind.values[0])), r#"{"it":false}"#);
    }
}

#[test]
fn an_out_cell_begins_with_zero_or_with_what_the_caller_gives() {
    let library = all();
    assert_eq!(text(library, "in_out_int", "{}"), r#"{"both":1}"#);
    assert_eq!(text(library, "in_out_int", r#"{"both":41}"#), r#"{"both":42}"#);
    assert_eq!(text(library, "in_out_long_long", r#"{"both":9223372036854775806}"#), r#"{"both":9223372036854775807}"#);
    assert_eq!(text(library, "in_out_double", r#"{"both":null}"#), r#"{"both":1.0}"#);
    assert_eq!(text(library, "in_out_bool", "{}"), r#"{"both":true}"#);
}

#[test]
fn narrow_results_are_read_from_the_low_bits_of_a_register() {
    let library = here(
        "types",
        vec![
            function("dirty_char", vec![], returns("it", "integer", "char")),
            function("dirty_bool", vec![], returns("it", "boolean", "bool")),
            function("dirty_short", vec![], returns("it", "integer", "short")),
            function("dirty_unsigned_int", vec![], returns("it", "integer", "unsigned int")),
        ],
    );
    assert_eq!(text(&library, "dirty_char", "{}"), r#"{"it":-128}"#);
    assert_eq!(text(&library, "dirty_bool", "{}"), r#"{"it":true}"#);
    assert_eq!(text(&library, "dirty_short", "{}"), r#"{"it":-32768}"#);
    assert_eq!(text(&library, "dirty_unsigned_int", "{}"), r#"{"it":2147483648}"#);
}

#[test]
fn more_arguments_than_registers_and_arguments_in_any_order() {
    let letters = |count: usize| ('a'..).take(count).map(String::from).collect::<Vec<_>>();
    let integers = letters(10).iter().map(|name| takes(name, "integer", "long long")).collect();
    let doubles = letters(12).iter().map(|name| takes(name, "number", "double")).collect();
    let kinds = [
        "int",
        "double",
        "long",
        "float",
        "char",
        "double",
        "unsigned long long",
        "short",
        "double",
        "float",
        "bool",
        "double",
        "double",
        "double",
        "double",
        "int",
        "long",
        "unsigned char",
    ];
    let mixed = letters(18).into_iter().zip(kinds).map(|(name, c)| {
        let seen = match c {
            "bool" => "boolean",
            "double" | "float" => "number",
            _ => "integer",
        };
        takes(&name, seen, c)
    });
    let library = here(
        "types",
        vec![
            function("add_ten", integers, returns("sum", "integer", "long long")),
            function("sum_twelve", doubles, returns("sum", "number", "double")),
            function("mixed", mixed.collect(), returns("sum", "number", "double")),
            function(
                "subtract",
                vec![takes("minuend", "integer", "int"), takes("subtrahend", "integer", "int")],
                returns("difference", "integer", "int"),
            ),
        ],
    );
    let digits = r#"{"j":9,"i":8,"h":7,"g":6,"f":5,"e":4,"d":3,"c":2,"b":1,"a":0}"#;
    assert_eq!(text(&library, "add_ten", digits), r#"{"sum":9876543210}"#);
    let doubles: Value =
        letters(12).into_iter().map(|name| (name, json!(1.5))).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(call(&library, "sum_twelve", doubles), json!({ "sum": 117.0 }));
    let mut all: serde_json::Map<String, Value> = letters(18).into_iter().map(|name| (name, json!(2))).collect();
    all["k"] = json!(true);
    assert_eq!(call(&library, "mixed", all.into()), json!({ "sum": 35.0 }));
    assert_eq!(text(&library, "subtract", r#"{"subtrahend":1,"minuend":10}"#), r#"{"difference":9}"#);
    assert_eq!(text(&library, "subtract", r#"{"minuend":10,"subtrahend":1}"#), r#"{"difference":9}"#);
}

#[test]
fn what_json_has_no_number_for_is_named() {
    let library = here(
        "types",
        vec![
            function("nan_of", vec![], returns("it", "number", "double")),
            function("nan_of_float", vec![], returns("it", "number", "float")),
            function("infinity_of", vec![takes("negative", "boolean", "int")], returns("it", "number", "double")),
        ],
    );
    assert_eq!(text(&library, "nan_of", "{}"), r#"{"it":"NaN"}"#);
    assert_eq!(text(&library, "nan_of_float", "{}"), r#"{"it":"NaN"}"#);
    assert_eq!(text(&library, "infinity_of", r#"{"negative":false}"#), r#"{"it":"Infinity"}"#);
    assert_eq!(text(&library, "infinity_of", r#"{"negative":true}"#), r#"{"it":"-Infinity"}"#);
}

#[test]
fn the_schema_says_how_an_integer_is_seen() {
    let seen_as = |seen: &str| {
        here("types", vec![function("truth_of", vec![takes("v", seen, "int")], returns("it", seen, "int"))])
    };
    assert_eq!(text(&seen_as("boolean"), "truth_of", r#"{"v":true}"#), r#"{"it":true}"#);
    assert_eq!(text(&seen_as("number"), "truth_of", r#"{"v":7}"#), r#"{"it":7}"#);
    assert_eq!(text(&seen_as("string"), "truth_of", r#"{"v":"-7"}"#), r#"{"it":"-7"}"#);
    assert!(refused(&seen_as("boolean"), "truth_of", r#"{"v":2}"#).message().contains("expected a boolean or 0 or 1"));
}

#[test]
fn a_function_that_gives_nothing_gives_an_empty_object() {
    let library = here("types", vec![function("nothing", vec![], Value::Null)]);
    assert_eq!(text(&library, "nothing", "{}"), "{}");
    assert_eq!(text(&library, "nothing", ""), "{}");
}
