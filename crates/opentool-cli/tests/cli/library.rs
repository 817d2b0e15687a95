//! C libraries from the command line: listed, called, served, kept in bounds.

use serde_json::json;

use super::serving::Served;
use super::*;

/// A library with something to give, to crash, to hang and to be refused.
const CODE: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int add(int a, int b) { return a + b; }
int crash(void) { return *(volatile int *)0; }
int hang(void) { for (;;) pause(); return 0; }
const char *variable(const char *name) { return getenv(name); }
int make(const char *path) { int fd = open(path, O_WRONLY | O_CREAT, 0600); return fd < 0 ? errno : close(fd); }
"#;

/// A folder with a library and its document.
fn folder() -> TestFolder {
    let folder = TestFolder::new();
    let parameter = |name: &str, seen: &str, c: &str, pointer: bool| json!({ "name": name, "isIn": true, "required": true, "schema": { "type": seen, "cType": { "type": c, "isPointer": pointer } } });
    let function = |name: &str, parameters: Vec<serde_json::Value>, code: bool| {
        let result = json!({ "name": "result", "schema": { "type": "integer", "cType": { "type": "int", "isPointer": false } } });
        json!({ "name": name, "description": "As its name says.", "parameters": parameters, "return": result, "x-returnsCode": code })
    };
    let (a, b) = (parameter("a", "integer", "int", false), parameter("b", "integer", "int", false));
    let mut variable = function("variable", vec![parameter("name", "string", "char", true)], false);
    variable["return"] =
        json!({ "name": "value", "schema": { "type": "string", "cType": { "type": "char", "isPointer": true } } });
    let document = json!({
        "opendyn": "1.0.0",
        "info": { "title": "Sums", "version": "1.2.3", "callingConvention": "cdecl" },
        "functions": [
            function("add", vec![a, b], false), function("crash", vec![], false), function("hang", vec![], false),
            function("absent", vec![], false), variable, function("make", vec![parameter("path", "string", "char", true)], true),
        ],
    });
    folder.put("sums.json", document.to_string());
    folder.put("sums.c", CODE);
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "libsums.so", "sums.c"])
        .current_dir(folder.0.path())
        .status();
    assert!(compiled.unwrap().success());
    folder
}

#[test]
fn a_library_is_listed_and_called_without_a_line_of_code() {
    let folder = folder();
    let listed = folder.run(&["tools", "sums.json", "--library", "./libsums.so"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(
        listed.stdout.starts_with("Sums 1.2.3: 5 tools\n") && listed.stdout.contains("add(a: integer, b: integer)")
    );
    assert!(listed.stderr.contains("`absent` cannot be called"), "{listed:?}");
    for isolation in ["process", "none"] {
        let library = ["--library", "./libsums.so", "--isolation", isolation];
        let called = folder.run(&[&["call", "sums.json", "add", "a=1", "b=2"][..], &library].concat());
        assert_eq!((called.code, super::json(&called.stdout)), (Some(0), json!({ "result": 3 })), "{called:?}");
    }
}

#[test]
fn missing_library_and_missing_document_are_distinguished() {
    let folder = folder();
    for command in [&["call", "sums.json", "add"][..], &["tools", "sums.json"], &["serve", "sums.json"]] {
        let ran = folder.run(command);
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.stderr.contains("sums.json describes a C library") && ran.stderr.contains("--library LIB"),
            "{ran:?}"
        );
    }
    let ran = folder.run(&["call", "demo", "add", "--library", "./libsums.so"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("no source is an OpenDyn document"), "{ran:?}");
    let ran = folder.run(&["call", "sums.json", "add", "--library", "./libnone.so"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("libnone.so"), "{ran:?}");
    let ran = folder.run(&["serve", "sums.json", "./sums.json", "--library", "./libsums.so"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("write DOCUMENT=LIB"), "{ran:?}");
}

#[test]
fn a_crash_and_a_hang_are_errors_of_the_call() {
    let folder = folder();
    let library = ["--library", "./libsums.so", "--timeout", "1s"];
    let crashed = folder.run(&[&["call", "sums.json", "crash"][..], &library].concat());
    assert!(crashed.code == Some(1) && crashed.stderr.contains("SIGSEGV"), "{crashed:?}");
    let hung = folder.run(&[&["call", "sums.json", "hang"][..], &library].concat());
    assert!(hung.code == Some(1) && hung.stderr.contains("within 1s"), "{hung:?}");
}

#[test]
fn what_the_operator_permits_is_permitted_and_nothing_else_can_be() {
    let folder = folder();
    let made = folder.0.path().join("made");
    let call = |more: &[&str]| {
        let path = format!("path={}", made.display());
        folder.run(&[&["call", "sums.json", "make", &path, "--library", "./libsums.so"][..], more].concat())
    };
    if cfg!(target_os = "linux") {
        let refused = call(&[]);
        assert!(refused.code == Some(1) && refused.stderr.contains("`--allow write="), "{refused:?}");
        assert!(!made.exists());
    }
    let permitted = call(&["--allow", "write=."]);
    assert_eq!(permitted.code, Some(0), "{permitted:?}");
    assert!(made.exists());
    for (option, value) in
        [("--allow", "everything"), ("--memory", "1M"), ("--memory", "much"), ("--isolation", "some")]
    {
        let ran = call(&[option, value]);
        assert!(ran.code == Some(2) && ran.stderr.contains(value), "{ran:?}");
    }
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let folder = folder();
    let call = |more: &[&str]| {
        folder.run(&[&["call", "sums.json", "add", "a=1", "b=2", "--library", "./libsums.so"][..], more].concat())
    };
    for (option, value) in [
        ("--timeout", "1s"),
        ("--allow", "net"),
        ("--env", "HOME"),
        ("--memory", "64M"),
        ("--workers", "shared"),
        ("--threads", "4"),
        ("--cpu", "1s"),
    ] {
        let ran = call(&["--isolation", "none", option, value]);
        assert!(ran.code == Some(2) && ran.stderr.contains(&format!("`{option}` has no effect")), "{ran:?}");
    }
    let ran = call(&["--timeout", "0s"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("0s"), "{ran:?}");
    let ran = call(&["--env", "NO_SUCH_VARIABLE", "--env", "LC_ALL=C.UTF-8"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("NO_SUCH_VARIABLE"), "{ran:?}");
}

#[test]
fn a_library_of_the_file_ends_with_the_server() {
    let folder = folder();
    folder.put("opentool.toml", "sources = [\"sums.json\", \"demo\"]\nlibrary = \"sums.json=./libsums.so\"\nenv = [\"SUMS\"]\nmemory = \"512M\"\n");
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    // The demo tools have an `add` of their own.
    let ran = folder.run(&["serve"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("two sources have a tool named `add`"), "{ran:?}");
    folder.put(
        "opentool.toml",
        "sources = \"sums.json\"\nlibrary = \"./libsums.so\"\nenv = [\"SUMS\"]\nmemory = \"512M\"\n",
    );
    assert_eq!(folder.run(&["trust", "--yes"]).code, Some(0));
    let mut served = Served::start(&folder, &[], &[("SUMS", "seven"), ("OTHER", "eight")]);
    assert_eq!(served.call("add", json!({ "a": 2, "b": 3 }))["result"], json!({ "result": 5 }));
    assert_eq!(served.call("variable", json!({ "name": "SUMS" }))["result"], json!({ "value": "seven" }));
    assert_eq!(served.call("variable", json!({ "name": "OTHER" }))["result"], json!({ "value": null }));
    let crashed = served.call("crash", json!({}));
    assert!(crashed["error"]["message"].as_str().unwrap().contains("SIGSEGV"), "{crashed}");
    assert_eq!(served.call("add", json!({ "a": 2, "b": 3 }))["result"], json!({ "result": 5 }));
    served.signal("TERM");
    assert!(served.wait().success());
}

#[test]
fn a_number_whose_values_have_names_can_be_given_over_http() {
    let folder = folder();
    let mut document: serde_json::Value = serde_json::from_str(&folder.read("sums.json")).unwrap();
    document["functions"][0]["parameters"][1]["x-values"] = json!({ "ONE": 1, "TWO": 2 });
    folder.put("sums.json", document.to_string());
    let by_name = folder.run(&["call", "sums.json", "--library", "./libsums.so", "add", "a=1", "b=TWO"]);
    assert_eq!((by_name.code, json(&by_name.stdout)), (Some(0), json!({ "result": 3 })), "{by_name:?}");
    let served = Served::start(&folder, &["sums.json", "--library", "./libsums.so"], &[]);
    let url = format!("http://{}/opentool", served.address);
    let by_number = folder.run(&["call", &url, "add", "a=1", "b=2"]);
    assert_eq!((by_number.code, json(&by_number.stdout)), (Some(0), json!({ "result": 3 })), "{by_number:?}");
}

/// A file that serves the library, with what it says more.
fn table(more: &str) -> String {
    format!("[sources.sums]\nkind = \"library\"\ndocument = \"sums.json\"\nlibrary = \"./libsums.so\"\n{more}")
}

#[test]
fn one_function_may_do_more_than_the_others_in_a_process_of_its_own() {
    let folder = folder();
    let folder_path = folder.0.path().display().to_string();
    folder.put("opentool.toml", table(&format!("[sources.sums.tool.make]\nallow = [\"write={folder_path}\"]\n")));
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let made = folder.path("made");
    let path = json!({ "path": made });
    assert_eq!(served.call("make", path.clone())["result"], json!({ "result": 0 }));
    assert!(made.exists());
    // A crash of the others leaves its process alone, and theirs may not write.
    assert!(served.call("crash", json!({}))["error"]["message"].as_str().unwrap().contains("SIGSEGV"));
    assert_eq!(served.call("make", path.clone())["result"], json!({ "result": 0 }));
    assert_eq!(served.call("add", json!({ "a": 1, "b": 2 }))["result"], json!({ "result": 3 }));
    assert_eq!(served.get("/opentool/load").json()["functions"].as_array().unwrap().len(), 5);

    // The other way round: the library may, and one function may not.
    std::fs::remove_file(&made).unwrap();
    folder.put(
        "opentool.toml",
        table(&format!("allow = \"write={folder_path}\"\n[sources.sums.tool.make]\nallow = []\n")),
    );
    let ran = folder.run(&["call", "sums", "make", &format!("path={}", made.display()), "--config", "opentool.toml"]);
    assert!(!made.exists() || !cfg!(target_os = "linux"), "{ran:?}");
}

#[test]
fn what_cannot_be_enforced_for_one_function_is_refused_with_its_place() {
    let folder = folder();
    for (more, expected) in [
        ("[sources.sums.tool.make]\nallow = \"wirte=/tmp\"\n", " --> opentool.toml:6:9\n"),
        ("isolation = \"none\"\n[sources.sums.tool.make]\nallow = \"net\"\n", " --> opentool.toml:7:1\n"),
        ("[sources.sums.tool.hang]\ntimeout = \"2m\"\n", " --> opentool.toml:6:11\n"),
        ("timeout = 60\n[sources.sums.tool.hang]\ntimeout = \"2m\"\n", "is ended after 60s, before 120s are over\n"),
        ("[sources.sums.tool.mkae]\nallow = \"net\"\n", "did you mean `make`?"),
    ] {
        folder.put("opentool.toml", table(more));
        let ran = folder.run(&["tools", "sums", "--config", "opentool.toml"]);
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{more}{ran:?}");
    }
}

#[test]
fn functions_that_share_handles_stay_in_one_process() {
    let folder = TestFolder::new();
    let pointer = json!({ "type": "string", "cType": { "type": "void", "isPointer": true } });
    let int = json!({ "type": "integer", "cType": { "type": "int", "isPointer": false } });
    let taken = json!([{ "name": "it", "isIn": true, "required": true, "schema": pointer, "x-handle": "counter" }]);
    let made = json!({ "name": "it", "schema": pointer, "x-handle": "counter" });
    let function = |name: &str, parameters: &serde_json::Value, returns: serde_json::Value| json!({ "name": name, "description": "As its name says.", "parameters": parameters, "return": returns });
    let result = || json!({ "name": "result", "schema": int });
    let document = json!({
        "opendyn": "1.0.0",
        "info": { "title": "Counters", "version": "1.0.0", "callingConvention": "cdecl" },
        "functions": [
            function("counter_new", &json!([]), made), function("counter_next", &taken, result()), function("seven", &json!([]), result()),
        ],
    });
    folder.put("counters.json", document.to_string());
    folder.put(
        "counters.c",
        "#include <stdlib.h>\nvoid *counter_new(void) { return calloc(1, sizeof(int)); }\n\
         int counter_next(void *it) { return ++*(int *)it; }\nint seven(void) { return 7; }\n",
    );
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", "libcounters.so", "counters.c"]).current_dir(folder.0.path());
    assert!(compiler.status().unwrap().success());
    let serve = |more: &str| {
        let head = "[sources.c]\nkind = \"library\"\ndocument = \"counters.json\"\nlibrary = \"./libcounters.so\"\n";
        folder.put("opentool.toml", format!("{head}{more}"));
    };
    serve("[sources.c.tool.counter_next]\nallow = \"net\"\n");
    let ran = folder.run(&["tools", "c", "--config", "opentool.toml"]);
    let expected = "the source `c`: `counter_new` and `counter_next` share handles of the type `counter`";
    assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{ran:?}");

    serve("[sources.c.tool.counter_next]\nallow = \"net\"\n[sources.c.tool.counter_new]\nallow = [\"net\"]\n");
    let served = Served::start(&folder, &["--config", "opentool.toml"], &[]);
    let handle = served.call("counter_new", json!({}))["result"]["it"].clone();
    assert_eq!(served.call("counter_next", json!({ "it": handle }))["result"], json!({ "result": 1 }));
    assert_eq!(served.call("seven", json!({}))["result"], json!({ "result": 7 }));
}
