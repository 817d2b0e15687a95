//! What a library may not do, with the option that permits it, and that it works with the option.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use opentool_core::ErrorKind;
use opentool_dyn::{DynLibrary, Permissions};
use serde_json::{Value, json};

use super::{building, call, failure, hostile, hostile_document, little_memory, works};
use crate::harness::{document, function, library, returns, takes};

/// Whether the system can refuse files and system calls at all; where it cannot, it must have said so.
fn is_enforced(library: &DynLibrary) -> bool {
    let confinement = library.confinement().unwrap();
    assert_eq!(confinement.is_complete(), confinement.missing.is_empty(), "{confinement}");
    assert!(confinement.limits);
    confinement.is_complete()
}

/// Shows that a call is refused with the option, and works once the operator gives it.
async fn is_refused_until(name: &str, arguments: Value, option: &str, permissions: Permissions) {
    let library = hostile(Permissions::new());
    if is_enforced(&library) {
        let error = call(&library, name, arguments.clone()).await.unwrap_err();
        let message = error.message();
        assert!(message.contains(&format!("`{name}`")) && message.contains(option), "{message}");
        works(&library).await;
    }
    let library = hostile(permissions);
    assert_eq!(call(&library, name, arguments).await.unwrap(), json!({ returned(name): 0 }));
    works(&library).await;
}

fn returned(name: &str) -> &'static str {
    if matches!(name, "connect_to" | "open_program" | "start_process") { "result" } else { "error" }
}

#[tokio::test]
async fn the_network_is_refused_until_the_operator_permits_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    is_refused_until("connect_to", json!({ "port": port }), "`--allow net`", Permissions::new().net(true)).await;
}

#[tokio::test]
async fn a_file_outside_is_refused_until_the_operator_permits_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, "x").unwrap();
    let path = json!({ "path": file });
    is_refused_until("read_file", path.clone(), "`--allow read=PATH`", Permissions::new().read(&file)).await;
    is_refused_until("read_file", path, "`--allow read=PATH`", Permissions::new().read(folder.path())).await;
}

#[tokio::test]
async fn writing_is_denied_with_the_path_until_it_is_permitted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made");
    let option = format!("`--allow write={}`", file.display());
    let permitted = || Permissions::new().write(folder.path());
    is_refused_until("write_file", json!({ "path": file }), &option, permitted()).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
    is_refused_until("remove_file", json!({ "path": file }), &option, permitted()).await;
    assert!(!file.exists());
}

#[tokio::test]
async fn where_one_folder_may_be_written_another_may_not() {
    let (permitted, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let library = hostile(Permissions::new().write(permitted.path()));
    if is_enforced(&library) {
        let message = failure(&library, "write_file", json!({ "path": other.path().join("made") })).await;
        assert!(message.contains("`--allow write=PATH`"), "{message}");
    }
    works(&library).await;
}

#[tokio::test]
async fn changes_of_rights_and_times_seem_to_succeed_and_change_nothing() {
    let (permitted, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let library = hostile(Permissions::new().write(permitted.path()));
    if !is_enforced(&library) {
        return;
    }
    for folder in [&permitted, &other] {
        let file = folder.path().join("data");
        std::fs::write(&file, "x").unwrap();
        let state = || std::fs::metadata(&file).map(|found| (found.permissions(), found.modified().unwrap())).unwrap();
        let before = state();
        for function in ["change_mode", "change_times"] {
            let changed = call(&library, function, json!({ "path": file })).await;
            assert_eq!(changed.unwrap(), json!({ "error": 0 }), "programs that unpack files go on");
        }
        assert_eq!(state(), before);
    }
}

#[tokio::test]
async fn a_file_that_shrinks_while_it_is_read_ends_the_worker_only() {
    let folder = tempfile::tempdir().unwrap();
    let library = hostile(Permissions::new().write(folder.path()));
    let message = failure(&library, "shrinking_file", json!({ "path": folder.path().join("made") })).await;
    assert!(message.contains("SIGBUS"), "{message}");
    works(&library).await;
}

#[tokio::test]
async fn output_can_be_thrown_away() {
    for permissions in [Permissions::new(), Permissions::new().write(tempfile::tempdir().unwrap().keep())] {
        let library = hostile(permissions);
        if is_enforced(&library) {
            let answer = call(&library, "write_to_null", json!({})).await;
            // That it then tries to remove the device is refused, and said where writing is not permitted.
            match answer {
                Ok(result) => assert_eq!(result, json!({ "result": 0 })),
                Err(error) => assert_eq!(error.data(), Some(&json!({ "result": { "result": 0 } })), "{error}"),
            }
        }
    }
    assert!(Path::new("/dev/null").exists());
}

/// Compiles a library of `tests/c` into a folder.
fn compile(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
    let library = folder.join(format!("lib{name}.so"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-L").arg(folder).args(arguments);
    assert!(compiler.status().unwrap().success());
    library
}

#[tokio::test]
async fn a_library_reads_what_it_links_and_nothing_else_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let inner = compile(folder.path(), "inner", &["-Wl,-soname,libinner.so"]);
    let outer = compile(folder.path(), "outer", &["-linner", "-Wl,-rpath,$ORIGIN"]);
    let answer = function("outer_answer", vec![], returns("result", "integer", "int"));
    let opened = building(&document(vec![answer]), &outer).open().unwrap();
    assert_eq!(call(&opened, "outer_answer", json!({})).await.unwrap(), json!({ "result": 42 }));

    let library = folder.path().join("libhostile.so");
    std::fs::copy(crate::harness::library("hostile"), &library).unwrap();
    std::fs::write(folder.path().join(".env"), "KEY=s3cret").unwrap();
    let opened = building(&hostile_document(), &library).open().unwrap();
    assert_eq!(call(&opened, "read_file", json!({ "path": library })).await.unwrap(), json!({ "error": 0 }));
    if is_enforced(&opened) {
        for path in [&folder.path().join(".env"), &inner, &folder.path().to_owned()] {
            let message = failure(&opened, "read_file", json!({ "path": path })).await;
            assert!(message.contains("`--allow read=PATH`"), "{message}");
        }
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_worker_has_no_capabilities_not_even_as_root() {
    for permissions in [Permissions::new(), Permissions::new().unsafe_calls(true)] {
        let library = hostile(permissions);
        let worker = call(&library, "process_id", json!({})).await.unwrap()["result"].as_i64().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            let found = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
            assert_eq!(found.trim(), "0000000000000000", "{set}");
        }
    }
}

#[tokio::test]
async fn what_opens_a_file_either_way_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, "x").unwrap();
    let library = hostile(Permissions::new().read(&file));
    assert_eq!(call(&library, "open_either_way", json!({ "path": file })).await.unwrap(), json!({ "error": 0 }));
}

#[tokio::test]
async fn processes_and_commands_are_denied_until_permitted() {
    is_refused_until("start_process", json!({}), "`--allow unsafe`", Permissions::new().unsafe_calls(true)).await;
    let command = json!({ "command": "true" });
    is_refused_until("run_command", command, "`--allow unsafe`", Permissions::new().unsafe_calls(true)).await;
    // The C library says that there is no memory, and nothing else.
    is_refused_until("open_program", json!({}), "`--allow unsafe`", Permissions::new().unsafe_calls(true)).await;
}

#[tokio::test]
async fn a_refusal_costs_the_library_nothing_that_it_keeps_in_memory() {
    let library = hostile(Permissions::new());
    if is_enforced(&library) {
        let worker = call(&library, "process_id", json!({})).await.unwrap();
        failure(&library, "run_command", json!({ "command": "true" })).await;
        failure(&library, "start_process", json!({})).await;
        failure(&library, "write_file", json!({ "path": "/made" })).await;
        failure(&library, "connect_to", json!({ "port": 1 })).await;
        assert_eq!(call(&library, "process_id", json!({})).await.unwrap(), worker);
    }
}

#[tokio::test]
async fn a_denial_is_an_error_also_where_the_function_goes_on() {
    let library = hostile(Permissions::new());
    if is_enforced(&library) {
        let error = call(&library, "fork_bomb", json!({})).await.unwrap_err();
        assert_eq!((error.kind(), error.data()), (ErrorKind::Denied, Some(&json!({ "result": { "result": 100 } }))));
    }
}

#[tokio::test]
async fn what_another_thread_is_refused_is_no_failure_of_a_call() {
    let library = hostile(Permissions::new());
    call(&library, "try_network_for_ever", json!({})).await.unwrap();
    for _ in 0..5 {
        call(&library, "sleep_for", json!({ "milliseconds": 10 })).await.unwrap();
        works(&library).await;
    }
}

#[tokio::test]
async fn threads_work() {
    let library = hostile(Permissions::new());
    assert_eq!(call(&library, "start_threads", json!({ "count": 8 })).await.unwrap(), json!({ "result": 8 }));
}

#[tokio::test]
async fn the_environment_is_empty_but_for_what_the_operator_names() {
    let library = hostile(Permissions::new());
    assert_eq!(call(&library, "count_variables", json!({})).await.unwrap(), json!({ "result": 1 }));
    let variable = |name: &str| json!({ "name": name });
    assert_eq!(call(&library, "variable", variable("LC_ALL")).await.unwrap(), json!({ "value": "C" }));
    assert_eq!(call(&library, "variable", variable("PATH")).await.unwrap(), json!({ "value": null }));
    let library = hostile(Permissions::new().env("LC_ALL=C.UTF-8").env("OWN=a=b"));
    assert_eq!(call(&library, "variable", variable("LC_ALL")).await.unwrap(), json!({ "value": "C.UTF-8" }));
    assert_eq!(call(&library, "variable", variable("OWN")).await.unwrap(), json!({ "value": "a=b" }));
    assert_eq!(call(&library, "count_variables", json!({})).await.unwrap(), json!({ "result": 2 }));
    let library = hostile(Permissions::new().env("PATH").env("NO_SUCH_VARIABLE"));
    let path = std::env::var("PATH").unwrap();
    assert_eq!(call(&library, "variable", variable("PATH")).await.unwrap(), json!({ "value": path }));
    assert_eq!(call(&library, "count_variables", json!({})).await.unwrap(), json!({ "result": 2 }));
}

#[tokio::test]
async fn a_library_finds_no_descriptor_that_its_host_had_open() {
    let file = std::fs::File::open("/dev/null").unwrap();
    // Made to be inherited, as careless programs have them.
    // SAFETY: the file is open, and its duplicate has no other owner.
    let inherited = unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&file), libc::F_DUPFD, 70) };
    assert!(inherited >= 70);
    let library = hostile(Permissions::new());
    // The worker's own are hidden where the system calls are filtered, and otherwise are two.
    let found = call(&library, "count_descriptors", json!({})).await.unwrap()["result"].as_i64().unwrap();
    assert_eq!(found, if is_enforced(&library) { 0 } else { 2 });
    // SAFETY: the duplicate that was made above.
    unsafe { libc::close(inherited) };
}

#[tokio::test]
async fn memory_is_limited_as_the_operator_says() {
    let library = hostile(little_memory());
    let message = failure(&library, "malloc_bomb", json!({})).await;
    assert!(message.contains("the limit is 128M, which the operator sets with `--memory SIZE`"), "{message}");
    works(&library).await;
}

#[test]
fn a_permission_for_a_missing_path_is_an_error_naming_it() {
    let opened = building(&hostile_document(), &library("hostile"));
    let message = super::unopened(opened.permissions(Permissions::new().write("/no/such/folder")).open());
    assert!(message.contains("`--allow write=/no/such/folder`: there is no such file or folder"), "{message}");
}

#[test]
fn process_control_of_the_c_library_is_no_tool_by_default() {
    let described = document(vec![
        function("getpid", vec![], returns("pid", "integer", "int")),
        function("system", vec![takes("command", "string", "char *")], returns("status", "integer", "int")),
    ]);
    let opened = building(&described, Path::new("libc.so.6")).open().unwrap();
    assert_eq!(opened.toolbox().names().collect::<Vec<_>>(), ["getpid"]);
    let why: Vec<_> = opened.disabled().collect();
    assert!(matches!(why[..], [("system", reason)] if reason.contains("`--allow unsafe`")), "{why:?}");
    let permitted =
        building(&described, Path::new("libc.so.6")).permissions(Permissions::new().unsafe_calls(true)).open();
    assert_eq!(permitted.unwrap().toolbox().names().count(), 2);
}
