//! What the supervisor makes of workers that end, hang, or are not needed any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use opentool_core::{ErrorKind, Executor};
use opentool_dyn::{DynLibrary, Permissions};
use serde_json::{Value, json};

use super::{building, call, failure, hostile, hostile_document, short_timeout, works};
use crate::harness::{call_text, document, function, library, open_here, returns, takes, with};

#[tokio::test]
async fn a_crash_fails_its_call_and_queued_ones_go_to_the_next_worker() {
    let library = hostile(Permissions::new());
    let crash = async { Some(call(&library, "null_dereference", json!({})).await) };
    let counted = || async { call(&library, "count", json!({})).await };
    let (crashed, counted) = tokio::join!(crash, join_all((0..50).map(|_| counted())));
    assert!(crashed.unwrap().unwrap_err().message().contains("SIGSEGV"));
    let mut counts: Vec<_> = counted.into_iter().map(|count| count.unwrap()["result"].as_i64().unwrap()).collect();
    // None is lost and none is done twice.
    counts.sort_unstable();
    assert_eq!(counts, (1..=50).collect::<Vec<_>>());
}

#[tokio::test]
async fn calls_before_a_crash_are_answered_and_later_ones_run_once() {
    let library = hostile(Permissions::new());
    let calls = (0..100).map(|index| {
        let library = &library;
        async move {
            let name = if index == 50 { "abort_now" } else { "count" };
            call(library, name, json!({})).await
        }
    });
    let answers = join_all(calls).await;
    let counts: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()?["result"].as_i64()).collect();
    assert_eq!(counts, (1..=50).chain(1..=49).collect::<Vec<_>>());
    assert!(answers[50].as_ref().unwrap_err().message().contains("SIGABRT"));
}

#[tokio::test]
async fn one_call_runs_at_a_time_unless_the_library_is_thread_safe() {
    let sleeping = |library: opentool_dyn::DynLibrary| async move {
        let began = Instant::now();
        let slept = join_all((0..4).map(|_| call(&library, "sleep_for", json!({ "milliseconds": 150 })))).await;
        assert!(slept.iter().all(Result::is_ok), "{slept:?}");
        began.elapsed()
    };
    // A lower bound cannot fail on a slow machine: four sleeps in a row take four sleeps.
    assert!(sleeping(hostile(Permissions::new())).await >= Duration::from_millis(600));
    let document = with(hostile_document(), json!({ "x-threadSafe": true }));
    let together = building(&document, &library("hostile")).open().unwrap();
    let both = join_all(["sleep_for", "add_one"].map(|name| {
        let together = together.clone();
        async move {
            let arguments = if name == "add_one" { json!({ "x": 1 }) } else { json!({ "milliseconds": 500 }) };
            call(&together, name, arguments).await.unwrap();
            Instant::now()
        }
    }))
    .await;
    assert!(both[1] < both[0], "the short call does not wait for the long one");
}

#[tokio::test]
async fn a_crash_of_a_thread_safe_library_fails_only_begun_calls() {
    let document = with(hostile_document(), json!({ "x-threadSafe": true }));
    let library = building(&document, &library("hostile")).open().unwrap();
    let slow = call(&library, "sleep_for", json!({ "milliseconds": 1000 }));
    let crash = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        call(&library, "abort_now", json!({})).await
    };
    let (slow, crash) = tokio::join!(slow, crash);
    assert!(slow.unwrap_err().message().contains("SIGABRT"));
    assert!(crash.unwrap_err().message().contains("SIGABRT"));
    works(&library).await;
}

#[tokio::test]
async fn the_time_of_a_call_runs_while_it_runs_and_not_while_it_waits() {
    let library =
        building(&hostile_document(), &library("hostile")).timeout(Duration::from_millis(1500)).open().unwrap();
    let naps = join_all((0..4).map(|_| call(&library, "sleep_for", json!({ "milliseconds": 700 })))).await;
    assert!(naps.iter().all(Result::is_ok), "{naps:?}");
}

#[tokio::test]
async fn the_timeout_does_not_count_waiting_for_other_calls() {
    let time = Duration::from_millis(1500);
    let document = with(hostile_document(), json!({ "x-threadSafe": true }));
    for (document, at_once) in [(hostile_document(), 1), (document, 16)] {
        let library = building(&document, &library("hostile")).timeout(time).open().unwrap();
        let process = call(&library, "process_id", json!({})).await.unwrap();
        let host = Executor::builder().concurrency(64).build().host(library.clone());
        let naps = join_all((0..4 * at_once).map(|_| host.call("sleep_for", r#"{"milliseconds":500}"#))).await;
        assert!(naps.iter().all(Result::is_ok), "{naps:?}");
        assert_eq!(call(&library, "process_id", json!({})).await.unwrap(), process, "no worker was killed");
        let error = host.call("busy_loop", "{}").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(
            error.message().starts_with("`busy_loop` failed: it did not answer within 1.5s"),
            "{}",
            error.message()
        );
    }
}

#[tokio::test]
async fn a_call_lost_to_the_timeout_of_another_says_so() {
    let document = with(hostile_document(), json!({ "x-threadSafe": true }));
    let library = building(&document, &library("hostile")).timeout(Duration::from_millis(1500)).open().unwrap();
    let slow = call(&library, "sleep_for", json!({ "milliseconds": 60_000 }));
    let later = async {
        tokio::time::sleep(Duration::from_millis(800)).await;
        call(&library, "sleep_for", json!({ "milliseconds": 60_000 })).await
    };
    let (slow, later) = tokio::join!(slow, later);
    let (slow, later) = (slow.unwrap_err(), later.unwrap_err());
    assert_eq!((slow.kind(), later.kind()), (ErrorKind::Timeout, ErrorKind::Failed));
    assert_eq!(
        later.message(),
        "`sleep_for` was lost with its worker, in which another call ran for too long; it may have run"
    );
}

#[tokio::test]
async fn a_call_given_up_ends_no_other_calls_and_no_handles() {
    let give_up = |library: DynLibrary| async move {
        let long = call(&library, "sleep_for", json!({ "milliseconds": 1500 }));
        tokio::time::timeout(Duration::from_millis(100), long).await.unwrap_err();
    };
    let document = with(hostile_document(), json!({ "x-threadSafe": true }));
    let together = building(&document, &library("hostile")).open().unwrap();
    let other = call(&together, "sleep_for", json!({ "milliseconds": 800 }));
    let (other, ()) = tokio::join!(other, give_up(together.clone()));
    other.unwrap();

    let library = hostile(Permissions::new());
    let object = call(&library, "object_new", json!({})).await.unwrap();
    give_up(library.clone()).await;
    assert_eq!(call(&library, "object_use", object).await.unwrap(), json!({ "result": 1 }));
}

#[tokio::test]
async fn a_call_given_up_that_never_ends_is_ended_by_its_timeout() {
    let library = short_timeout();
    let object = call(&library, "object_new", json!({})).await.unwrap();
    tokio::time::timeout(Duration::from_millis(100), call(&library, "busy_loop", json!({}))).await.unwrap_err();
    works(&library).await;
    let stale = call(&library, "object_use", object).await.unwrap_err();
    assert!(stale.message().contains("went with a library that was started again"), "{}", stale.message());
}

#[tokio::test]
async fn a_call_that_is_given_up_before_it_began_never_begins() {
    let library = hostile(Permissions::new());
    let slow = call(&library, "sleep_for", json!({ "milliseconds": 300 }));
    let given_up = tokio::time::timeout(Duration::from_millis(50), call(&library, "count", json!({})));
    let (slow, given_up) = tokio::join!(slow, given_up);
    slow.unwrap();
    given_up.unwrap_err();
    assert_eq!(call(&library, "count", json!({})).await.unwrap(), json!({ "result": 1 }));
}

#[tokio::test]
async fn only_a_call_given_up_that_hangs_ends_its_worker() {
    let library = hostile(Permissions::new());
    let worker = call(&library, "process_id", json!({})).await.unwrap();
    tokio::time::timeout(Duration::from_millis(10), call(&library, "sleep_for", json!({ "milliseconds": 40 })))
        .await
        .unwrap_err();
    assert_eq!(call(&library, "process_id", json!({})).await.unwrap(), worker, "what it keeps in memory is kept");
    tokio::time::timeout(Duration::from_millis(50), call(&library, "busy_loop", json!({}))).await.unwrap_err();
    let next = call(&library, "process_id", json!({})).await.unwrap();
    assert_ne!(next, worker);
    assert!(!is_running(worker["result"].as_i64().unwrap()));
}

#[tokio::test]
async fn the_deadline_of_the_executor_ends_a_call_that_hangs() {
    let library = hostile(Permissions::new());
    let host = Executor::builder().timeout(Duration::from_millis(200)).build().host(library.clone());
    let error = host.call("busy_loop", "{}").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    works(&library).await;
}

#[tokio::test]
async fn only_the_function_that_keeps_crashing_is_refused() {
    let library = hostile(Permissions::new());
    let mut messages = Vec::new();
    for _ in 0..12 {
        messages.push(failure(&library, "null_dereference", json!({})).await);
    }
    assert!(messages[..8].iter().all(|message| message.contains("`null_dereference` failed: the library crashed")));
    for refused in &messages[8..] {
        let expected = "`null_dereference` cannot be called: its worker has ended 8 times in a row";
        assert!(refused.contains(expected) && refused.contains("SIGSEGV"), "{refused}");
    }
    works(&library).await;
    assert!(failure(&library, "abort_now", json!({})).await.contains("SIGABRT"), "another function has its own count");
    works(&library).await;
    let refused = failure(&library, "null_dereference", json!({})).await;
    assert!(refused.contains("cannot be called"), "{refused}");
}

#[tokio::test]
async fn a_function_that_is_answered_is_not_refused_however_late_that_is_read() {
    let library = hostile(Permissions::new());
    for _ in 0..9 {
        works(&library).await;
        let first = call(&library, "sleep_for", json!({ "milliseconds": 60 }));
        let divided = call(&library, "divide", json!({ "a": 4, "b": 2 }));
        let crashed = failure(&library, "divide", json!({ "a": 1, "b": 0 }));
        // The only thread of the runtime reads nothing until the worker has ended.
        let busy = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            std::thread::sleep(Duration::from_millis(200));
        };
        let (first, divided, crashed, ()) = tokio::join!(first, divided, crashed, busy);
        first.unwrap();
        assert_eq!(divided.unwrap(), json!({ "result": 2 }));
        assert!(crashed.contains("SIGFPE"), "{crashed}");
    }
}

#[tokio::test]
async fn a_handle_of_a_worker_that_ended_is_refused() {
    let library = hostile(Permissions::new());
    let object = call(&library, "object_new", json!({})).await.unwrap();
    assert_eq!(call(&library, "object_use", object.clone()).await.unwrap(), json!({ "result": 1 }));
    failure(&library, "abort_now", json!({})).await;
    let message = failure(&library, "object_use", object).await;
    assert!(message.contains("object"), "{message}");
    works(&library).await;
}

#[tokio::test]
async fn long_arguments_and_results_pass_the_pipes() {
    let library = hostile(Permissions::new());
    let long = "x".repeat(1 << 20);
    let message = failure(&library, "read_file", json!({ "path": long })).await;
    assert!(message.contains("`read_file`"), "{message}");
    let calls = join_all((0..20).map(|_| call(&library, "variable", json!({ "name": "x".repeat(200_000) })))).await;
    assert!(calls.iter().all(|call| *call.as_ref().unwrap() == json!({ "value": null })));
}

#[tokio::test]
async fn a_hundred_mebibytes_pass_the_pipes_and_are_not_kept() {
    let library = hostile(Permissions::new());
    let worker = call(&library, "process_id", json!({})).await.unwrap()["result"].as_i64().unwrap();
    let long = json!({ "name": "x".repeat(100 << 20) });
    assert_eq!(call(&library, "variable", long).await.unwrap(), json!({ "value": null }));
    works(&library).await;
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kibibytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kibibytes < 100 << 10, "{kibibytes} KiB");
}

#[test]
fn ten_million_elements_pass_the_pipes_and_the_next_call_works() {
    let values = with(takes("values", "array", "int *"), json!({ "x-lengthParam": "count" }));
    let count = takes("count", "integer", "int");
    let last = function("last_of_int", vec![values, count], returns("last", "integer", "int"));
    let library = building(&document(vec![last]), &library("types")).open().unwrap();
    let ten_million = "7,".repeat(9_999_999);
    let last_of = |values: &str| call_text(&library, "last_of_int", &format!(r#"{{"values":[{values}]}}"#));
    assert_eq!(last_of(&format!("{ten_million}8")).unwrap(), r#"{"last":8}"#);
    assert_eq!(last_of("1,2").unwrap(), r#"{"last":2}"#);
}

#[tokio::test]
async fn thousands_of_handles_are_distinct() {
    let library = hostile(Permissions::new());
    let objects = join_all((0..5000).map(|_| call(&library, "object_new", json!({})))).await;
    let objects: Vec<_> = objects.into_iter().map(Result::unwrap).collect();
    let tokens: std::collections::HashSet<_> = objects.iter().map(ToString::to_string).collect();
    assert_eq!(tokens.len(), 5000);
    let used = join_all(objects.into_iter().map(|object| call(&library, "object_use", object))).await;
    assert!(used.into_iter().all(|used| used.unwrap() == json!({ "result": 1 })));
}

#[test]
fn a_library_outlives_the_runtimes_that_call_it() {
    let library = Arc::new(hostile(Permissions::new()));
    for round in 1..=3 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(call(&library, "count", json!({}))).unwrap(), json!({ "result": round }));
    }
    // A runtime that ends while another one's call is in flight: another task must go on reading.
    let first = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    first.block_on(call(&library, "count", json!({}))).unwrap();
    let waiting = std::thread::spawn({
        let library = library.clone();
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(call(&library, "sleep_for", json!({ "milliseconds": 400 })))
        }
    });
    std::thread::sleep(Duration::from_millis(100));
    drop(first);
    assert_eq!(waiting.join().unwrap().unwrap(), json!({ "result": 400 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_library_during_a_hung_call_ends_its_worker() {
    let library = hostile(Permissions::new());
    let worker = call(&library, "process_id", json!({})).await.unwrap()["result"].as_i64().unwrap();
    let hung = tokio::spawn(async move { call(&library, "busy_loop", json!({})).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    hung.abort();
    assert!(hung.await.unwrap_err().is_cancelled());
    is_gone(worker).await;
}

#[tokio::test]
async fn a_daemon_left_behind_is_gone_with_the_library() {
    let library = hostile(Permissions::new().unsafe_calls(true));
    let worker = call(&library, "process_id", json!({})).await.unwrap()["result"].as_i64().unwrap();
    call(&library, "leave_daemon", json!({})).await.unwrap();
    failure(&library, "abort_now", json!({})).await;
    works(&library).await;
    call(&library, "leave_daemon", json!({})).await.unwrap();
    drop(library);
    is_gone(worker).await;
}

fn is_running(process: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

async fn is_gone(process: i64) {
    for _ in 0..300 {
        if !is_running(process) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {process} is still there");
}

/// The functions of the hostile library that do no harm, in this process.
fn harmless_here() -> opentool_dyn::DynLibrary {
    let sleep = function("sleep_for", vec![takes("milliseconds", "integer", "int")], Value::Null);
    let count = function("count", vec![], returns("result", "integer", "int"));
    open_here(&document(vec![sleep, count]), &library("hostile")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_in_process_wait_for_each_other_off_the_async_threads() {
    let library = harmless_here();
    let (began, finished) = (Instant::now(), Arc::new(AtomicUsize::new(0)));
    let sleeps: Vec<_> = (0..3)
        .map(|_| {
            let (library, finished) = (library.clone(), finished.clone());
            tokio::spawn(async move {
                let slept = call(&library, "sleep_for", json!({ "milliseconds": 200 })).await;
                finished.fetch_add(1, Ordering::SeqCst);
                slept
            })
        })
        .collect();
    // One call holds an async thread; if those that wait for it held the other, this could not run beside it.
    let beside = tokio::spawn(async move {
        let mut ticks = 0;
        while finished.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ticks += 1;
        }
        ticks
    });
    assert!(beside.await.unwrap() > 3, "the async threads were held");
    for sleep in sleeps {
        sleep.await.unwrap().unwrap();
    }
    assert!(began.elapsed() >= Duration::from_millis(600), "two calls ran at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_call_that_is_dropped_never_begins() {
    let library = harmless_here();
    let count = || async { call(&library, "count", json!({})).await.unwrap()["result"].as_i64().unwrap() };
    let before = count().await;
    let sleeping = tokio::spawn({
        let library = library.clone();
        async move { call(&library, "sleep_for", json!({ "milliseconds": 400 })).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let given_up = tokio::time::timeout(Duration::from_millis(50), count()).await;
    assert!(given_up.is_err(), "it did not wait");
    sleeping.await.unwrap().unwrap();
    assert_eq!(count().await, before + 1);
}
