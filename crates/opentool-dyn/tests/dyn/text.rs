//! Text and bytes, in and out.

use serde_json::{Value, json};

use crate::harness::{call, call_text, function, gives, here, may_take, refused, returns, takes, with};

const TEXT: &str = "char *";

#[test]
fn text_goes_in_as_a_copy_that_ends_with_a_nul() {
    let library = here(
        "text",
        vec![
            function("length_of", vec![may_take("text", "string", TEXT)], returns("length", "integer", "long")),
            function("shout", vec![takes("text", "string", TEXT)], returns("changed", "integer", "int")),
        ],
    );
    for (text, length) in [("", 0), ("abc", 3), ("é", 2), ("😀", 4), ("a\"b\\c\n", 6)] {
        assert_eq!(call(&library, "length_of", json!({ "text": text })), json!({ "length": length }), "{text}");
    }
    assert_eq!(call_text(&library, "length_of", r#"{"text":"\ud83d\ude00\u0041"}"#).unwrap(), r#"{"length":5}"#);
    assert_eq!(call_text(&library, "length_of", "{}").unwrap(), r#"{"length":-1}"#);
    let arguments = r#"{"text":"abc"}"#.to_owned();
    assert_eq!(call_text(&library, "shout", &arguments).unwrap(), r#"{"changed":3}"#);
    assert_eq!(call_text(&library, "shout", &arguments).unwrap(), r#"{"changed":3}"#);
}

#[test]
fn a_nul_within_text_is_refused() {
    let library = here(
        "text",
        vec![function("length_of", vec![takes("text", "string", TEXT)], returns("length", "integer", "long"))],
    );
    let error = refused(&library, "length_of", r#"{"text":"a\u0000b"}"#);
    assert_eq!(
        error.message(),
        "invalid arguments: /text: expected text without the character U+0000, which ends a C string, found one at byte 1"
    );
    for wrong in ["1", "true", "[]", "{}"] {
        let error = refused(&library, "length_of", &format!(r#"{{"text":{wrong}}}"#));
        assert!(error.message().contains("/text: expected string, got"), "{error}");
    }
    assert_eq!(call(&library, "length_of", json!({ "text": "next" })), json!({ "length": 4 }));
}

#[test]
fn large_texts_and_arrays_pass() {
    let library = here(
        "text",
        vec![function("length_of", vec![takes("text", "string", TEXT)], returns("length", "integer", "long"))],
    );
    for size in [1 << 20, 100 << 20] {
        let text = "x".repeat(size);
        assert_eq!(
            call_text(&library, "length_of", &format!(r#"{{"text":"{text}"}}"#)).unwrap(),
            format!(r#"{{"length":{size}}}"#)
        );
    }
    let numbers = here(
        "types",
        vec![function(
            "last_of_int",
            vec![
                with(takes("values", "array", "int *"), json!({ "x-lengthParam": "count" })),
                takes("count", "integer", "int"),
            ],
            returns("last", "integer", "int"),
        )],
    );
    let ten_million = "7,".repeat(9_999_999);
    let arguments = format!(r#"{{"values":[{ten_million}8]}}"#);
    assert_eq!(call_text(&numbers, "last_of_int", &arguments).unwrap(), r#"{"last":8}"#);
    let arguments = format!(r#"{{"values":[{ten_million}"8"]}}"#);
    let error = refused(&numbers, "last_of_int", &arguments);
    assert_eq!(error.message(), r#"invalid arguments: /values/9999999: expected integer, got string "8""#);
}

#[test]
fn text_comes_out_of_a_buffer() {
    let sized = |keys| {
        function(
            "greet",
            vec![takes("name", "string", TEXT), with(gives("greeting", "string", TEXT), keys)],
            Value::Null,
        )
    };
    for keys in [json!({}), json!({ "x-size": 64 }), json!({ "x-size": 17 }), json!({ "x-size": 16 << 20 })] {
        let library = here("text", vec![sized(keys)]);
        assert_eq!(call(&library, "greet", json!({ "name": "Åse😀" })), json!({ "greeting": "Hello, Åse😀!" }));
        assert_eq!(call(&library, "greet", json!({ "name": "" })), json!({ "greeting": "Hello, !" }));
    }
}

#[test]
fn the_size_of_a_buffer_is_passed_to_the_function() {
    let repeat = |keys| {
        function(
            "repeat",
            vec![
                takes("letter", "string", "char"),
                takes("count", "integer", "int"),
                with(gives("text", "string", TEXT), keys),
                may_take("size", "integer", "int"),
            ],
            returns("written", "integer", "int"),
        )
    };
    let library = here("text", vec![repeat(json!({ "x-sizeParam": "size", "x-size": 8 }))]);
    let call = |arguments: &str| call_text(&library, "repeat", arguments).unwrap();
    assert_eq!(call(r#"{"letter":"x","count":7}"#), r#"{"written":7,"text":"xxxxxxx"}"#);
    assert_eq!(call(r#"{"letter":"x","count":8}"#), r#"{"written":-1,"text":""}"#);
    assert_eq!(call(r#"{"letter":"x","count":8,"size":9}"#), r#"{"written":8,"text":"xxxxxxxx"}"#);
    // What an earlier call left behind is gone.
    assert_eq!(call(r#"{"letter":"x","count":9}"#), r#"{"written":-1,"text":""}"#);
    let error = refused(&library, "repeat", r#"{"letter":"x","count":1,"size":-1}"#);
    assert!(error.message().contains("/size: expected at most 16777216, since it is the size of \"text\""), "{error}");
    let error = refused(&library, "repeat", r#"{"letter":"x","count":1,"size":16777217}"#);
    assert!(error.message().contains("got 16777217"), "{error}");
    let counted = here("text", vec![repeat(json!({ "x-sizeParam": "size", "x-lengthParam": "written" }))]);
    assert_eq!(call_text(&counted, "repeat", r#"{"letter":"y","count":3}"#).unwrap(), r#"{"written":3,"text":"yyy"}"#);
}

#[test]
fn a_buffer_is_never_smaller_than_its_size_parameter() {
    let counted_size = |keys: Value| {
        let functions = vec![function(
            "size_given",
            vec![with(gives("buffer", "string", "unsigned char *"), keys), gives("size", "integer", "unsigned long *")],
            returns("counted_size", "integer", "unsigned long"),
        )];
        here("text", functions)
    };
    // The size is itself a parameter that goes out, and the caller may say how it begins.
    let library =
        counted_size(json!({ "x-sizeParam": "size", "x-size": 8, "x-encoding": "hex", "x-lengthParam": "size" }));
    let zeroes = |count: usize| json!({ "counted_size": count, "buffer": "00".repeat(count), "size": count });
    assert_eq!(call(&library, "size_given", json!({})), zeroes(8));
    assert_eq!(call(&library, "size_given", json!({ "size": null })), zeroes(8));
    for count in [0, 1, 4095, 4096, 4097] {
        assert_eq!(call(&library, "size_given", json!({ "size": count })), zeroes(count));
    }
    for size in [json!((16 << 20) + 1), json!(u64::MAX), json!("18446744073709551615"), json!(1_u64 << 60)] {
        let error = refused(&library, "size_given", &json!({ "size": size }).to_string());
        assert!(error.message().contains("/size: expected at most 16777216"), "{error}");
    }
    for size in ["-1", "1e300", "340282366920938463463374607431768211455", "1.5"] {
        let error = refused(&library, "size_given", &format!(r#"{{"size":{size}}}"#));
        assert!(error.message().contains("/size: expected"), "{error}");
    }
    // A text has a NUL or it is none, also where there is no room for one.
    let text = counted_size(json!({ "x-sizeParam": "size" }));
    for size in [1, 16 << 20] {
        let empty = json!({ "counted_size": size, "buffer": "", "size": size });
        assert_eq!(call(&text, "size_given", json!({ "size": size })), empty);
    }
    assert!(refused(&text, "size_given", r#"{"size":0}"#).message().contains("without a NUL within its 0 bytes"));
}

#[test]
fn an_array_of_no_stated_size_has_room_for_four_kibibytes() {
    for (c, count) in [("unsigned char *", 4096), ("int *", 1024), ("double *", 512)] {
        let array = with(gives("array", "array", c), json!({ "x-sizeParam": "size", "x-lengthParam": "size" }));
        let parameters = vec![array, gives("size", "integer", "unsigned long *")];
        let size_given = function("size_given", parameters, returns("counted_size", "integer", "unsigned long"));
        let result = call(&here("text", vec![size_given]), "size_given", json!({}));
        assert_eq!((&result["counted_size"], &result["size"]), (&json!(count), &json!(count)), "{c}");
        assert_eq!(result["array"].as_array().unwrap().len(), count, "{c}");
    }
}

/// Copies doubles, with one count for what goes in and what goes out.
fn copying(keys: Value) -> opentool_dyn::DynLibrary {
    let parameters = vec![
        with(takes("from", "array", "double *"), json!({ "x-lengthParam": "count" })),
        takes("count", "integer", "int"),
        with(gives("to", "array", "double *"), keys),
    ];
    here("types", vec![function("copy_double", parameters, Value::Null)])
}

#[test]
fn one_count_for_both_gives_out_buffers_the_input_length() {
    for keys in [json!({ "x-sizeParam": "count" }), json!({ "x-sizeParam": "count", "x-size": 3 })] {
        let library = copying(keys);
        for count in [0, 3, 512, 513] {
            let from: Vec<f64> = (0..count).map(f64::from).collect();
            let to: Vec<f64> = (0..count).rev().map(f64::from).collect();
            assert_eq!(call(&library, "copy_double", json!({ "from": from })), json!({ "to": to }), "{count}");
        }
    }
}

#[test]
fn inputs_with_a_shared_count_are_refused_beyond_the_limit() {
    let library = copying(json!({ "x-sizeParam": "count" }));
    let many = format!("[{}0]", "0,".repeat(2 << 20));
    let error = refused(&library, "copy_double", &format!(r#"{{"from":{many}}}"#));
    let expected = "/count: expected at most 2097152, since it is the size of \"to\", got 2097153";
    assert!(error.message().contains(expected), "{error}");
}

fn counted(encoding: &str) -> opentool_dyn::DynLibrary {
    let bytes = "unsigned char *";
    let from = with(takes("from", "string", bytes), json!({ "x-lengthParam": "length", "x-encoding": encoding }));
    let to = json!({ "x-size": 32, "x-lengthParam": "written", "x-encoding": encoding });
    here(
        "text",
        vec![function(
            "counted",
            vec![
                from,
                takes("length", "integer", "unsigned long"),
                with(gives("to", "string", bytes), to),
                gives("written", "integer", "unsigned long *"),
            ],
            Value::Null,
        )],
    )
}

#[test]
fn bytes_pass_in_every_encoding() {
    for (encoding, from, to) in [
        ("base64", "AAECAw==", "AwIBAA=="),
        ("hex", "00ff10", "10ff00"),
        ("latin1", "é\u{0}b", "b\u{0}é"),
        ("utf8", "a\u{0}b", "b\u{0}a"),
    ] {
        let library = counted(encoding);
        let length = if encoding == "base64" { 4 } else { 3 };
        assert_eq!(call(&library, "counted", json!({ "from": from })), json!({ "to": to, "written": length }));
    }
    for (encoding, wrong, said) in [
        ("base64", "A", "expected bytes in base64"),
        ("hex", "0", "expected bytes in pairs of hexadecimal digits"),
        ("latin1", "€", "characters up to U+00FF"),
    ] {
        let error = refused(&counted(encoding), "counted", &json!({ "from": wrong }).to_string());
        assert!(error.message().contains(said), "{error}");
    }
}

#[test]
fn a_length_from_the_caller_is_at_most_the_real_one() {
    let library = counted("hex");
    assert_eq!(call(&library, "counted", json!({ "from": "0102", "length": 1 })), json!({ "to": "01", "written": 1 }));
    let error = refused(&library, "counted", r#"{"from":"0102","length":3}"#);
    assert_eq!(error.message(), r#"invalid arguments: /length: expected at most 2, the length of "from", got 3"#);
}

#[test]
fn a_buffer_without_an_end_is_an_error_and_the_next_call_works() {
    let library = here(
        "text",
        vec![
            function("unterminated", vec![with(gives("text", "string", TEXT), json!({ "x-size": 16 }))], Value::Null),
            function(
                "overlong",
                vec![
                    with(gives("text", "string", TEXT), json!({ "x-size": 16, "x-lengthParam": "length" })),
                    gives("length", "integer", "int *"),
                ],
                Value::Null,
            ),
            with(
                function(
                    "nothing_negative",
                    vec![
                        with(gives("text", "string", TEXT), json!({ "x-size": 16, "x-lengthParam": "length" })),
                        gives("length", "integer", "int *"),
                    ],
                    Value::Null,
                ),
                json!({ "x-symbol": "negative" }),
            ),
            function("constant", vec![], returns("text", "string", TEXT)),
        ],
    );
    let error = refused(&library, "unterminated", "{}");
    assert_eq!(error.kind(), opentool_core::ErrorKind::InvalidResult);
    assert!(error.message().starts_with("`unterminated` left `text` without a NUL within its 16 bytes"), "{error}");
    let error = refused(&library, "overlong", "{}");
    assert_eq!(error.message(), "`overlong` says that `text` has 17 elements: 0 to 16 are possible");
    let error = refused(&library, "nothing_negative", "{}");
    assert_eq!(error.message(), "`nothing_negative` says that `text` has -1 elements: 0 to 16 are possible");
    assert_eq!(call(&library, "constant", json!({})), json!({ "text": "constant" }));
}

#[test]
fn what_is_returned_is_copied_and_null_is_null() {
    let library = here(
        "text",
        vec![
            function("constant", vec![], returns("text", "string", TEXT)),
            function("no_text", vec![], returns("text", "string", TEXT)),
            function("unsigned_text", vec![], returns("text", "string", "unsigned char *")),
            function("static_value", vec![takes("v", "integer", "int")], returns("it", "integer", "int *")),
            function("no_value", vec![], returns("it", "integer", "int *")),
            function(
                "table",
                vec![gives("count", "integer", "int *")],
                with(returns("values", "array", "double *"), json!({ "x-lengthParam": "count" })),
            ),
        ],
    );
    assert_eq!(call(&library, "constant", json!({})), json!({ "text": "constant" }));
    assert_eq!(call(&library, "no_text", json!({})), json!({ "text": null }));
    assert_eq!(call(&library, "unsigned_text", json!({})), json!({ "text": "unsigned" }));
    assert_eq!(call(&library, "static_value", json!({ "v": -5 })), json!({ "it": -5 }));
    assert_eq!(call(&library, "no_value", json!({})), json!({ "it": null }));
    assert_eq!(call(&library, "table", json!({})), json!({ "values": [1.5, 2.5, 3.5], "count": 3 }));
}

#[test]
fn text_that_is_not_utf8_is_an_error_unless_the_document_says_what_it_is() {
    let plain = here("text", vec![function("latin1", vec![], returns("text", "string", TEXT))]);
    let error = refused(&plain, "latin1", "{}");
    assert_eq!(error.kind(), opentool_core::ErrorKind::InvalidResult);
    assert!(
        error.message().starts_with("`latin1`: `text` is not UTF-8: byte 3 is 0xe9; say in the document"),
        "{error}"
    );
    let returned = with(returns("text", "string", TEXT), json!({ "x-encoding": "latin1" }));
    let counted_size = here("text", vec![function("latin1", vec![], returned)]);
    assert_eq!(call(&counted_size, "latin1", json!({})), json!({ "text": "café" }));
}

#[test]
fn a_returned_text_of_more_than_one_mebibyte_is_an_error() {
    let library = here("text", vec![function("endless", vec![], returns("text", "string", TEXT))]);
    let error = refused(&library, "endless", "{}");
    assert_eq!(error.kind(), opentool_core::ErrorKind::InvalidResult);
    assert!(error.message().contains("`text` is longer than the 1048576 bytes that a result may have"), "{error}");
}

#[test]
fn returned_memory_is_freed_only_as_the_document_says() {
    let functions = |keys| {
        vec![
            function("duplicate", vec![takes("text", "string", TEXT)], with(returns("copy", "string", TEXT), keys)),
            function("count_live", vec![], returns("live", "integer", "int")),
        ]
    };
    let freeing = here("text", functions(json!({ "x-free": "release" })));
    let before = call(&freeing, "count_live", json!({}));
    for _ in 0..10 {
        assert_eq!(call(&freeing, "duplicate", json!({ "text": "x" })), json!({ "copy": "x" }));
    }
    assert_eq!(call(&freeing, "count_live", json!({})), before);
    let keeping = here("text", functions(json!({})));
    call(&keeping, "duplicate", json!({ "text": "x" }));
    assert_ne!(call(&keeping, "count_live", json!({})), before);
}

#[test]
fn what_frees_is_a_function_and_none_that_controls_processes() {
    let freeing = |free: &str| {
        let returned = with(returns("copy", "string", TEXT), json!({ "x-free": free }));
        let functions = vec![
            function("duplicate", vec![takes("text", "string", TEXT)], returned),
            function("count_live", vec![], returns("live", "integer", "int")),
        ];
        let opened = crate::harness::open_here(&crate::harness::document(functions), &crate::harness::library("text"));
        let opened = opened.unwrap();
        let reasons: Vec<_> = opened.disabled().map(|(name, reason)| format!("{name}: {reason}")).collect();
        reasons.concat()
    };
    assert_eq!(freeing("free"), "");
    for free in ["system", "exit", "dlopen"] {
        assert!(freeing(free).starts_with(&format!("duplicate: `{free}` controls processes")), "{}", freeing(free));
    }
    assert_eq!(
        freeing("some_data"),
        "duplicate: `x-free` names `some_data`, which is data of the library, not a function"
    );
}

#[test]
fn a_wild_pointer_fails_one_call_and_the_next_call_works() {
    let functions = vec![
        function("wild_pointer", vec![], returns("text", "string", TEXT)),
        function("constant", vec![], returns("text", "string", TEXT)),
        function("latin1", vec![], returns("text", "string", TEXT)),
    ];
    let isolated = opentool_dyn::DynLibrary::builder()
        .document_text(crate::harness::document(functions).to_string())
        .library(crate::harness::library("text"))
        .worker(env!("CARGO_BIN_EXE_opentool-dyn-worker"))
        .open()
        .unwrap();
    let error = refused(&isolated, "wild_pointer", "{}");
    assert!(error.message().contains("wild_pointer") && error.message().contains("SIGSEGV"), "{error}");
    assert_eq!(call(&isolated, "constant", json!({})), json!({ "text": "constant" }));
    assert!(refused(&isolated, "latin1", "{}").message().contains("is not UTF-8"));
}
