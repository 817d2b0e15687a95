//! Codes, `errno`, variadic functions, symbols, effects, initialisation: what the keys of a document do.

use opentool_core::{ErrorKind, Executor, ToolCall, ToolContext, Turn};
use opentool_dyn::DynLibrary;
use serde_json::{Value, json};

use crate::harness::{
    call, call_text, document, function, gives, here, library, open_here, refused, returns, takes, with,
};

fn coded(keys: Value) -> DynLibrary {
    let status = function("status", vec![takes("code", "integer", "int")], returns("status", "integer", "int"));
    let with_text = function(
        "status_with_text",
        vec![takes("code", "integer", "int"), gives("text", "string", "char *")],
        returns("status", "integer", "int"),
    );
    let functions = vec![with(status, keys.clone()), with(with_text, keys)];
    let codes = json!({ "code": { "0": "Success", "5": "Busy", "-3": "Gone", "100": "Row" } });
    open_here(&with(document(functions), codes), &library("text")).unwrap()
}

#[test]
fn a_code_is_no_error_unless_the_document_says_so() {
    let library = coded(json!({}));
    assert_eq!(call(&library, "status", json!({ "code": 5 })), json!({ "status": 5 }));
    assert_eq!(call(&library, "status", json!({ "code": 0 })), json!({ "status": 0 }));
}

#[test]
fn a_returned_code_other_than_zero_is_an_error_with_its_text() {
    let library = coded(json!({ "x-returnsCode": true }));
    assert_eq!(call(&library, "status", json!({ "code": 0 })), json!({ "status": 0 }));
    let error = refused(&library, "status", r#"{"code":5}"#);
    assert_eq!((error.kind(), error.code()), (ErrorKind::Failed, Some(5)));
    assert_eq!(error.message(), "`status` returned 5: Busy");
    assert_eq!(error.data().unwrap(), &json!({ "code": 5, "text": "Busy", "result": { "status": 5 } }));
    assert_eq!(refused(&library, "status", r#"{"code":-3}"#).message(), "`status` returned -3: Gone");
    assert_eq!(refused(&library, "status", r#"{"code":17}"#).message(), "`status` returned 17");
    let error = refused(&library, "status_with_text", r#"{"code":5}"#);
    assert_eq!(error.data().unwrap()["result"], json!({ "status": 5, "text": "details of 5" }));
}

#[test]
fn only_codes_that_are_listed_are_no_error() {
    let library = coded(json!({ "x-returnsCode": [0, 100, 101] }));
    for code in [0, 100, 101] {
        assert_eq!(call(&library, "status", json!({ "code": code })), json!({ "status": code }));
    }
    assert_eq!(refused(&library, "status", r#"{"code":5}"#).message(), "`status` returned 5: Busy");
}

#[test]
fn codes_are_in_the_description_and_their_meaning_in_an_event() {
    let library = coded(json!({}));
    let description = library.toolbox().get("status").unwrap().definition().description().to_owned();
    assert!(description.ends_with("Codes:\n0: Success\n5: Busy\n-3: Gone\n100: Row"), "{description}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = runtime.block_on(async {
        use futures_util::StreamExt as _;
        let (executor, context, mut turn) = (Executor::new(), ToolContext::new(), Turn::new());
        let calls = vec![ToolCall::new("1", "status", r#"{"code":5}"#)];
        let events = executor.run(library.toolbox(), calls, &mut turn, &context);
        events.map(|event| format!("{event:?}")).collect::<Vec<_>>().await.join("\n")
    });
    assert!(events.contains("Busy"), "{events}");
}

#[test]
fn errno_is_reported_on_request() {
    let fail = |keys| {
        let returned = returns("it", "integer", "int");
        with(function("fail_with", vec![takes("error", "integer", "int")], returned), keys)
    };
    let library = here("text", vec![fail(json!({ "x-errno": true }))]);
    assert_eq!(call(&library, "fail_with", json!({ "error": 2 })), json!({ "it": -1, "errno": 2 }));
    assert_eq!(call(&library, "fail_with", json!({ "error": 0 })), json!({ "it": 0, "errno": 0 }));
    let strict = here("text", vec![fail(json!({ "x-errno": true, "x-returnsCode": true }))]);
    let error = refused(&strict, "fail_with", r#"{"error":2}"#);
    assert!(error.message().starts_with("`fail_with` returned -1 (No such file or directory"), "{error}");
}

#[test]
fn variadic_functions_are_called_with_fixed_arguments_named() {
    let number = |name: &str| takes(name, "number", "double");
    let integer = |name: &str| takes(name, "integer", "int");
    let fixed = json!({ "x-fixedArgs": 1 });
    let library = here(
        "text",
        vec![
            with(
                function(
                    "sum_of",
                    vec![integer("count"), integer("a"), integer("b")],
                    returns("sum", "integer", "int"),
                ),
                fixed.clone(),
            ),
            with(
                function(
                    "average_of",
                    vec![integer("count"), number("a"), number("b")],
                    returns("it", "number", "double"),
                ),
                fixed.clone(),
            ),
        ],
    );
    assert_eq!(call(&library, "sum_of", json!({ "count": 2, "a": 40, "b": 2 })), json!({ "sum": 42 }));
    assert_eq!(call(&library, "average_of", json!({ "count": 2, "a": 1.5, "b": 2.5 })), json!({ "it": 2.0 }));
    let widened = |seen: &str, c: &str| {
        let parameters = vec![integer("count"), takes("a", seen, c)];
        let functions = vec![
            with(function("sum_of", parameters, returns("sum", "integer", "int")), fixed.clone()),
            function("status", vec![], Value::Null),
        ];
        let opened = open_here(&document(functions), &self::library("text")).unwrap();
        opened.disabled().map(|(_, reason)| reason.to_owned()).next().unwrap()
    };
    assert_eq!(widened("number", "float"), "parameter `a`: C passes a `float` after the fixed parameters as `double`");
    assert_eq!(widened("integer", "short"), "parameter `a`: C passes a `short` after the fixed parameters as `int`");
}

#[test]
fn a_tool_may_have_another_name_than_its_symbol() {
    let add = function("counter-add", vec![takes("code", "integer", "int")], returns("status", "integer", "int"));
    let library = here("text", vec![with(add, json!({ "x-symbol": "status" }))]);
    assert_eq!(call(&library, "counter-add", json!({ "code": 7 })), json!({ "status": 7 }));
}

#[test]
fn effects_are_in_the_metadata() {
    let effect = |name: &str, effect: &str| {
        with(function(name, vec![], Value::Null), json!({ "x-symbol": "count_live", "x-effect": effect }))
    };
    let repeatable = with(effect("i", "write"), json!({ "x-idempotent": true }));
    let library = here("text", vec![effect("r", "read"), effect("w", "write"), effect("d", "destructive"), repeatable]);
    let repeats = |name: &str| library.toolbox().get(name).unwrap().metadata().idempotent();
    assert_eq!(["r", "w", "d", "i"].map(repeats), [None, None, None, Some(true)]);
    let facts = |name: &str| {
        let metadata = library.toolbox().get(name).unwrap().metadata();
        (metadata.is_read_only(), metadata.is_destructive(), metadata.checks_own_arguments())
    };
    assert_eq!(facts("r"), (true, false, true));
    assert_eq!(facts("w"), (false, false, true));
    assert_eq!(facts("d"), (false, true, true));
}

#[test]
fn what_the_document_names_runs_first() {
    let functions = vec![
        function("initialisations", vec![], returns("count", "integer", "int")),
        with(
            function("fail_to_initialise", vec![], returns("code", "integer", "int")),
            json!({ "x-returnsCode": true }),
        ),
    ];
    let open = |init: &str| open_here(&with(document(functions.clone()), json!({ "x-init": init })), &library("text"));
    let initialised = open("initialise").unwrap();
    assert_ne!(call(&initialised, "initialisations", json!({})), json!({ "count": 0 }));
    let failed = open("fail_to_initialise").unwrap_err().to_string();
    assert!(failed.ends_with("`x-init` failed: `fail_to_initialise` returned 3"), "{failed}");
    let missing = open("initialize").unwrap_err().to_string();
    assert!(missing.ends_with("`x-init` names `initialize`, which it does not have"), "{missing}");
    // Data, and what only another library has: were they called, this test would end here.
    for foreign in ["some_data", "abort"] {
        let refused = open(foreign).unwrap_err().to_string();
        assert!(refused.ends_with(&format!("`x-init` names `{foreign}`, which it does not have")), "{refused}");
    }
    let gone = function("gone", vec![], Value::Null);
    let document = with(document([functions, vec![gone]].concat()), json!({ "x-init": "gone" }));
    let refused = open_here(&document, &library("text")).unwrap_err().to_string();
    assert!(
        refused.contains("`x-init` names `gone`, which cannot be called: the library has no function"),
        "{refused}"
    );
}

#[test]
fn process_control_of_the_c_library_is_not_run_by_a_document() {
    let described = document(vec![function("getpid", vec![], returns("pid", "integer", "int"))]);
    let described = with(described, json!({ "x-init": "abort" }));
    let refused = open_here(&described, std::path::Path::new("libc.so.6")).unwrap_err().to_string();
    assert!(refused.contains("`x-init` names `abort`, which cannot be called"), "{refused}");
    assert!(refused.contains("`--allow unsafe`"), "{refused}");
}

#[test]
fn a_failing_code_is_reported_where_the_result_cannot_be_read() {
    let text = with(gives("text", "string", "char *"), json!({ "x-size": 16, "x-lengthParam": "length" }));
    let parameters = vec![takes("code", "integer", "int"), text, gives("length", "integer", "int *")];
    let described = function("status_with_length", parameters, returns("status", "integer", "int"));
    let described = with(described, json!({ "x-returnsCode": true }));
    let library = open_here(&document(vec![described]), &library("text")).unwrap();
    let good = json!({ "status": 0, "text": "x", "length": 1 });
    assert_eq!(call(&library, "status_with_length", json!({ "code": 0 })), good);
    let error = refused(&library, "status_with_length", r#"{"code":234}"#);
    assert_eq!((error.message(), error.code()), ("`status_with_length` returned 234", Some(234)));
    assert_eq!(error.data().unwrap(), &json!({ "code": 234 }));
}

#[test]
fn symbols_that_cannot_be_called_disable_their_functions_only() {
    let named = |name: &str| function(name, vec![takes("code", "integer", "int")], returns("it", "integer", "int"));
    let functions = vec![named("status"), named("statuss"), named("some_data"), named("strlen")];
    let opened = open_here(&document(functions), &library("text")).unwrap();
    let reasons: Vec<_> = opened.disabled().collect();
    assert_eq!(reasons[0].0, "statuss");
    assert!(reasons[0].1.starts_with("the library has no function `statuss`; the nearest are `status`"), "{reasons:?}");
    assert_eq!(reasons[1], ("some_data", "`some_data` is data of the library, not a function: `x-global` reads it"));
    assert!(reasons[2].1.contains("only libc.so.6 does, which it needs"), "{reasons:?}");
    assert_eq!(opened.toolbox().names().collect::<Vec<_>>(), ["status"]);
    assert_eq!(call_text(&opened, "status", r#"{"code":7}"#).unwrap(), r#"{"it":7}"#);
    let none = open_here(&document(vec![named("statuss")]), &library("text")).unwrap_err().to_string();
    assert!(none.starts_with("no function of the document can be called: `statuss`: the library has no"), "{none}");
}
