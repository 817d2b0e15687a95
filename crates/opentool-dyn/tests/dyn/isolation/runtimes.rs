//! Runtimes that come and go, and those that cannot do their part.

use std::sync::mpsc;
use std::time::Duration;

use futures_util::future::join_all;
use opentool_core::{ErrorKind, ToolError};
use opentool_dyn::{DynLibrary, Permissions};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{building, call, hostile, hostile_document, works};
use crate::harness::library;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The hostile library without a deadline of its own, which would need a clock of the runtime.
fn without_deadline() -> DynLibrary {
    let text = hostile_document().to_string();
    DynLibrary::builder().document_text(text).library(library("hostile")).worker(super::worker()).open().unwrap()
}

/// Does something that must not hang, in a thread that is left behind if it does.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, finished) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    finished.recv_timeout(Duration::from_secs(30)).expect("it hangs")
}

fn add_one(library: &DynLibrary) -> Result<Value, ToolError> {
    futures_util::future::FutureExt::now_or_never(call(library, "add_one", json!({ "x": 1 })))
        .unwrap_or_else(|| panic!("it waits"))
}

#[test]
fn a_call_from_a_runtime_that_shuts_down_is_refused() {
    let library = without_deadline();
    let ended = runtime();
    let handle = ended.handle().clone();
    drop(ended);
    let library = in_time(move || {
        let within = handle.enter();
        let error = add_one(&library).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("shutting down"), "{error}");
        drop(within);
        library
    });
    runtime().block_on(works(&library));
}

#[test]
fn a_call_outside_of_any_runtime_is_refused_and_others_go_on() {
    let library = without_deadline();
    let error = add_one(&library).unwrap_err();
    assert!(error.message().contains("within tokio only"), "{error}");
    runtime().block_on(works(&library));
}

#[test]
fn a_call_from_a_runtime_without_io_is_refused_and_others_go_on() {
    let library = without_deadline();
    let library = in_time(move || {
        let blind = Builder::new_current_thread().build().unwrap();
        // Long enough for its answer not to be there at once, where it would be read without the runtime.
        let error = blind.block_on(call(&library, "sleep_for", json!({ "milliseconds": 3000 }))).unwrap_err();
        assert!(error.message().contains("no I/O enabled"), "{error}");
        library
    });
    runtime().block_on(works(&library));
}

#[test]
fn a_runtime_dropped_with_calls_in_flight_ends_only_them() {
    let library = hostile(Permissions::new());
    let library = in_time(move || {
        for _ in 0..10 {
            let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            for milliseconds in 0..50 {
                let library = library.clone();
                runtime.spawn(async move {
                    loop {
                        let _ = call(&library, "sleep_for", json!({ "milliseconds": milliseconds % 2 })).await;
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(30));
            drop(runtime);
        }
        library
    });
    runtime().block_on(works(&library));
}

#[test]
fn many_libraries_open_and_answer_at_the_same_time() {
    let threads: Vec<_> = (0..12)
        .map(|_| {
            std::thread::spawn(|| {
                let library = building(&hostile_document(), &library("hostile")).open().unwrap();
                runtime().block_on(async {
                    let counts = join_all((0..20).map(|_| call(&library, "count", json!({})))).await;
                    let counts: Vec<_> = counts.into_iter().map(|count| count.unwrap()["result"].clone()).collect();
                    assert_eq!(counts, (1..=20).map(Value::from).collect::<Vec<_>>());
                });
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[tokio::test]
async fn more_calls_than_a_worker_takes_at_once_are_all_answered() {
    let library = hostile(Permissions::new());
    let counts = join_all((0..3000).map(|_| call(&library, "count", json!({})))).await;
    let mut counts: Vec<_> = counts.into_iter().map(|count| count.unwrap()["result"].as_i64().unwrap()).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=3000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_queued_call_dropped_after_its_wake_wakes_the_next() {
    let library = std::sync::Arc::new(hostile(Permissions::new()));
    for round in 0..20 {
        let calls: Vec<_> = (0..600)
            .map(|_| {
                let library = library.clone();
                tokio::spawn(async move { call(&library, "count", json!({})).await })
            })
            .collect();
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        // Those that wait and those that were woken, all at once.
        for call in calls.iter().skip(1).filter(|call| !call.is_finished()) {
            call.abort();
        }
        let next = tokio::time::timeout(Duration::from_secs(10), call(&library, "count", json!({}))).await;
        next.expect("it waits for a call that was dropped").unwrap();
        join_all(calls).await;
    }
}
