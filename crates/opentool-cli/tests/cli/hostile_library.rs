//! A C library that attacks its worker, called and served: it harms its own calls and no others.

use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use super::serving::{Connection, Served, envelope, wait_until};
use super::{TestFolder, json as parsed};

const CLIENTS: usize = 32;

/// How many calls each client makes, and every how many is a hostile one.
const CALLS: usize = 40;
const EVERY: usize = 10;

/// Those that write to the shared page and into the pipe are among them.
const HOSTILE: [&str; 8] =
    ["smash_page", "smash_pipe", "smash_copy", "abort_now", "forge_own", "forge_later", "forge_huge", "crash_later"];

/// A folder with the library that the tests of `opentool-dyn` attack their workers with, and its document.
fn folder() -> TestFolder {
    let folder = TestFolder::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../opentool-dyn/tests/c/attacker.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o", "libattacker.so"]).arg(source).arg("-lm");
    assert!(compiler.current_dir(folder.0.path()).status().unwrap().success());
    let of_type =
        |seen: &str, c: &str, pointer: bool| json!({ "type": seen, "cType": { "type": c, "isPointer": pointer } });
    let function = |name: &str, parameters: Value, schema: Value| json!({ "name": name, "description": "As its name says.", "parameters": parameters, "return": { "name": "result", "schema": schema } });
    let int = || of_type("integer", "int", false);
    let mut add_one =
        function("add_one", json!([{ "name": "x", "schema": int(), "isIn": true, "required": true }]), int());
    add_one["x-effect"] = json!("read");
    let mut functions = vec![add_one, function("tell", json!([]), of_type("string", "char", true))];
    functions.extend(["count"].iter().chain(&HOSTILE).map(|name| function(name, json!([]), int())));
    let document = json!({
        "opendyn": "1.0.0",
        "info": { "title": "Attacker", "version": "1.0.0", "callingConvention": "cdecl" },
        "functions": functions,
    });
    folder.put("attacker.json", document.to_string());
    folder
}

/// The workers that a process has started, spares included.
fn workers(process: u32) -> usize {
    let arguments = format!("--opentool-dyn-worker\0{process}\0");
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let commands = processes.map(|path| std::fs::read_to_string(path.join("cmdline")).unwrap_or_default());
    commands.filter(|command| command.contains(&arguments)).count()
}

#[test]
fn each_attack_is_one_error_of_a_call() {
    let folder = folder();
    let call = |name: &str| folder.run(&["call", "attacker.json", name, "--library", "./libattacker.so"]);
    for (name, reason) in [
        ("smash_page", "the library wrote into memory of its worker that is not its own"),
        ("smash_pipe", "it tried to write into the pipe of its worker, which is never permitted"),
        ("smash_copy", "the library wrote into the pipe of its worker"),
        ("abort_now", "SIGABRT"),
    ] {
        let ran = call(name);
        assert!(ran.code == Some(1) && ran.stderr.contains(reason), "{name}: {ran:?}");
    }
    let ran = call("count");
    assert_eq!((ran.code, parsed(&ran.stdout)), (Some(0), json!({ "result": 1 })), "{ran:?}");
}

/// Makes the calls of a client; returns how many good ones were right, wrong, and failed.
fn call_many(served: &Served, client: usize) -> [usize; 3] {
    let mut connection = Connection::open(served.address);
    let mut call = |name: &str, arguments: Value| {
        connection.send("POST", "/opentool/call", &[], &envelope(name, arguments));
        connection.receive().unwrap().json()
    };
    let mut tally = [0; 3];
    for number in 0..CALLS {
        if number % EVERY == client % EVERY {
            call("tell", json!({}));
            call(HOSTILE[(client + number / EVERY) % HOSTILE.len()], json!({}));
            continue;
        }
        let x = client * 1000 + number;
        let answer = call("add_one", json!({ "x": x }));
        let came_to = match &answer["result"] {
            result if result["error"].is_object() || answer["error"].is_object() => 2,
            result if *result == json!({ "result": x + 1 }) => 0,
            _ => 1,
        };
        tally[came_to] += 1;
        if came_to > 0 {
            println!("{answer}");
        }
    }
    tally
}

#[test]
fn good_calls_of_many_clients_among_hostile_ones_are_right() {
    let folder = folder();
    let arguments = ["attacker.json", "--library", "./libattacker.so", "--max-calls", "64"];
    let mut served = Served::start(&folder, &arguments, &[]);
    let tallies: Vec<[usize; 3]> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let served = &served;
                    move || call_many(served, client)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let [right, wrong, failed] = [0, 1, 2].map(|kind| tallies.iter().map(|tally| tally[kind]).sum::<usize>());
    println!("{right} right, {wrong} wrong, {failed} failed");
    assert_eq!((right + failed, wrong), (CLIENTS * CALLS * (EVERY - 1) / EVERY, 0));
    assert!(failed * 100 <= right + failed, "{failed} of {} failed", right + failed);
    let process = served.pid();
    assert!(workers(process) > 0);
    served.signal("KILL");
    served.wait();
    wait_until(|| workers(process) == 0, || "the workers to end".to_owned());
}

#[test]
fn a_crash_of_one_key_does_not_end_what_another_keeps() {
    let folder = folder();
    folder.put("keys", "ann:s3cret-of-ann\nbob:s3cret-of-bob\n");
    for (workers, after) in [("shared", 1), ("per-caller", 3)] {
        let library = ["attacker.json", "--library", "./libattacker.so"];
        let served =
            Served::start(&folder, &[&library[..], &["--workers", workers, "--api-keys-file", "keys"]].concat(), &[]);
        let call = |key: &str, name: &str| {
            let headers = [("authorization", &*format!("Bearer {key}"))];
            served.ask("POST", "/opentool/call", &headers, &envelope(name, json!({}))).json()
        };
        let counted = |answer: Value| answer["result"]["result"].as_i64();
        assert_eq!(counted(call("s3cret-of-ann", "count")), Some(1));
        assert_eq!(counted(call("s3cret-of-ann", "count")), Some(2));
        let crashed = call("s3cret-of-bob", "abort_now").to_string();
        assert!(crashed.contains("SIGABRT"), "{crashed}");
        assert_eq!(counted(call("s3cret-of-ann", "count")), Some(after), "{workers}");
    }
}
