//! Libraries that cannot be loaded, or misbehave while they are.

use std::time::Duration;

use opentool_dyn::DynLibrary;
use serde_json::json;

use super::{building, call, hostile_document, takes_int, unopened, worker, works};
use crate::harness::{compiled, document, library};

/// Opens `tests/c/constructor.c` with this constructor.
fn with_constructor(code: &str) -> Result<DynLibrary, opentool_dyn::OpenError> {
    let library = compiled("constructor", &[&format!("-DCONSTRUCTOR={code}")]);
    building(&document(vec![takes_int("add_one", "x")]), &library).timeout(Duration::from_secs(1)).open()
}

#[test]
fn a_constructor_that_aborts_is_not_a_crash_in_a_call() {
    let message = unopened(with_constructor("fputs(\"no licence\\n\", stderr); abort()"));
    assert!(message.contains("while it was loaded, the library crashed with SIGABRT"), "{message}");
    assert!(message.contains("no licence"), "{message}");
}

#[test]
fn a_constructor_that_exits_is_reported() {
    let message = unopened(with_constructor("exit(0)"));
    assert!(message.contains("while it was loaded, the library ended the process with exit status 0"), "{message}");
}

#[test]
fn a_constructor_that_hangs_is_given_up() {
    let message = unopened(with_constructor("for (;;) pause()"));
    assert!(message.contains("it was not ready within 1s, and its worker was killed"), "{message}");
}

#[tokio::test]
async fn a_constructor_that_prints_disturbs_no_call() {
    let library = with_constructor("for (int i = 0; i < 100000; i++) puts(\"hello\")").unwrap();
    works(&library).await;
}

#[test]
fn a_missing_dependency_or_an_undefined_symbol_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let compile = |name: &str, code: &str, more: &[&str]| {
        let (source, library) = (folder.path().join(format!("{name}.c")), folder.path().join(format!("lib{name}.so")));
        std::fs::write(&source, code).unwrap();
        let compiler = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .args(more)
            .status();
        assert!(compiler.unwrap().success());
        library
    };
    let described = document(vec![takes_int("add_one", "x")]);
    let needed = compile("needed", "int other(int x) { return x; }", &[]);
    let code = "int other(int); int add_one(int x) { return other(x) + 1; }";
    let needing = compile("needing", code, &[needed.to_str().unwrap()]);
    std::fs::remove_file(needed).unwrap();
    let message = unopened(building(&described, &needing).open());
    assert!(message.contains("libneeded.so"), "{message}");
    let undefined = compile("undefined", code, &[]);
    let message = unopened(building(&described, &undefined).open());
    assert!(message.contains("other"), "{message}");
}

#[test]
fn what_is_no_library_is_refused_before_a_worker_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let whole = std::fs::read(library("hostile")).unwrap();
    let mut foreign = whole.clone();
    // The machine in an ELF header: none that exists.
    foreign[18..20].copy_from_slice(&[0xfe, 0xca]);
    let cases = [
        (folder.path().join("missing.so"), "missing.so"),
        (folder.path().to_owned(), ""),
        (file("text.so", b"hello"), "text.so"),
        (file("empty.so", b""), "empty.so"),
        (file("script.so", b"/* GNU ld script */\nGROUP ( /lib/libc.so.6 )\n"), "script.so"),
        (file("foreign.so", &foreign), "foreign.so"),
        (file("truncated.so", &whole[..whole.len() / 3]), "truncated.so"),
    ];
    for (path, name) in cases {
        let message = unopened(building(&document(vec![takes_int("add_one", "x")]), &path).open());
        assert!(message.contains(name), "{message}");
    }
}

#[tokio::test]
async fn a_library_truncated_or_removed_while_loaded_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libhostile.so");
    std::fs::copy(library("hostile"), &path).unwrap();
    let opened = building(&hostile_document(), &path).open().unwrap();
    works(&opened).await;
    // Replaced as packages do it: a process that has the old file open keeps it, and the next worker gets the new one.
    let next = folder.path().join("next");
    std::fs::copy(library("hostile"), &next).unwrap();
    std::fs::rename(&next, &path).unwrap();
    works(&opened).await;
    call(&opened, "null_dereference", json!({})).await.unwrap_err();
    works(&opened).await;
    std::fs::remove_file(&path).unwrap();
    works(&opened).await;
    // The spare may have loaded it before: it takes as many crashes to need a new worker.
    let mut messages = Vec::new();
    for _ in 0..4 {
        messages.push(call(&opened, "null_dereference", json!({})).await.unwrap_err().message().to_owned());
    }
    let last = messages.last().unwrap();
    assert!(last.contains("libhostile.so") && !last.contains("SIGSEGV"), "{messages:?}");
    std::fs::copy(library("hostile"), &path).unwrap();
    works(&opened).await;
}

#[tokio::test]
async fn a_library_that_was_gone_for_long_works_once_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libhostile.so");
    std::fs::copy(library("hostile"), &path).unwrap();
    let opened = building(&hostile_document(), &path).open().unwrap();
    works(&opened).await;
    std::fs::remove_file(&path).unwrap();
    let mut message = String::new();
    for _ in 0..12 {
        message = call(&opened, "null_dereference", json!({})).await.unwrap_err().message().to_owned();
    }
    assert!(message.contains("times in a row") && message.contains("libhostile.so"), "{message}");
    std::fs::copy(library("hostile"), &path).unwrap();
    tokio::time::sleep(Duration::from_millis(5200)).await;
    // The one call that finds out is given up while a worker is started for it: the next one finds out.
    let given_up = tokio::time::timeout(Duration::ZERO, call(&opened, "add_one", json!({ "x": 1 }))).await;
    assert!(given_up.is_err(), "{given_up:?}");
    works(&opened).await;
    works(&opened).await;
}

#[test]
fn a_program_that_is_no_worker_gets_advice() {
    let described = document(vec![takes_int("add_one", "x")]);
    let builder = || DynLibrary::builder().document_text(described.to_string()).library(library("hostile"));
    let message = unopened(builder().open());
    assert!(message.contains("call `opentool_dyn::worker_main()` first thing in `main`"), "{message}");
    let message = unopened(builder().worker("/no/such/worker").open());
    assert!(message.contains("/no/such/worker is no file"), "{message}");
    let message = unopened(builder().worker("/bin/false").open());
    assert!(message.contains("exit status"), "{message}");
}

#[test]
fn a_worker_started_by_hand_says_so() {
    for arguments in [&["--opentool-dyn-worker"][..], &[]] {
        let output = std::process::Command::new(worker()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("started by opentool"), "{output:?}");
    }
}
