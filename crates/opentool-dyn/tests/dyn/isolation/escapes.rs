//! Ways around the sandbox: all of them closed, and the library is not even lost.

use std::os::unix::fs::MetadataExt as _;

use opentool_core::ErrorKind;
use opentool_dyn::{DynLibrary, Permissions};
use serde_json::json;

use super::{building, call, failure, plain, takes_int, works};
use crate::harness::{document, function, library, returns, takes, with};

fn escaping(thread_safe: bool) -> DynLibrary {
    escaping_with(thread_safe, Permissions::new())
}

fn escaping_with(thread_safe: bool, permissions: Permissions) -> DynLibrary {
    let escape = function(
        "escape",
        vec![takes("way", "string", "char *"), takes("path", "string", "char *")],
        returns("error", "integer", "int"),
    );
    let functions = vec![
        with(escape, json!({ "x-returnsCode": true })),
        plain("escape_by_32_bit"),
        takes_int("close_from", "first"),
        takes_int("add_one", "x"),
        plain("refused_together"),
        plain("innocent_together"),
    ];
    let document = with(document(functions), json!({ "x-threadSafe": thread_safe }));
    building(&document, &library("escape")).permissions(permissions).open().unwrap()
}

fn is_filtered(library: &DynLibrary) -> bool {
    library.confinement().unwrap().system_calls
}

#[tokio::test]
async fn every_way_around_the_filter_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("escape");
    std::fs::write(&path, "x").unwrap();
    // It may read, so that nothing but the filter keeps it from more.
    let library = escaping_with(false, Permissions::new().read(folder.path()));
    if !is_filtered(&library) {
        return;
    }
    let before = std::fs::metadata(&path).unwrap();
    let made = path.with_extension("made");
    let mut ways = vec![
        "own a pipe",
        "own a pipe by a struct",
        "own a socket",
        "choose the signal",
        "signal the parent",
        "signal the parent's thread",
        "signal by a descriptor",
        "trace the parent",
        "write the parent's memory",
        "limit the parent",
        "slow the parent down",
        "slow down all processes",
        "pin the parent",
        "starve the parent",
        "outlive the parent",
        "leave the group",
        "type into the terminal",
        "shared memory",
        "semaphores",
        "messages",
        "a queue",
        "a ring",
        "openat2",
        "clone3",
        "a program in memory",
        "a file in memory",
        "watch a file",
        "lock a file",
        "change the flags",
        "the network's state",
        "the network's state, by thread",
        "the mounts",
        "the mounts, older",
        "change the mode",
        "change the mode, newer",
        "change the times",
        "change attributes, newest",
    ];
    if cfg!(target_arch = "x86_64") {
        ways.push("x32");
    }
    let mut open = Vec::new();
    for way in ways {
        let target = if way.starts_with("change") || way.ends_with("a file") { &path } else { &made };
        if let Ok(result) = call(&library, "escape", json!({ "way": way, "path": target })).await {
            open.push((way, result));
        }
        works(&library).await;
    }
    assert!(open.is_empty(), "{open:?}");
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!((after.mode(), after.mtime_nsec()), (before.mode(), before.mtime_nsec()));
    assert!(!made.exists());
}

#[tokio::test]
async fn the_calls_of_32_bit_programs_end_the_worker_only() {
    let library = escaping(false);
    if cfg!(target_arch = "x86_64") && is_filtered(&library) {
        let message = failure(&library, "escape_by_32_bit", json!({})).await;
        assert!(message.contains("SIGSYS") || message.contains("SIGSEGV"), "{message}");
        assert!(!std::path::Path::new("/tmp/opentool-escape").exists());
        works(&library).await;
    }
}

#[tokio::test]
async fn a_library_that_closes_all_descriptors_at_once_goes_on() {
    let library = escaping(false);
    if is_filtered(&library) {
        assert_eq!(call(&library, "close_from", json!({ "first": 3 })).await.unwrap(), json!({ "result": 7 }));
        works(&library).await;
    }
}

#[tokio::test]
async fn a_denial_is_not_attributed_to_a_concurrent_call() {
    let library = escaping(true);
    let (refused, innocent) =
        tokio::join!(call(&library, "refused_together", json!({})), call(&library, "innocent_together", json!({})));
    assert_eq!(innocent.unwrap(), json!({ "result": 2 }));
    if is_filtered(&library) {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Denied);
        assert!(refused.message().contains("`--allow net`"), "{refused}");
    }
}
