//! Libraries compiled from `tests/c`, and short ways to describe and call their functions.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use opentool_core::{Arguments, Invocation, Tool, ToolContext, ToolError};
use opentool_dyn::{DynLibrary, Isolation, OpenError};
use serde_json::{Value, json};

/// The library of `tests/c/<name>.c`, compiled once for every text that this file ever had.
pub(crate) fn library(name: &str) -> PathBuf {
    compiled(name, &[])
}

/// The same, with more arguments for the compiler.
pub(crate) fn compiled(name: &str, arguments: &[&str]) -> PathBuf {
    static COMPILED: LazyLock<Mutex<HashMap<String, PathBuf>>> = LazyLock::new(Mutex::default);
    let key = format!("{name} {arguments:?}");
    let mut known = COMPILED.lock().unwrap();
    if let Some(path) = known.get(&key) {
        return path.clone();
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let mut hasher = DefaultHasher::new();
    (std::fs::read(&source).unwrap(), arguments).hash(&mut hasher);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{name}-{:016x}.so", hasher.finish()));
    if !path.exists() {
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-g", "-Wall", "-Werror", "-o"])
            .args([&new, &source])
            .args(arguments)
            .status()
            .expect("a C compiler is needed");
        assert!(compiler.success());
        std::fs::rename(new, &path).unwrap();
    }
    known.insert(key, path.clone());
    path
}

/// A document of these functions.
pub(crate) fn document(functions: Vec<Value>) -> Value {
    json!({
        "opendyn": "1.0.0",
        "info": { "title": "Test", "version": "1.0.0", "callingConvention": "cdecl" },
        "functions": functions,
    })
}

/// A function; `returns` is null for nothing.
pub(crate) fn function(name: &str, parameters: Vec<Value>, returns: Value) -> Value {
    json!({ "name": name, "description": name, "parameters": parameters, "return": returns })
}

/// The same with more keys.
pub(crate) fn with(mut object: Value, keys: Value) -> Value {
    object.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    object
}

/// The schema of a C type such as `int` or `char *`, with the type that callers see.
pub(crate) fn schema(seen: &str, c: &str) -> Value {
    let name = c.trim_end_matches('*').trim();
    json!({ "type": seen, "cType": { "type": name, "isPointer": c.ends_with('*') } })
}

/// A parameter that goes in.
pub(crate) fn takes(name: &str, seen: &str, c: &str) -> Value {
    json!({ "name": name, "schema": schema(seen, c), "isIn": true, "required": true })
}

/// A parameter that goes in and may be left out.
pub(crate) fn may_take(name: &str, seen: &str, c: &str) -> Value {
    with(takes(name, seen, c), json!({ "required": false }))
}

/// A parameter that goes out.
pub(crate) fn gives(name: &str, seen: &str, c: &str) -> Value {
    json!({ "name": name, "schema": schema(seen, c), "isIn": false, "required": false })
}

/// The return value.
pub(crate) fn returns(name: &str, seen: &str, c: &str) -> Value {
    json!({ "name": name, "schema": schema(seen, c) })
}

/// Opens a library in this process.
pub(crate) fn open_here(document: &Value, library: &Path) -> Result<DynLibrary, OpenError> {
    DynLibrary::builder().document_text(document.to_string()).library(library).isolation(Isolation::None).open()
}

/// The functions of one library in this process.
pub(crate) fn here(name: &str, functions: Vec<Value>) -> DynLibrary {
    let opened = open_here(&document(functions), &library(name)).unwrap();
    assert_eq!(opened.disabled().collect::<Vec<_>>(), []);
    opened
}

/// A document's library in this process, and in a worker.
pub(crate) fn both(document: &Value, name: &str) -> [DynLibrary; 2] {
    let library = library(name);
    let worker = DynLibrary::builder()
        .document_text(document.to_string())
        .library(&library)
        .worker(env!("CARGO_BIN_EXE_opentool-dyn-worker"));
    // Of a file of its own, whose variables no other test changes.
    static OPENED: AtomicUsize = AtomicUsize::new(0);
    let number = OPENED.fetch_add(1, Ordering::Relaxed);
    let own = library.with_extension(format!("{}-{number}.so", std::process::id()));
    std::fs::copy(&library, &own).unwrap();
    let opened = [open_here(document, &own).unwrap(), worker.open().unwrap()];
    std::fs::remove_file(own).unwrap();
    for library in &opened {
        assert_eq!(library.disabled().collect::<Vec<_>>(), []);
    }
    opened
}

/// Calls a tool, and gives the text of its result.
pub(crate) fn call_text(library: &DynLibrary, name: &str, arguments: &str) -> Result<String, ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tool = library.toolbox().get(name).unwrap_or_else(|| panic!("no tool `{name}`"));
    let arguments = Arguments::from(arguments);
    let context = ToolContext::new();
    let output = runtime.block_on(tool.call(Invocation::new(&arguments, &context)))?;
    Ok(output.to_text())
}

/// Calls a tool, and gives its result.
pub(crate) fn call(library: &DynLibrary, name: &str, arguments: Value) -> Value {
    match call_text(library, name, &arguments.to_string()) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(error) => panic!("{name}({arguments}): {error}"),
    }
}

/// Calls a tool that refuses.
pub(crate) fn refused(library: &DynLibrary, name: &str, arguments: &str) -> ToolError {
    match call_text(library, name, arguments) {
        Ok(text) => panic!("{name}({arguments}) gave {text}"),
        Err(error) => error,
    }
}
