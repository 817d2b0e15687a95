//! The library that is called, compiled here.

use std::path::PathBuf;
use std::process::Command;

use opentool_dyn::{DynLibrary, DynLibraryBuilder};
use serde_json::{Value, json};

/// What every contender is called with.
pub(crate) const ARGUMENTS: &str = r#"{"a":20,"b":22}"#;
/// What every contender answers.
pub(crate) const RESULT: &str = r#"{"sum":42}"#;

const SOURCE: &str = "int add(int a, int b) { return a + b; }\n\
    int fill(char *text, int size, const char *name) { int n = 0; while (name[n] && n < size - 1) { text[n] = name[n]; n++; } text[n] = 0; return n; }\n";

/// Compiles the library; the directory is whose it is.
pub(crate) fn compile() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (source, library) = (directory.path().join("add.c"), directory.path().join("libadd.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).args([&library, &source]).status().unwrap();
    assert!(compiled.success());
    (directory, library)
}

pub(crate) fn document() -> Value {
    let int = json!({ "type": "integer", "cType": { "type": "int", "isPointer": false } });
    let text = json!({ "type": "string", "cType": { "type": "char", "isPointer": true } });
    json!({
        "opendyn": "1.0.0",
        "info": { "title": "Add", "version": "1.0.0", "callingConvention": "cdecl" },
        "functions": [{
            "name": "add",
            "description": "Add two integers.",
            "parameters": [
                { "name": "a", "schema": int, "isIn": true, "required": true },
                { "name": "b", "schema": int, "isIn": true, "required": true },
            ],
            "return": { "name": "sum", "schema": int },
        }, {
            "name": "fill",
            "description": "Copy a name into a buffer.",
            "parameters": [
                { "name": "text", "schema": text, "isIn": false, "required": false, "x-sizeParam": "size", "x-size": 256 },
                { "name": "size", "schema": int, "isIn": true, "required": false },
                { "name": "name", "schema": text, "isIn": true, "required": true },
            ],
            "return": { "name": "length", "schema": int },
        }],
    })
}

/// A library to be opened, wherever its functions shall run.
pub(crate) fn builder(library: &std::path::Path) -> DynLibraryBuilder {
    DynLibrary::builder().document_text(document().to_string()).library(library)
}
