//! Libraries that use more of the machine than they may, sampled by the parent.

use std::time::Duration;

use opentool_dyn::{DynLibrary, Permissions};
use serde_json::json;

use super::attackers::attacker;
use super::{call, failure, works};

async fn worker_of(library: &DynLibrary) -> i64 {
    call(library, "process_id", json!({})).await.unwrap()["result"].as_i64().unwrap()
}

/// Waits until a worker is gone, without calling it.
async fn is_replaced(library: &DynLibrary, worker: i64) {
    let is_there = || std::fs::exists(format!("/proc/{worker}")).unwrap();
    for _ in 0..3000 {
        if !is_there() {
            works(library).await;
            assert_ne!(worker_of(library).await, worker);
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("worker {worker} goes on");
}

#[tokio::test]
async fn a_worker_with_too_many_threads_is_ended() {
    let library = attacker(Permissions::new().threads(16));
    let message = failure(&library, "wait_with", json!({ "threads": 40 })).await;
    assert_eq!(
        message,
        "`wait_with` failed: the library had more than 16 threads, the limit that the operator sets with `--threads NUMBER`"
    );
    let worker = worker_of(&library).await;
    // One that has left them is ended before the next call.
    assert_eq!(call(&library, "leave_idle", json!({ "threads": 40 })).await.unwrap(), json!({ "result": 40 }));
    is_replaced(&library, worker).await;
}

#[tokio::test]
async fn a_call_that_uses_too_much_processor_time_is_ended() {
    let library = attacker(Permissions::new().cpu(Duration::from_millis(300)));
    let message = failure(&library, "burn", json!({})).await;
    assert_eq!(
        message,
        "`burn` failed: it used more than 300ms of processor time, the limit that the operator sets with `--cpu TIME`"
    );
    works(&library).await;
}

#[tokio::test]
async fn threads_that_burn_while_no_call_runs_end_with_their_worker() {
    let library = attacker(Permissions::new());
    let worker = worker_of(&library).await;
    assert_eq!(call(&library, "leave_spinning", json!({ "threads": 2 })).await.unwrap(), json!({ "result": 2 }));
    is_replaced(&library, worker).await;
}

#[tokio::test]
async fn idle_threads_of_a_library_stay() {
    let library = attacker(Permissions::new());
    let worker = worker_of(&library).await;
    assert_eq!(call(&library, "leave_idle", json!({ "threads": 8 })).await.unwrap(), json!({ "result": 8 }));
    // Long enough for samples that would show them.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(worker_of(&library).await, worker);
}
