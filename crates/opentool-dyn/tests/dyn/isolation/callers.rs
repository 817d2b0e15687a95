//! Workers for each caller apart.

use std::time::Duration;

use futures_util::future::join_all;
use opentool_core::{Arguments, ErrorKind, Invocation, Tool, ToolContext, ToolError};
use opentool_dyn::{DynLibrary, WorkerSharing};
use serde_json::{Value, json};

use super::{building, hostile_document, works};
use crate::harness::library;

fn per_caller() -> DynLibrary {
    let sharing = WorkerSharing::PerCaller;
    building(&hostile_document(), &library("hostile")).worker_sharing(sharing).open().unwrap()
}

/// Calls a tool as a caller of this name.
async fn call_as(library: &DynLibrary, caller: &str, name: &str, arguments: Value) -> Result<Value, ToolError> {
    let arguments = Arguments::from(arguments.to_string().as_str());
    let context = ToolContext::new().with_caller(caller);
    let output = library.toolbox().get(name).unwrap().call(Invocation::new(&arguments, &context)).await?;
    Ok(serde_json::from_str(&output.to_text()).unwrap())
}

async fn worker_of(library: &DynLibrary, caller: &str) -> i64 {
    call_as(library, caller, "process_id", json!({})).await.unwrap()["result"].as_i64().unwrap()
}

#[tokio::test]
async fn a_crash_of_one_caller_does_not_end_the_handles_of_another() {
    let library = per_caller();
    let object = call_as(&library, "ann", "object_new", json!({})).await.unwrap();
    assert_eq!(call_as(&library, "ann", "count", json!({})).await.unwrap(), json!({ "result": 1 }));
    assert_eq!(
        call_as(&library, "bob", "count", json!({})).await.unwrap(),
        json!({ "result": 1 }),
        "a memory of his own"
    );
    let foreign = call_as(&library, "bob", "object_use", object.clone()).await.unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::InvalidArguments, "{foreign}");
    let crashed = call_as(&library, "bob", "abort_now", json!({})).await.unwrap_err();
    assert!(crashed.message().contains("SIGABRT"), "{crashed}");
    assert_eq!(call_as(&library, "ann", "object_use", object).await.unwrap(), json!({ "result": 1 }));
    assert_eq!(call_as(&library, "ann", "count", json!({})).await.unwrap(), json!({ "result": 2 }));
    works(&library).await;
}

#[tokio::test]
async fn callers_share_a_worker_unless_the_operator_says_otherwise() {
    let library = building(&hostile_document(), &library("hostile")).open().unwrap();
    assert_eq!(worker_of(&library, "ann").await, worker_of(&library, "bob").await);
}

#[tokio::test]
async fn at_most_sixteen_callers_have_workers() {
    let library = per_caller();
    let first = worker_of(&library, "caller 0").await;
    for number in 1..=16 {
        worker_of(&library, &format!("caller {number}")).await;
    }
    is_gone(first).await;
    let callers: Vec<String> = (0..17).map(|number| format!("busy {number}")).collect();
    let naps = callers.iter().map(|caller| call_as(&library, caller, "sleep_for", json!({ "milliseconds": 1500 })));
    let (naps, refused): (Vec<_>, Vec<_>) = join_all(naps).await.into_iter().partition(Result::is_ok);
    assert_eq!((naps.len(), refused.len()), (16, 1));
    let error = refused[0].as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    works(&library).await;
}

#[tokio::test]
async fn the_worker_of_a_caller_that_makes_no_calls_is_ended() {
    let sharing = WorkerSharing::PerCaller;
    let builder = building(&hostile_document(), &library("hostile")).worker_sharing(sharing);
    let library = builder.idle_timeout(Duration::from_millis(100)).open().unwrap();
    let worker = worker_of(&library, "ann").await;
    is_gone(worker).await;
    assert_ne!(worker_of(&library, "ann").await, worker);
}

async fn is_gone(process: i64) {
    for _ in 0..3000 {
        if !std::fs::exists(format!("/proc/{process}")).unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {process} is still there");
}
