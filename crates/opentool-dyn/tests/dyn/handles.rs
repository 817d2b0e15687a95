//! Handles: pointers that never leave the library, and the tokens by which callers know them.

use opentool_core::ErrorKind;
use opentool_dyn::DynLibrary;
use serde_json::{Value, json};

use crate::harness::{call, function, gives, here, may_take, refused, returns, takes, with};

const POINTER: &str = "void *";

fn counters() -> DynLibrary {
    let handle = |parameter: Value| with(parameter, json!({ "x-handle": "counter" }));
    let it = || handle(takes("it", "string", POINTER));
    let code = || returns("code", "integer", "int");
    let returns_code = || json!({ "x-returnsCode": true });
    here(
        "text",
        vec![
            function("counter_new", vec![takes("value", "integer", "int")], handle(returns("it", "string", POINTER))),
            with(
                function(
                    "counter_open",
                    vec![takes("value", "integer", "int"), handle(gives("it", "string", POINTER))],
                    code(),
                ),
                returns_code(),
            ),
            function("counter_add", vec![it(), takes("more", "integer", "int")], returns("value", "integer", "int")),
            function(
                "counter_is_null",
                vec![handle(may_take("it", "string", POINTER))],
                returns("null", "boolean", "int"),
            ),
            with(function("counter_close", vec![with(it(), json!({ "x-closes": true }))], code()), returns_code()),
            function("the_counter", vec![], handle(returns("it", "string", POINTER))),
            function("token_new", vec![], with(returns("it", "string", POINTER), json!({ "x-handle": "token" }))),
        ],
    )
}

#[test]
fn a_handle_works_until_it_is_closed() {
    let library = counters();
    for opener in ["counter_new", "counter_open"] {
        let opened = call(&library, opener, json!({ "value": 40 }));
        let it = opened["it"].as_str().unwrap();
        assert!(it.starts_with("counter:") && it.len() == "counter:".len() + 32, "{it}");
        assert_eq!(call(&library, "counter_add", json!({ "it": it, "more": 2 })), json!({ "value": 42 }));
        let busy = refused(&library, "counter_close", &json!({ "it": it }).to_string());
        assert_eq!((busy.kind(), busy.code()), (ErrorKind::Failed, Some(5)));
        // It failed to close, so it is open.
        assert_eq!(call(&library, "counter_add", json!({ "it": it, "more": -42 })), json!({ "value": 0 }));
        assert_eq!(call(&library, "counter_close", json!({ "it": it })), json!({ "code": 0 }));
        let stale = refused(&library, "counter_add", &json!({ "it": it, "more": 1 }).to_string());
        assert_eq!(stale.kind(), ErrorKind::InvalidArguments);
        assert!(stale.message().contains("/it: expected a handle of type `counter` that is open"), "{stale}");
        assert!(!stale.message().contains(it));
    }
}

#[test]
fn raw_addresses_and_foreign_handles_are_never_accepted() {
    let library = counters();
    let token = call(&library, "token_new", json!({}));
    let error = refused(&library, "counter_add", &json!({ "it": token["it"], "more": 1 }).to_string());
    assert!(error.message().contains("expected a handle of type `counter`, got one of type `token`"), "{error}");
    for raw in ["140737488355328", "0x7fffffffe000", "", "counter:0", &"x".repeat(10_000)] {
        let error = refused(&library, "counter_add", &json!({ "it": raw, "more": 1 }).to_string());
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert!(error.message().len() < 400, "{error}");
    }
    for raw in ["140737488355328", "{}", "[]", "true"] {
        let error = refused(&library, "counter_add", &format!(r#"{{"it":{raw},"more":1}}"#));
        assert!(error.message().contains("/it: expected a handle, as another function has given it"), "{error}");
    }
}

#[test]
fn null_is_null_both_ways() {
    let library = counters();
    assert_eq!(call(&library, "counter_new", json!({ "value": -1 })), json!({ "it": null }));
    let failed = refused(&library, "counter_open", r#"{"value":-1}"#);
    assert_eq!(failed.data().unwrap()["result"], json!({ "code": 7, "it": null }));
    assert_eq!(call(&library, "counter_is_null", json!({})), json!({ "null": true }));
    assert_eq!(call(&library, "counter_is_null", json!({ "it": null })), json!({ "null": true }));
    let it = call(&library, "the_counter", json!({}));
    assert_eq!(call(&library, "counter_is_null", it), json!({ "null": false }));
}

#[test]
fn the_same_pointer_is_the_same_handle_and_others_are_not() {
    let library = counters();
    assert_eq!(call(&library, "the_counter", json!({})), call(&library, "the_counter", json!({})));
    let (one, two) =
        (call(&library, "counter_new", json!({ "value": 0 })), call(&library, "counter_new", json!({ "value": 0 })));
    assert_ne!(one, two);
    // Another library, another table: what one knows the other does not.
    let other = counters();
    let error = refused(&other, "counter_close", &one.to_string());
    assert!(error.message().contains("that is open"), "{error}");
    call(&library, "counter_close", one.clone());
    let three = call(&library, "counter_new", json!({ "value": 0 }));
    assert_ne!(three, one);
    for open in [two, three] {
        call(&library, "counter_close", open);
    }
}
