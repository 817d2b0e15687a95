//! Calls with a key survive the server: what `docs/durable.md` shows, and servers that are killed.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::readme::walk;
use super::serving::{Connection, Served, envelope};
use super::*;

const GUIDE: &str = include_str!("../../../../docs/durable.md");

#[test]
fn every_console_sample_of_the_guide_prints_what_it_shows() {
    let folder = TestFolder::new();
    let blocks = GUIDE.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("console\n"));
    // Those with a model are with the tests of chats.
    let blocks = blocks.filter(|block| !block.contains("opentool chat"));
    let commands: usize = blocks.map(|block| walk(&folder, block, "")).sum();
    assert!(commands >= 8, "{commands}");
}

#[test]
fn a_journal_that_cannot_be_used_is_a_clear_error() {
    let folder = TestFolder::with("letter.txt", "this is a letter and no database, ".repeat(100));
    for (arguments, said) in [
        (&["serve", "--port", "0", "--journal", "letter.txt"][..], "letter.txt is no SQLite database"),
        (&["serve", "--port", "0", "--journal", "no/folder/j.sqlite"], "j.sqlite cannot be opened"),
        (&["runs", "--journal", "nothing.sqlite"], "cannot read nothing.sqlite"),
        (&["runs"], "`opentool runs` needs `--journal FILE`"),
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}

/// A server with a function `pay` whose effects are counted by its argument, and which takes its time.
fn backend(effects: Arc<Mutex<HashMap<u64, usize>>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let effects = effects.clone();
            thread::spawn(move || answer_all(stream, &effects));
        }
    });
    address
}

fn answer_all(stream: TcpStream, effects: &Mutex<HashMap<u64, usize>>) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if first.is_empty() {
                first.clone_from(&line);
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let text = if first.contains("/load") {
            r#"{"opentool":"1.1.0","info":{"title":"Bank","version":"1.0.0"},"functions":[{"name":"pay","description":"Pay.","parameters":[{"name":"n","description":"Which.","schema":{"type":"integer"},"required":true}],"return":{"name":"paid","description":"What was paid.","schema":{"type":"integer"}}}]}"#.to_owned()
        } else if first.contains("/version") {
            r#"{"version":"1.0.0"}"#.to_owned()
        } else {
            let request = json(std::str::from_utf8(&body).ok()?);
            let n = request["params"]["n"].as_u64()?;
            *effects.lock().unwrap().entry(n).or_default() += 1;
            thread::sleep(Duration::from_millis(n % 30));
            format!(r#"{{"jsonrpc":"2.0","result":{{"paid":{n}}},"error":null,"id":{}}}"#, request["id"])
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", text.len());
        writer.write_all((head + &text).as_bytes()).ok()?;
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_key_has_two_effects_however_often_the_server_is_killed() {
    let requests: u64 = std::env::var("CRASH_HTTP").ok().and_then(|count| count.parse().ok()).unwrap_or(120);
    let effects: Arc<Mutex<HashMap<u64, usize>>> = Arc::default();
    let source = format!("http://{}", backend(effects.clone()));
    let folder = TestFolder::new();
    let mut answers: HashMap<u64, String> = HashMap::new();
    let (mut uncertain, mut sent) = (0, 0);
    // Each key is sent three times, in another life of the server each time where it was killed in between.
    for round in 0..3 {
        for some in (0..requests / 3).collect::<Vec<_>>().chunks(20) {
            let mut served = Served::start(&folder, &[&source, "--journal", "calls.sqlite"], &[]);
            let address = served.address;
            let calls: Vec<_> = some
                .iter()
                .map(|&n| {
                    thread::spawn(move || {
                        let key = format!("order-{n}");
                        let mut connection = Connection::open(address);
                        let headers = [("idempotency-key", key.as_str())];
                        let body = envelope("pay", serde_json::json!({ "n": n }));
                        connection.send("POST", "/opentool/call", &headers, &body);
                        (n, connection.receive().map(|reply| reply.body))
                    })
                })
                .collect();
            sent += calls.len();
            if round < 2 {
                thread::sleep(Duration::from_millis(12));
                served.signal("KILL");
                served.wait();
            }
            for call in calls {
                let Ok((n, Some(body))) = call.join() else { continue };
                match (&json(&body)["error"]["code"], answers.get(&n)) {
                    (code, None) if code == 409 => uncertain += 1,
                    (code, Some(before)) if code == 409 => panic!("{n} was answered with {before} and then {body}"),
                    (_, Some(before)) => assert_eq!(*before, body, "{n}"),
                    (code, None) => {
                        assert!(code.is_null(), "{n}: {body}");
                        answers.insert(n, body);
                    }
                }
            }
        }
    }
    let effects = effects.lock().unwrap();
    assert_eq!(effects.values().copied().max(), Some(1), "no key has two effects");
    assert!(uncertain > 0 || answers.len() as u64 == requests / 3, "{uncertain} uncertain, {} answered", answers.len());
    assert!(sent as u64 >= requests - 2, "{sent}");
}
