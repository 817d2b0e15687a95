//! How `opentool serve` comes to its end.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use super::serving::{Connection, Script, Served, envelope};
use super::*;

/// How long the slow call takes.
const SLOW: Duration = Duration::from_secs(5);

fn ask(served: &Served, function: &str) -> thread::JoinHandle<Value> {
    let (address, body) = (served.address, envelope(function, json!({})));
    thread::spawn(move || {
        let mut connection = Connection::open(address);
        connection.send("POST", "/opentool/call", &[], &body);
        connection.receive().expect("whatever was accepted is answered").json()
    })
}

/// Calls on one connection until the server closes it, and returns how many calls it sent and how many were answered.
fn keep_calling(served: &Served) -> thread::JoinHandle<(usize, usize)> {
    let (address, body) = (served.address, envelope("quick", json!({})));
    thread::spawn(move || {
        let mut connection = Connection::open(address);
        let (mut sent, mut answered) = (0, 0);
        loop {
            connection.send("POST", "/opentool/call", &[], &body);
            sent += 1;
            let Some(reply) = connection.receive() else { return (sent, answered) };
            assert_eq!(reply.json()["result"], json!({ "quick": true }));
            answered += 1;
            if reply.closes() {
                return (sent, answered);
            }
        }
    })
}

#[test]
fn sigterm_answers_everything_that_was_accepted() {
    let script = Script::with_functions(&["slow", "quick", "never"], |name| {
        match name {
            "slow" => thread::sleep(SLOW),
            "never" => return None,
            _ => {}
        }
        Some(json!({ name: true }))
    });
    let folder = TestFolder::new();
    let mut served = Served::start(&folder, &[&script.url(), "--drain-timeout", "10s"], &[]);
    let (slow, never, busy) = (ask(&served, "slow"), ask(&served, "never"), keep_calling(&served));
    for name in ["slow", "never", "quick"] {
        script.wait_for_call(name);
    }
    served.signal("TERM");
    assert_eq!(slow.join().unwrap()["result"], json!({ "slow": true }));
    let (sent, answered) = busy.join().unwrap();
    assert_eq!(sent, answered, "no call of a connection that is kept is lost");
    let never = never.join().unwrap();
    assert_eq!(never["error"]["code"], 504, "{never}");
    assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
}

#[test]
fn ctrl_c_stops_an_idle_server_at_once() {
    let folder = TestFolder::new();
    let mut served = Served::start(&folder, &[], &[]);
    served.signal("INT");
    assert_eq!(served.wait().code(), Some(0), "{}", served.logged());
}

#[test]
fn a_second_ctrl_c_gives_up_what_is_in_flight() {
    let script = Script::with_functions(&["never"], |_| None);
    let folder = TestFolder::new();
    let mut served = Served::start(&folder, &[&script.url()], &[]);
    let mut connection = Connection::open(served.address);
    connection.send("POST", "/opentool/call", &[], &envelope("never", json!({})));
    script.wait_for_call("never");
    served.signal("INT");
    served.wait_for_log("stopping");
    served.signal("INT");
    assert_eq!(served.wait().code(), Some(130));
}

#[test]
fn while_it_waits_for_the_load_balancer_it_is_not_ready_and_still_serves() {
    let folder = TestFolder::new();
    let mut served = Served::start(&folder, &["--drain-delay", "10m"], &[]);
    assert_eq!(served.get("/readyz").status, 200);
    served.signal("TERM");
    served.wait_for_log("stopping");
    assert_eq!(served.get("/readyz").status, 503);
    assert_eq!(served.get("/healthz").status, 200);
    assert_eq!(served.call("add", json!({ "a": 1, "b": 2 }))["result"], json!({ "sum": 3 }));
    served.signal("INT");
    assert_eq!(served.wait().code(), Some(130), "it would have waited for ten minutes");
}
