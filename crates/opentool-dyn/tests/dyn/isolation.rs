//! Libraries in worker processes, and what they do to them.

mod attackers;
#[cfg(target_os = "linux")]
mod callers;
mod cases;
mod escapes;
mod hosts;
mod loading;
mod mix;
#[cfg(target_os = "linux")]
mod overuse;
mod runtimes;
mod sandbox;
mod supervision;

use std::path::{Path, PathBuf};
use std::time::Duration;

use opentool_core::{Arguments, Invocation, Tool, ToolContext, ToolError};
use opentool_dyn::{DynLibrary, DynLibraryBuilder, OpenError, Permissions};
use serde_json::{Value, json};

use crate::harness::{document, function, library, returns, takes, with};

/// How long a call may run in these tests, on a machine that is busy.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How long one may run that never ends.
const SHORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The worker that is built with the tests.
fn worker() -> PathBuf {
    env!("CARGO_BIN_EXE_opentool-dyn-worker").into()
}

/// A function without parameters that gives an `int`.
fn plain(name: &str) -> Value {
    function(name, vec![], returns("result", "integer", "int"))
}

fn takes_int(name: &str, parameter: &str) -> Value {
    function(name, vec![takes(parameter, "integer", "int")], returns("result", "integer", "int"))
}

/// A function that takes a path or the like and gives an error number.
fn takes_text(name: &str, parameter: &str) -> Value {
    let function = function(name, vec![takes(parameter, "string", "char *")], returns("error", "integer", "int"));
    with(function, json!({ "x-returnsCode": true }))
}

/// The document of `tests/c/hostile.c`.
fn hostile_document() -> Value {
    let out = with(
        json!({ "name": "out", "schema": crate::harness::schema("string", "char *"), "isIn": false, "required": false }),
        json!({ "x-size": 16 }),
    );
    let divide = function(
        "divide",
        vec![takes("a", "integer", "int"), takes("b", "integer", "int")],
        returns("result", "integer", "int"),
    );
    let handle = |name: &str| json!({ "name": name, "schema": crate::harness::schema("string", "void *"), "x-handle": "object" });
    let object = with(handle("object"), json!({ "isIn": true, "required": true }));
    let mut functions = vec![
        takes_int("add_one", "x"),
        takes_int("exit_now", "status"),
        takes_int("sleep_for", "milliseconds"),
        takes_int("print_much", "megabytes"),
        takes_int("stack_smash", "length"),
        takes_int("start_threads", "count"),
        divide,
        function("one_past", vec![out], returns("result", "integer", "int")),
        takes_text("read_file", "path"),
        takes_text("write_file", "path"),
        takes_text("open_either_way", "path"),
        takes_text("remove_file", "path"),
        takes_text("change_mode", "path"),
        takes_text("change_times", "path"),
        takes_text("shrinking_file", "path"),
        takes_text("run_command", "command"),
        with(plain("start_process"), json!({ "x-returnsCode": true })),
        with(plain("open_program"), json!({ "x-returnsCode": true })),
        with(plain("leave_daemon"), json!({ "x-returnsCode": true })),
        with(takes_int("connect_to", "port"), json!({ "x-returnsCode": true })),
        function("variable", vec![takes("name", "string", "char *")], returns("value", "string", "char *")),
        function("object_new", vec![], handle("object")),
        function("object_use", vec![object], returns("result", "integer", "int")),
    ];
    let plains = [
        "null_dereference",
        "abort_now",
        "stack_overflow",
        "heap_smash",
        "busy_loop",
        "stop_itself",
        "own_handler",
        "print_for_ever",
        "try_network_for_ever",
        "malloc_bomb",
        "fork_bomb",
        "thread_bomb",
        "descriptor_bomb",
        "close_everything",
        "forge_frame",
        "crash_after_reply",
        "kill_parent",
        "count",
        "process_id",
        "count_variables",
        "count_descriptors",
        "shrinking_map",
        "write_to_null",
    ];
    functions.extend(plains.map(plain));
    document(functions)
}

/// How a library of the tests is opened in a worker.
fn building(document: &Value, library: &Path) -> DynLibraryBuilder {
    DynLibrary::builder().document_text(document.to_string()).library(library).worker(worker()).timeout(TIMEOUT)
}

/// As much memory as a test machine has to spare for each of many libraries that take all they can get.
fn little_memory() -> Permissions {
    Permissions::new().memory("128M".parse().unwrap())
}

/// The hostile library, with what the operator permits.
fn hostile(permissions: Permissions) -> DynLibrary {
    building(&hostile_document(), &library("hostile")).permissions(permissions).open().unwrap()
}

/// The hostile library, for functions that never end.
fn short_timeout() -> DynLibrary {
    building(&hostile_document(), &library("hostile")).timeout(SHORT_TIMEOUT).open().unwrap()
}

/// The message of a library that cannot be opened.
fn unopened(opened: Result<DynLibrary, OpenError>) -> String {
    opened.expect_err("the library cannot be opened").to_string()
}

/// Calls a tool of a library.
async fn call(library: &DynLibrary, name: &str, arguments: Value) -> Result<Value, ToolError> {
    let arguments = Arguments::from(arguments.to_string().as_str());
    let context = ToolContext::new();
    let tool = library.toolbox().get(name).unwrap_or_else(|| panic!("no tool `{name}`"));
    let output = tool.call(Invocation::new(&arguments, &context)).await?;
    Ok(serde_json::from_str(&output.to_text()).unwrap())
}

/// Calls a tool that must fail, and gives the message.
async fn failure(library: &DynLibrary, name: &str, arguments: Value) -> String {
    match call(library, name, arguments).await {
        Ok(result) => panic!("`{name}` gave {result}"),
        Err(error) => error.message().to_owned(),
    }
}

/// Shows that the library can be called.
async fn works(library: &DynLibrary) {
    assert_eq!(call(library, "add_one", json!({ "x": 1 })).await.unwrap(), json!({ "result": 2 }));
}
