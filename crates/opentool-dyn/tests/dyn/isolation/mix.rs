//! Good calls and hostile ones of the same library, from many callers at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use opentool_core::{Executor, Host};
use opentool_dyn::{DynLibrary, Permissions};
use serde_json::{Value, json};

use super::attackers::{attacker_document, attacker_library};
use super::{building, works};
use crate::harness::with;

const CALLERS: usize = 32;

/// How many calls each makes, and every how many is a hostile one.
const CALLS: usize = 60;
const EVERY: usize = 10;

/// Those that write to the page and into the pipe are among them.
const HOSTILE: [&str; 8] =
    ["smash_page", "smash_pipe", "smash_copy", "abort_now", "forge_own", "forge_later", "forge_huge", "crash_later"];

/// What came of the good calls.
#[derive(Default)]
struct Tally {
    right: AtomicUsize,
    wrong: AtomicUsize,
    /// Each error, and how often it was that.
    failed: Mutex<BTreeMap<String, usize>>,
}

async fn call_many(host: Host, caller: usize, tally: Arc<Tally>) {
    for number in 0..CALLS {
        if number % EVERY == caller % EVERY {
            let name = HOSTILE[(caller + number / EVERY) % HOSTILE.len()];
            let _ = host.call("tell", "{}").await;
            let _ = host.call(name, "{}").await;
            continue;
        }
        let x = caller * 1000 + number;
        let counted = match host.call("add_one", format!(r#"{{"x":{x}}}"#)).await {
            Ok(output) if output.to_text() == format!(r#"{{"result":{}}}"#, x + 1) => &tally.right,
            Ok(_) => &tally.wrong,
            Err(error) => {
                *tally.failed.lock().unwrap().entry(error.message().to_owned()).or_default() += 1;
                continue;
            }
        };
        counted.fetch_add(1, Ordering::Relaxed);
    }
}

async fn mixed(document: &Value) -> (DynLibrary, Arc<Tally>) {
    let library = building(document, &attacker_library()).permissions(Permissions::new()).open().unwrap();
    let (host, tally) = (Executor::new().host(library.clone()), Arc::new(Tally::default()));
    let callers: Vec<_> =
        (0..CALLERS).map(|caller| tokio::spawn(call_many(host.clone(), caller, tally.clone()))).collect();
    for caller in callers {
        caller.await.unwrap();
    }
    (library, tally)
}

#[tokio::test(flavor = "multi_thread")]
async fn good_calls_among_hostile_ones_are_right_and_hardly_ever_fail() {
    for thread_safe in [false, true] {
        let document = with(attacker_document(), json!({ "x-threadSafe": thread_safe }));
        let (library, tally) = mixed(&document).await;
        let [right, wrong] = [&tally.right, &tally.wrong].map(|count| count.load(Ordering::Relaxed));
        let errors = tally.failed.lock().unwrap().clone();
        let failed: usize = errors.values().sum();
        println!("thread-safe {thread_safe}: {right} right, {wrong} wrong, {failed} failed: {errors:#?}");
        assert_eq!((right + failed, wrong), (CALLERS * CALLS * (EVERY - 1) / EVERY, 0));
        assert!(failed * 100 <= right + failed, "{failed} of {} failed", right + failed);
        works(&library).await;
    }
}
