//! Libraries that know how their worker is made: they harm their own calls and no others.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use opentool_dyn::{DynLibrary, Permissions};
use serde_json::{Value, json};

use super::{building, call, failure, plain, takes_int, takes_text, works};
use crate::harness::{compiled, document, function, returns, takes, with};

/// The document of `tests/c/attacker.c`.
pub(super) fn attacker_document() -> Value {
    let plains = [
        "count",
        "process_id",
        "abort_now",
        "smash_page",
        "smash_pipe",
        "smash_copy",
        "forge_own",
        "forge_later",
        "forge_huge",
        "change_rounding",
        "burn",
        "crash_later",
    ];
    let mut functions: Vec<Value> = plains.map(plain).into();
    let quotient = [takes("a", "number", "double"), takes("b", "number", "double")];
    functions.extend([
        with(takes_int("add_one", "x"), json!({ "x-effect": "read" })),
        takes_int("rest_for", "milliseconds"),
        with(takes_int("read_for", "milliseconds"), json!({ "x-symbol": "rest_for", "x-effect": "read" })),
        with(plain("read_and_abort"), json!({ "x-symbol": "abort_now", "x-effect": "read" })),
        takes_int("leave_idle", "threads"),
        takes_int("leave_spinning", "threads"),
        takes_int("wait_with", "threads"),
        takes_text("note_down", "path"),
        takes_text("rewind_and_crash", "path"),
        takes_text("forge_skip", "path"),
        with(plain("read_count"), json!({ "x-effect": "read" })),
        with(plain("set_count"), json!({ "x-symbol": "read_count", "x-effect": "write", "x-idempotent": true })),
        function("tell", vec![], returns("result", "string", "char *")),
        function("divide_doubles", quotient.into(), returns("quotient", "number", "double")),
    ]);
    document(functions)
}

pub(super) fn attacker_library() -> PathBuf {
    compiled("attacker", &["-lm"])
}

pub(super) fn attacker(permissions: Permissions) -> DynLibrary {
    building(&attacker_document(), &attacker_library()).permissions(permissions).open().unwrap()
}

/// Makes a call, and with it 20 calls that count; says how it failed, and what those counted that were answered.
async fn among_others(library: &DynLibrary, name: &str) -> (String, Vec<i64>) {
    let counting = join_all((0..20).map(|_| call(library, "count", json!({}))));
    let (failed, counted) = tokio::join!(failure(library, name, json!({})), counting);
    let counted = counted.into_iter().filter_map(|count| match count {
        Ok(count) => Some(count["result"].as_i64().unwrap()),
        Err(error) => {
            assert!(error.message().contains("may have run"), "{error}");
            None
        }
    });
    (failed, counted.collect())
}

#[tokio::test]
async fn calls_queued_behind_a_damaging_one_run_once() {
    for (name, reason) in [
        ("smash_page", "failed: the library wrote into memory of its worker that is not its own"),
        (
            "smash_pipe",
            "was refused something: it tried to write into the pipe of its worker, which is never permitted",
        ),
    ] {
        let library = attacker(Permissions::new());
        let (failed, counts) = among_others(&library, name).await;
        assert_eq!(failed, format!("`{name}` {reason}"));
        assert_eq!(counts, (1..=20).collect::<Vec<_>>(), "{name}");
    }
}

/// Keeps the only thread of a runtime from reading answers, once the calls are sent and until they have run.
async fn read_late() {
    tokio::time::sleep(Duration::from_millis(50)).await;
    std::thread::sleep(Duration::from_millis(400));
}

#[tokio::test]
async fn answers_read_after_the_page_was_overwritten_count() {
    let library = attacker(Permissions::new());
    works(&library).await;
    let first = call(&library, "rest_for", json!({ "milliseconds": 200 }));
    let counting = join_all((0..10).map(|_| call(&library, "count", json!({}))));
    let smashing = failure(&library, "smash_page", json!({}));
    let (first, counted, smashed, ()) = tokio::join!(first, counting, smashing, read_late());
    assert_eq!(first.unwrap(), json!({ "result": 200 }));
    let counts: Vec<_> = counted.into_iter().map(|count| count.unwrap()["result"].as_i64().unwrap()).collect();
    assert_eq!(counts, (1..=10).collect::<Vec<_>>());
    assert_eq!(smashed, "`smash_page` failed: the library wrote into memory of its worker that is not its own");
}

#[tokio::test]
async fn calls_behind_one_that_damages_the_page_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let library = attacker(Permissions::new().write(folder.path()));
    works(&library).await;
    let first = call(&library, "rest_for", json!({ "milliseconds": 200 }));
    let smashing = failure(&library, "smash_page", json!({}));
    let path = |number: usize| folder.path().join(number.to_string());
    let noting = join_all((0..10).map(|number| call(&library, "note_down", json!({ "path": path(number) }))));
    let (first, _, noted, ()) = tokio::join!(first, smashing, noting, read_late());
    assert_eq!(first.unwrap(), json!({ "result": 200 }));
    for (number, noted) in noted.into_iter().enumerate() {
        assert_eq!(noted.unwrap(), json!({ "error": 0 }));
        assert_eq!(std::fs::read_to_string(path(number)).unwrap(), "x", "the worker of the damage did not go on");
    }
}

/// How often each of the calls ran that waited behind an attack and were over before the parent could notice it, and their results.
async fn behind(attack: &str, thread_safe: bool) -> Vec<(usize, Result<Value, String>)> {
    let folder = tempfile::tempdir().unwrap();
    let document = with(attacker_document(), json!({ "x-threadSafe": thread_safe }));
    let permissions = Permissions::new().write(folder.path());
    let library = building(&document, &attacker_library()).permissions(permissions).open().unwrap();
    works(&library).await;
    // As many as run at the same time, so that all others wait.
    let running = if thread_safe { 16 } else { 1 };
    let first = join_all((0..running).map(|_| call(&library, "rest_for", json!({ "milliseconds": 200 }))));
    let attacked = call(&library, attack, json!({}));
    let path = |number: usize| folder.path().join(number.to_string());
    let noting = join_all((0..40).map(|number| call(&library, "note_down", json!({ "path": path(number) }))));
    let (_, attacked, noted, ()) = tokio::join!(first, attacked, noting, read_late());
    assert!(attacked.is_err(), "{attack}: {attacked:?}");
    let runs = |number| std::fs::read_to_string(path(number)).unwrap_or_default().len();
    let results = noted.into_iter().map(|noted| noted.map_err(|error| error.message().to_owned()));
    results.enumerate().map(|(number, result)| (runs(number), result)).collect()
}

#[tokio::test]
async fn calls_behind_one_that_writes_into_the_pipe_run_once() {
    for thread_safe in [false, true] {
        for (runs, result) in behind("smash_pipe", thread_safe).await {
            assert_eq!((runs, result), (1, Ok(json!({ "error": 0 }))), "thread-safe {thread_safe}");
        }
    }
}

#[tokio::test]
async fn calls_that_ran_before_damage_was_noticed_are_not_sent_again() {
    let mut wrong = Vec::new();
    for (attack, thread_safe) in [("smash_copy", false), ("smash_copy", true), ("smash_page", true)] {
        for (number, (runs, result)) in behind(attack, thread_safe).await.into_iter().enumerate() {
            let is_right = match &result {
                Ok(result) => runs == 1 && *result == json!({ "error": 0 }),
                Err(message) => runs <= 1 && message.contains("may have run"),
            };
            if !is_right {
                wrong.push(format!("{attack}, thread-safe {thread_safe}, call {number}: {runs} runs, {result:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_crash_after_the_pipe_was_damaged_does_not_hide_the_damage() {
    let library = attacker(Permissions::new());
    works(&library).await;
    let first = call(&library, "rest_for", json!({ "milliseconds": 200 }));
    let smashing = failure(&library, "smash_copy", json!({}));
    let crashing = failure(&library, "abort_now", json!({}));
    let (first, smashed, _, ()) = tokio::join!(first, smashing, crashing, read_late());
    assert_eq!(first.unwrap(), json!({ "result": 200 }));
    assert_eq!(smashed, "`smash_copy` failed: the library wrote into the pipe of its worker");
}

#[tokio::test]
async fn a_call_that_began_is_not_sent_again_whatever_its_slot_says() {
    let folder = tempfile::tempdir().unwrap();
    let library = attacker(Permissions::new().write(folder.path()));
    for (name, reason) in [("rewind_and_crash", "SIGABRT"), ("forge_skip", "wrote into the pipe of its worker")] {
        let runs = folder.path().join(name);
        call(&library, "tell", json!({})).await.unwrap();
        let message = failure(&library, name, json!({ "path": runs })).await;
        assert!(message.contains(reason), "{message}");
        works(&library).await;
        assert_eq!(std::fs::read_to_string(runs).unwrap(), "x", "{name} ran once");
    }
}

#[tokio::test]
async fn a_forged_answer_to_a_call_that_waits_is_not_taken() {
    let library = attacker(Permissions::new());
    call(&library, "tell", json!({})).await.unwrap();
    // It has found an earlier answer in memory, and that is none to another call.
    let failed = failure(&library, "forge_own", json!({})).await;
    assert_eq!(failed, "`forge_own` failed: the library wrote into the pipe of its worker");
    works(&library).await;
    call(&library, "tell", json!({})).await.unwrap();
    let (failed, counts) = among_others(&library, "forge_later").await;
    assert_eq!(failed, "`forge_later` failed: the library wrote into the pipe of its worker");
    assert_eq!(counts, (1..=counts.len() as i64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_forged_answer_to_a_call_that_runs_at_the_same_time_is_not_taken() {
    let document = with(attacker_document(), json!({ "x-threadSafe": true }));
    let library = building(&document, &attacker_library()).open().unwrap();
    call(&library, "tell", json!({})).await.unwrap();
    // The next call after the answer that is found in memory, which is the one that gets the forged answer.
    let reading = call(&library, "read_for", json!({ "milliseconds": 400 }));
    let forging = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        failure(&library, "forge_own", json!({})).await
    };
    let (read, forged) = tokio::join!(reading, forging);
    assert_eq!(read.unwrap(), json!({ "result": 400 }));
    assert!(forged.contains("the library wrote into the pipe of its worker"), "{forged}");
}

#[tokio::test]
async fn repeatable_calls_run_again_if_another_ended_their_worker() {
    let document = with(attacker_document(), json!({ "x-threadSafe": true }));
    let library = building(&document, &attacker_library()).open().unwrap();
    let attacks = ["abort_now", "smash_page", "smash_copy"];
    for (name, innocent) in attacks.into_iter().flat_map(|name| [(name, "read_count"), (name, "set_count")]) {
        let reading = join_all((0..10).map(|_| call(&library, innocent, json!({}))));
        let (failed, read) = tokio::join!(failure(&library, name, json!({})), reading);
        assert!(failed.contains(&format!("`{name}` failed")), "{failed}");
        assert!(read.iter().all(|read| read.as_ref().is_ok_and(|read| *read == json!({ "result": 0 }))), "{read:?}");
    }
}

#[tokio::test]
async fn a_reading_call_survives_the_crash_of_a_thread_that_another_left() {
    let library = attacker(Permissions::new());
    for _ in 0..10 {
        // The thread may crash before its own call has answered.
        let _ = call(&library, "crash_later", json!({})).await;
        for _ in 0..20 {
            works(&library).await;
        }
    }
}

#[tokio::test]
async fn a_reading_call_that_others_keep_ending_gets_its_own_worker() {
    let document = with(attacker_document(), json!({ "x-threadSafe": true }));
    let library = building(&document, &attacker_library()).open().unwrap();
    let crashing = async {
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            failure(&library, "abort_now", json!({})).await;
        }
    };
    let reading = call(&library, "read_for", json!({ "milliseconds": 500 }));
    let (read, ()) = tokio::join!(reading, crashing);
    assert_eq!(read.unwrap(), json!({ "result": 500 }));
    works(&library).await;
}

#[tokio::test]
async fn a_reading_function_that_ends_a_worker_of_its_own_is_the_cause() {
    let library = attacker(Permissions::new());
    for _ in 0..8 {
        let failed = failure(&library, "read_and_abort", json!({})).await;
        assert!(failed.starts_with("`read_and_abort` failed: the library crashed with SIGABRT"), "{failed}");
        works(&library).await;
    }
    let refused = failure(&library, "read_and_abort", json!({})).await;
    assert!(refused.contains("`read_and_abort` cannot be called: its worker has ended 8 times in a row"), "{refused}");
    works(&library).await;
}

#[tokio::test]
async fn rounding_is_as_it_was_after_each_call() {
    let library = attacker(Permissions::new());
    let third = json!({ "a": 1.0, "b": 3.0 });
    let expected = json!({ "quotient": 1.0 / 3.0 });
    assert_eq!(call(&library, "divide_doubles", third.clone()).await.unwrap(), expected);
    call(&library, "change_rounding", json!({})).await.unwrap();
    assert_eq!(call(&library, "divide_doubles", third).await.unwrap(), expected);
}
