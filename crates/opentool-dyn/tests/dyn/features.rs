//! What real libraries need: null, pointers to pointers, structs, constants, callbacks, lifetimes; in process and in a worker.

mod callbacks;
mod constants;
mod lifetimes;
mod pointers;
mod streams;
mod structs;

use opentool_dyn::DynLibrary;
use serde_json::{Value, json};

use crate::harness::{both, document};

/// The functions of `tests/c/features.c`, in process and in a worker.
fn opened(functions: Vec<Value>) -> [DynLibrary; 2] {
    both(&document(functions), "features")
}

/// The same with the schemas of its structs.
fn opened_with_structs(functions: Vec<Value>) -> [DynLibrary; 2] {
    let mut document = document(functions);
    document["schemas"] = structs::schemas();
    both(&document, "features")
}

/// A parameter with a reference to a schema.
fn refers(name: &str, schema: &str, is_in: bool, keys: Value) -> Value {
    let schema = json!({ "$ref": format!("#/schemas/{schema}") });
    crate::harness::with(json!({ "name": name, "schema": schema, "isIn": is_in, "required": is_in }), keys)
}
