//! What a function can do to its process: each case has one clear answer, and the next call works.

use opentool_core::ErrorKind;
use opentool_dyn::{DynLibrary, Permissions};
use serde_json::{Value, json};

use super::{call, failure, hostile, little_memory, short_timeout, works};

/// What a case must come to.
pub(super) enum Comes {
    /// An error with the function's name and all of these words.
    To(&'static [&'static str]),
    /// No answer, until the time is over.
    Nothing,
    /// A result that is as it should be.
    Well(fn(&Value) -> bool),
    /// Either: it depends on what the system enforces, and on the luck of threads.
    Whatever,
}

pub(super) struct Case {
    pub(super) function: &'static str,
    pub(super) arguments: Value,
    pub(super) comes: Comes,
}

fn case(function: &'static str, arguments: Value, comes: Comes) -> Case {
    Case { function, arguments, comes }
}

/// Every case under "Call".
pub(super) fn cases(confined: bool) -> Vec<Case> {
    let result = |value: &Value| value["result"].is_i64();
    let refused = |words: &'static [&'static str]| if confined { Comes::To(words) } else { Comes::Whatever };
    vec![
        case("null_dereference", json!({}), Comes::To(&["SIGSEGV", "invalid memory access"])),
        case("abort_now", json!({}), Comes::To(&["SIGABRT", "about to abort"])),
        case("divide", json!({ "a": 1, "b": 0 }), Comes::To(&["SIGFPE", "division by zero"])),
        case("stack_overflow", json!({}), Comes::To(&["stack overflow"])),
        case("heap_smash", json!({}), Comes::To(&["the library crashed"])),
        case("stack_smash", json!({ "length": 64 }), Comes::To(&["the library crashed"])),
        case("one_past", json!({}), Comes::To(&["SIGSEGV"])),
        case("exit_now", json!({ "status": 0 }), Comes::To(&["exit status 0"])),
        case("exit_now", json!({ "status": 3 }), Comes::To(&["exit status 3"])),
        case("busy_loop", json!({}), Comes::Nothing),
        case("sleep_for", json!({ "milliseconds": 600_000 }), Comes::Nothing),
        case("stop_itself", json!({}), Comes::Nothing),
        case("own_handler", json!({}), Comes::Nothing),
        case("print_for_ever", json!({}), Comes::Nothing),
        case("malloc_bomb", json!({}), Comes::To(&["SIGSEGV"])),
        case("fork_bomb", json!({}), refused(&["--allow unsafe"])),
        case(
            "thread_bomb",
            json!({}),
            Comes::Well(|value| value["result"].as_i64().is_some_and(|n| n > 1 && n < 100_000)),
        ),
        case("descriptor_bomb", json!({}), Comes::Well(|value| value["result"].as_i64().is_some_and(|n| n < 1000))),
        case("print_much", json!({ "megabytes": 10 }), Comes::Well(result)),
        case("close_everything", json!({}), if confined { Comes::Well(result) } else { Comes::Whatever }),
        case(
            "forge_frame",
            json!({}),
            Comes::To(&["was refused something: it tried to write into the pipe of its worker"]),
        ),
        case("crash_after_reply", json!({}), Comes::Well(|value| value["result"] == 0)),
        case(
            "shrinking_map",
            json!({}),
            // There are no files in memory for it.
            if confined { Comes::Well(|value| value["result"] == libc::EPERM) } else { Comes::To(&["SIGBUS"]) },
        ),
        case("kill_parent", json!({}), refused(&["control other processes", "--allow unsafe"])),
    ]
}

/// Libraries for all the cases: one has time, the other has not.
pub(super) struct Stage {
    usual: DynLibrary,
    short_timeout: DynLibrary,
}

impl Stage {
    pub(super) fn set() -> Stage {
        Stage { usual: hostile(little_memory()), short_timeout: short_timeout() }
    }

    /// Whether the system refuses what it should.
    pub(super) fn is_confined(&self) -> bool {
        self.usual.confinement().is_some_and(|confinement| confinement.system_calls)
    }
}

/// Makes the call of a case, and the next call, which must work.
pub(super) async fn play(stage: &Stage, case: &Case) {
    let Case { function, arguments, comes } = case;
    let library = if matches!(comes, Comes::Nothing) { &stage.short_timeout } else { &stage.usual };
    let answer = call(library, function, arguments.clone()).await;
    match (comes, answer) {
        (Comes::Whatever, _) => {}
        (Comes::Well(is_well), Ok(value)) if is_well(&value) => {}
        (Comes::To(words), Err(error)) if error.message().contains(&format!("`{function}`")) => {
            let message = error.message();
            assert!(words.iter().all(|word| message.contains(word)), "{function} wants {words:?}: {message}");
        }
        (Comes::Nothing, Err(error)) if error.kind() == ErrorKind::Timeout => {
            assert_eq!(
                error.message(),
                format!("`{function}` failed: it did not answer within 1s, and its worker was killed")
            );
        }
        (_, answer) => panic!("{function}: {answer:?}"),
    }
    if *function == "crash_after_reply" {
        // Until the thread has crashed, calls may get in its way.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    works(library).await;
    if matches!(*function, "thread_bomb" | "descriptor_bomb" | "close_everything") {
        // What the library has done to its own process remains: the next case gets another one.
        failure(library, "exit_now", json!({ "status": 1 })).await;
        works(library).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_misbehaviour_is_one_error_and_the_next_call_works() {
    let stage = Stage::set();
    for case in cases(stage.is_confined()) {
        play(&stage, &case).await;
    }
}

#[tokio::test]
async fn a_crash_reports_the_last_output_without_control_characters() {
    let library = hostile(Permissions::new());
    call(&library, "print_much", json!({ "megabytes": 1 })).await.unwrap();
    let message = failure(&library, "abort_now", json!({})).await;
    assert!(
        message
            .starts_with("`abort_now` failed: the library crashed with SIGABRT, it aborted itself; it printed last: "),
        "{message}"
    );
    assert!(message.ends_with(" | about to abort"), "{message}");
    assert!(message.len() < 2000);
}
