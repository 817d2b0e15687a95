//! `roundtrip COMMAND ARG…` starts an MCP server, calls `add` over its standard streams again and again, one call after the other,
//! checks every answer, and prints the nanoseconds of a call: of the best hundred, and of the median one.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// How many calls are timed together, and how often.
const CALLS: usize = 100;
const ROUNDS: usize = 300;

/// A slow server is called for this long, however few rounds that gives.
const LONGEST: Duration = Duration::from_secs(3);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let program = arguments.next().ok_or("which command?")?;
    let mut server = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = server.stdin.take().ok_or("no input")?;
    let mut output = BufReader::new(server.stdout.take().ok_or("no output")?);
    let mut answer = String::new();
    let mut ask = |message: &str, answer: &mut String| -> Result<(), Failure> {
        answer.clear();
        input.write_all(message.as_bytes())?;
        if output.read_line(answer)? == 0 {
            return Err("the server ended".into());
        }
        Ok(())
    };
    let begin = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
    ask(&format!("{begin}\n"), &mut answer)?;
    // A notification has no answer, so a request goes with it.
    let begun = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    ask(&format!("{begun}\n{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}}\n"), &mut answer)?;
    let mut times = Vec::with_capacity(ROUNDS);
    let begun = Instant::now();
    for round in 0..=ROUNDS {
        if begun.elapsed() > LONGEST && !times.is_empty() {
            break;
        }
        let started = Instant::now();
        for number in 0..CALLS {
            let call = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"tools/call\",\"params\":{{\"name\":\"add\",\"arguments\":{{\"a\":{number},\"b\":2}}}}}}\n"
            );
            ask(&call, &mut answer)?;
            if !answer.contains(&format!("\"text\":\"{}\"", number + 2)) {
                return Err(format!("a call got {answer}").into());
            }
        }
        // The first round warms up.
        if round > 0 {
            times.push(started.elapsed().as_nanos() / CALLS as u128);
        }
    }
    times.sort_unstable();
    println!("{} {}", times[0], times[times.len() / 2]);
    drop(input);
    server.wait()?;
    Ok(())
}
