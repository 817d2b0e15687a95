//! Documents: published ones, broken ones, and hostile ones.

use std::time::Instant;

use opentool_dyn::{DynLibrary, Isolation, OpenError};
use opentool_spec::Code;
use serde_json::{Value, json};

use crate::harness::{call, call_text, document, function, gives, library, open_here, returns, schema, takes, with};

fn open_text(text: &str, name: &str) -> Result<DynLibrary, OpenError> {
    DynLibrary::builder().document_text(text).library(library(name)).isolation(Isolation::None).open()
}

fn open_error(text: &str) -> String {
    open_text(text, "types").expect_err(text).to_string()
}

/// The reason why the only wrong function of a document cannot be called, and that the other one can.
fn disabled(wrong: Value) -> String {
    let right = function(
        "subtract",
        vec![takes("minuend", "integer", "int"), takes("subtrahend", "integer", "int")],
        returns("it", "integer", "int"),
    );
    let opened = open_here(&document(vec![wrong, right]), &library("types")).unwrap();
    let reasons: Vec<_> = opened.disabled().map(|(_, reason)| reason.to_owned()).collect();
    assert_eq!(reasons.len(), 1);
    assert_eq!(call(&opened, "subtract", json!({ "minuend": 3, "subtrahend": 1 })), json!({ "it": 2 }));
    reasons.into_iter().next().unwrap()
}

fn codes(library: &DynLibrary) -> Vec<Code> {
    let mut codes: Vec<_> = library.report().findings.iter().map(|finding| finding.code).collect();
    codes.dedup();
    codes
}

#[test]
fn published_documents_load_with_warnings_and_work() {
    let text = r##"{
        "opendyn": "1.0.0",
        "info": { "title": "math", "version": "1.0.0" },
        "functions": [
            { "name": "mul", "description": "Multiply.", "x-symbol": "wild_multiply", "parameters": [
                { "name": "a", "schema": { "type": "double", "cType": { "type": "float", "isIn": true, "isPointer": false } } },
                { "name": "b", "schema": { "type": "float", "cType": { "type": "float", "isIn": true, "isPointer": false } } } ],
              "return": { "name": "product", "schema": { "type": "double", "cType": { "type": "float", "isPointer": false } } } },
            { "name": "swap", "description": "Swap.", "x-symbol": "wild_swap", "parameters": [
                { "name": "a", "schema": { "type": "int", "cType": { "type": "int", "isIn": false, "isPointer": true } }, "required": false },
                { "name": "b", "schema": { "type": "int", "cType": { "type": "int *", "isIn": false } }, "required": false } ],
              "return": null },
            { "name": "square", "description": "Square.", "x-symbol": "wild_square", "parameters": [
                { "name": "v", "schema": { "type": "integer", "cType": { "type": "int32_t", "isPointer": false } }, "isIn": true } ],
              "return": { "name": "it", "schema": { "type": "integer", "cType": { "type": "int", "isPointer": true } } } },
            { "name": "add", "description": "Add.", "x-symbol": "wild_add", "parameters": [
                { "name": "a", "schema": { "type": "integer" }, "isIn": true, "required": true },
                { "name": "b", "schema": { "$ref": "#/schemas/Int" }, "isIn": true, "required": true } ],
              "return": { "name": "sum", "schema": { "$ref": "#/schemas/Alias" } } } ],
        "schemas": { "Int": { "type": "integer", "cType": { "type": "int", "isPointer": false } }, "Alias": { "$ref": "#/schemas/Int" } },
        "code": { "0": "Success", "-1": "Error" }
    }"##;
    let library = open_text(text, "published").unwrap();
    assert_eq!(library.disabled().collect::<Vec<_>>(), []);
    let found = codes(&library);
    for code in [Code::NoCallingConvention, Code::IsInInsideCType, Code::TypeAlias, Code::NoRequired, Code::CSpelling] {
        assert!(found.contains(&code), "{code} is not among {found:?}");
    }
    assert_eq!(call_text(&library, "mul", r#"{"a":1.1,"b":2.2}"#).unwrap(), r#"{"product":2.42}"#);
    assert_eq!(call_text(&library, "swap", r#"{"a":1,"b":2}"#).unwrap(), r#"{"a":2,"b":1}"#);
    assert_eq!(call_text(&library, "square", r#"{"v":12}"#).unwrap(), r#"{"it":144}"#);
    assert_eq!(call_text(&library, "square", r#"{"v":-3}"#).unwrap(), r#"{"it":9}"#);
    // A code that means "Success" is no error, and a sum is no code.
    assert_eq!(call_text(&library, "add", r#"{"a":-1,"b":1}"#).unwrap(), r#"{"sum":0}"#);
    assert_eq!(call_text(&library, "add", r#"{"a":-1,"b":0}"#).unwrap(), r#"{"sum":-1}"#);
}

#[test]
fn what_is_no_document_is_refused() {
    let good = document(vec![function("nothing", vec![], Value::Null)]).to_string();
    assert!(open_error("").contains("OT001"));
    assert!(open_error("not JSON").contains("OT001"));
    assert!(open_error(&good[..good.len() / 2]).contains("OT001"));
    assert!(open_error("[]").contains("OT003"));
    assert!(open_error(&format!("{}{}", "[".repeat(200), "]".repeat(200))).contains("OT002"));
    assert!(
        open_error(r#"{"opentool":"1.1.0","info":{"title":"T","version":"1"},"functions":[]}"#).contains("OpenDyn")
    );
    let missing = json!({ "opendyn": "1.0.0", "info": { "title": "T", "version": "1", "callingConvention": "cdecl" } });
    assert!(open_error(&missing.to_string()).contains("OT010"), "{}", open_error(&missing.to_string()));
    assert_eq!(open_error(&document(vec![]).to_string()), "no function of the document can be called: it has none");
    open_text(&format!("\u{feff}{good}"), "types").unwrap();
    let deep = with(serde_json::from_str(&good).unwrap(), json!({ "x-deep": null })).to_string();
    let deep = deep.replace(r#""x-deep":null"#, &format!(r#""x-deep":{}{}"#, "[".repeat(200), "]".repeat(200)));
    assert!(open_error(&deep).contains("OT002"));
}

#[test]
fn a_file_that_is_missing_or_no_text_is_named() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let open = |path: &std::path::Path| DynLibrary::open(path, library("types")).unwrap_err().to_string();
    assert!(open(&path.join("no.json")).contains("no.json: No such file"));
    assert!(open(path).contains("Is a directory"));
    let binary = path.join(format!("binary-{}.json", std::process::id()));
    std::fs::write(&binary, b"{\"opendyn\": \"\xff\"}").unwrap();
    assert!(open(&binary).contains("is not UTF-8"));
    std::fs::remove_file(binary).unwrap();
}

#[test]
fn conventions_are_two() {
    let convention = |name: &str| {
        let mut document = document(vec![function("nothing", vec![], Value::Null)]);
        document["info"]["callingConvention"] = json!(name);
        open_here(&document, &library("types"))
    };
    call(&convention("stdcall").unwrap(), "nothing", json!({}));
    let unknown = convention("fastcall").unwrap_err().to_string();
    assert!(unknown.contains("`fastcall` is not a calling convention"), "{unknown}");
}

#[test]
fn references_are_followed_and_dangling_ones_disable_functions() {
    let referring = |reference: &str| {
        let parameter = json!({ "name": "v", "schema": { "$ref": reference }, "isIn": true, "required": true });
        function("value_int", vec![parameter], returns("it", "integer", "int"))
    };
    let mut schemas: serde_json::Map<String, Value> =
        (0..50).map(|n| (format!("S{n}"), json!({ "$ref": format!("#/schemas/S{}", n + 1) }))).collect();
    schemas.insert("S50".to_owned(), schema("integer", "int"));
    schemas.insert("One".to_owned(), json!({ "$ref": "#/schemas/Two" }));
    schemas.insert("Two".to_owned(), json!({ "$ref": "#/schemas/One" }));
    schemas.insert("Odd".to_owned(), schema("integer", "quaternion"));
    let open = |reference: &str| {
        let functions = vec![referring(reference), function("nothing", vec![], Value::Null)];
        open_here(&with(document(functions), json!({ "schemas": schemas })), &library("types")).unwrap()
    };
    assert_eq!(call(&open("#/schemas/S0"), "value_int", json!({ "v": 7 })), json!({ "it": 7 }));
    for (reference, reason) in [
        ("#/schemas/One", "`#/schemas/One`"),
        ("#/schemas/None", "`#/schemas/None`"),
        ("other.json#/schemas/S0", "other.json"),
        ("#/schemas/Odd", "`quaternion`"),
    ] {
        let opened = open(reference);
        let disabled: Vec<_> = opened.disabled().collect();
        assert!(disabled.len() == 1 && disabled[0].1.contains(reason), "{disabled:?}");
        assert_eq!(call(&opened, "nothing", json!({})), json!({}));
    }
}

#[test]
fn names_are_unique() {
    let twice = document(vec![function("nothing", vec![], Value::Null), function("nothing", vec![], Value::Null)]);
    assert!(open_error(&twice.to_string()).contains("OT021"));
    let parameters = vec![takes("v", "integer", "int"), takes("v", "integer", "int")];
    assert!(disabled(function("value_int", parameters, Value::Null)).contains('v'));
    let clash = function(
        "pointer_out_int",
        vec![takes("v", "integer", "int"), gives("it", "integer", "int *")],
        returns("it", "integer", "int"),
    );
    assert!(disabled(clash).contains("`it`"));
}

#[test]
fn types_that_c_cannot_take_disable_their_function() {
    let with_type = |seen: &str, c: &str| function("value_int", vec![takes("v", seen, c)], Value::Null);
    for (seen, c, reason) in [
        ("number", "long double", "`long double`"),
        ("object", "struct point", "struct"),
        ("string", "void (*)(int)", "function pointer"),
        ("string", "char **", "pointer to a pointer"),
        ("string", "void *", "raw address"),
        ("integer", "void", "cannot be `void`"),
        ("array", "int", "pointer to its elements"),
        ("string", "int *", "a string is passed as `char *`"),
        ("boolean", "double", "a boolean is not passed as `double`"),
    ] {
        let mut function = with_type(seen, c);
        if c.contains("(*)") || c.contains("**") {
            function["parameters"][0]["schema"]["cType"] = json!({ "type": c, "isPointer": false });
        }
        let reason_given = disabled(function);
        assert!(reason_given.contains(reason), "{c}: {reason_given}");
    }
    let out_by_value =
        function("value_int", vec![with(takes("v", "integer", "int"), json!({ "isIn": false }))], Value::Null);
    assert!(disabled(out_by_value).contains("pointer to write through"));
    let unsized_array = function("copy_int", vec![gives("to", "array", "int *")], Value::Null);
    assert!(disabled(unsized_array).contains("`x-size`, `maxItems` or `x-sizeParam`"));
}

#[test]
fn keys_with_wrong_values_disable_their_function() {
    let text = || gives("t", "string", "char *");
    for (wrong, reason) in [
        (function("nothing", vec![with(text(), json!({ "x-size": 0 }))], Value::Null), "`x-size` must be an integer"),
        (function("nothing", vec![with(text(), json!({ "x-size": 16777217 }))], Value::Null), "16777216"),
        (
            function("nothing", vec![with(text(), json!({ "x-sizeParam": "size" }))], Value::Null),
            "`x-sizeParam` must be the name of a parameter",
        ),
        (
            function("nothing", vec![with(text(), json!({ "x-encoding": "utf16" }))], Value::Null),
            "utf8, latin1, base64, hex",
        ),
        (function("nothing", vec![with(text(), json!({ "x-handle": 1 }))], Value::Null), "`x-handle` must be a name"),
        (
            function("nothing", vec![with(takes("t", "string", "char *"), json!({ "x-closes": true }))], Value::Null),
            "`x-closes` needs `x-handle`",
        ),
        (
            function("nothing", vec![with(takes("t", "integer", "int"), json!({ "x-handle": "h" }))], Value::Null),
            "`x-handle` needs a pointer",
        ),
        (
            with(function("nothing", vec![], Value::Null), json!({ "x-returnsCode": "yes" })),
            "true, false or a list of integers",
        ),
        (
            with(function("nothing", vec![], Value::Null), json!({ "x-returnsCode": true })),
            "needs an integer as the return value",
        ),
        (with(function("nothing", vec![], Value::Null), json!({ "x-effect": "none" })), "read, write, destructive"),
        (with(function("nothing", vec![], Value::Null), json!({ "x-fixedArgs": 1 })), "`x-fixedArgs`"),
        (
            function(
                "nothing",
                vec![with(takes("it", "string", "void *"), json!({ "x-handle": "it", "x-indirect": true }))],
                Value::Null,
            ),
            "`x-indirect` of a handle that goes in needs `x-closes`",
        ),
        (with(function("nothing", vec![], Value::Null), json!({ "x-free": "free" })), "`x-free` needs a pointer"),
        (with(function("nothing", vec![], returns("errno", "integer", "int")), json!({ "x-errno": true })), "`errno`"),
        (function("nothing", vec![takes("...", "integer", "int")], Value::Null), "variadic"),
    ] {
        let reason_given = disabled(wrong.clone());
        assert!(reason_given.contains(reason), "{wrong}: {reason_given}");
    }
    let whole = with(document(vec![function("nothing", vec![], Value::Null)]), json!({ "x-threadSafe": "yes" }));
    assert!(open_error(&whole.to_string()).contains("`x-threadSafe` must be true or false"));
}

#[test]
fn keys_without_what_they_belong_to_disable_their_function() {
    let number = |keys| function("nothing", vec![with(takes("t", "integer", "int"), keys)], Value::Null);
    let handle = |keys| with(gives("t", "string", "void *"), with(json!({ "x-handle": "h" }), keys));
    for (wrong, reason) in [
        (number(json!({ "x-byValue": true })), "`x-byValue` needs a struct that goes in"),
        (number(json!({ "x-offset": 4 })), "`x-offset` needs `x-field`"),
        (number(json!({ "x-lengthField": {} })), "`x-lengthField` needs `x-field`"),
        (number(json!({ "x-when": {} })), "`x-when` needs `x-field`"),
        (number(json!({ "x-parent": "t" })), "`x-parent` needs a handle that the function makes"),
        (number(json!({ "x-free": "free" })), "`x-free` needs a pointer that the function sets"),
        (function("nothing", vec![handle(json!({ "x-close": "close" }))], Value::Null), "`x-close` needs `x-parent`"),
    ] {
        let reason_given = disabled(wrong.clone());
        assert!(reason_given.contains(reason), "{wrong}: {reason_given}");
    }
    let allowed = number(json!({ "x-byValue": false, "x-free": null }));
    let opened = open_here(&document(vec![allowed]), &library("types")).unwrap();
    assert_eq!(opened.disabled().collect::<Vec<_>>(), [], "what is false or null is not there");
}

#[test]
fn what_a_callback_cannot_have_disables_its_function() {
    let list = |name: &str, keys: Value| {
        let list = json!({ "name": name, "schema": schema("array", "void *"), "isIn": false, "required": false });
        with(list, keys)
    };
    let taking = |count: usize| {
        let argument = |index: usize| json!({ "name": format!("a{index}"), "cType": schema("string", "int")["cType"] });
        let arguments: Vec<_> = (0..count).map(argument).collect();
        let keys = json!({ "x-callback": { "parameters": arguments } });
        function("nothing", vec![list("called", keys)], Value::Null)
    };
    assert_eq!(disabled(taking(33)), "parameter `called`: a callback has at most 32 parameters");
    let opened = open_here(&document(vec![taking(32)]), &library("types")).unwrap();
    assert_eq!(opened.disabled().collect::<Vec<_>>(), []);

    let events = list("events", json!({ "x-events": "count" }));
    let reason = disabled(function("nothing", vec![takes("count", "integer", "int"), events], Value::Null));
    assert!(reason.ends_with("`x-events` names `count`, which is no handle that goes in"), "{reason}");
}

#[test]
fn keys_of_a_schema_are_checked_like_those_of_a_parameter() {
    let of_schema = |keys: Value| {
        let mut parameter = takes("t", "string", "void *");
        parameter["schema"] = with(parameter["schema"].clone(), keys);
        function("nothing", vec![parameter], Value::Null)
    };
    for name in ["", "a\0b"] {
        let reason = disabled(of_schema(json!({ "x-handle": name })));
        assert!(reason.contains("`x-handle` must be a name"), "{name:?}: {reason}");
    }
}

#[test]
fn what_must_be_an_integer_is_neither_a_float_nor_a_boolean() {
    for c in ["double", "bool"] {
        let seen = if c == "bool" { "boolean" } else { "number" };
        let code = with(function("nothing", vec![], returns("code", seen, c)), json!({ "x-returnsCode": true }));
        let reason = disabled(code);
        assert!(reason.contains("`x-returnsCode` needs an integer as the return value"), "{c}: {reason}");
        let text = with(takes("text", "string", "char *"), json!({ "x-lengthParam": "length" }));
        let reason = disabled(function("nothing", vec![text, takes("length", seen, c)], Value::Null));
        assert!(reason.contains("`x-lengthParam` names `length`, which is no integer"), "{c}: {reason}");
        let reason = disabled(function("nothing", vec![takes("t", "string", c)], Value::Null));
        assert!(reason.contains(&format!("a string is not passed as `{c}`")), "{reason}");
    }
}

#[test]
fn ten_thousand_functions_open_and_answer() {
    let functions = (0..10_000).map(|n| {
        let parameters = vec![takes("minuend", "integer", "int"), takes("subtrahend", "integer", "int")];
        with(function(&format!("f{n}"), parameters, returns("it", "integer", "int")), json!({ "x-symbol": "subtract" }))
    });
    let started = Instant::now();
    let library = open_here(&document(functions.collect()), &library("types")).unwrap();
    println!("opened in {:?}", started.elapsed());
    assert_eq!(library.toolbox().len(), 10_000);
    assert_eq!(call(&library, "f9999", json!({ "minuend": 3, "subtrahend": 1 })), json!({ "it": 2 }));
}

#[test]
fn a_tool_publishes_optional_arguments_and_its_results() {
    let functions = vec![
        function(
            "copy_int",
            vec![
                with(takes("from", "array", "int *"), json!({ "x-lengthParam": "count" })),
                takes("count", "integer", "int"),
                with(gives("to", "array", "int *"), json!({ "x-sizeParam": "count" })),
            ],
            returns("copied", "integer", "int"),
        ),
        function("value_double", vec![takes("v", "number", "double")], returns("it", "number", "double")),
    ];
    let library = open_here(&document(functions), &library("types")).unwrap();
    let definition = library.toolbox().get("copy_int").unwrap().definition();
    assert_eq!(definition.input_schema()["required"], json!(["from"]));
    assert_eq!(definition.input_schema()["properties"]["from"]["items"], json!({ "type": "integer" }));
    assert!(definition.input_schema()["properties"].get("to").is_none());
    let results = definition.output_schema().unwrap();
    assert_eq!(results["properties"]["to"]["type"], "array");
    assert_eq!(results["required"], json!(["copied", "to"]));
    let single = library.toolbox().get("value_double").unwrap().definition().output_schema().unwrap().clone();
    assert_eq!(single["properties"]["it"]["type"], "number");
}
