//! Hostile clients, all of them at once, and a good client that must be answered meanwhile.
//!
//! Used by `scripts/bench attack`, which measures, and by the tests of the binary, which check. Nothing but the standard
//! library, so that both can have it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How often something slow says another byte.
const PACE: Duration = Duration::from_millis(50);

/// How long an answer may take before it counts as lost.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// What a kind of attack is called, and how often it was carried out.
pub(super) type Tally = Vec<(&'static str, usize)>;

type Attack = fn(Target, Instant) -> usize;

/// Where a server is, and which of its protocols is attacked.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) server: SocketAddr,
    pub(super) route: Route,
}

/// A protocol of the server.
#[derive(Clone, Copy)]
pub(super) enum Route {
    OpenTool,
    Mcp,
}

impl Route {
    /// Finds a protocol by its name: `opentool` or `mcp`.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "opentool" => Some(Self::OpenTool),
            "mcp" => Some(Self::Mcp),
            _ => None,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::OpenTool => "/opentool/call",
            Self::Mcp => "/mcp",
        }
    }

    /// What stands before and after the arguments of a call.
    fn around_arguments(self, tool: &str) -> (String, &'static str) {
        match self {
            Self::OpenTool => (format!(r#"{{"jsonrpc":"2.0","id":"1","method":"{tool}","params":"#), "}"),
            Self::Mcp => (
                format!(r#"{{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{{"name":"{tool}","arguments":"#),
                "}}",
            ),
        }
    }
}

/// Each kind of attack, and on how many threads it runs.
const ATTACKS: [(&str, usize, Attack); 8] = [
    ("slow heads", 1, slow_heads),
    ("slow bodies", 1, slow_bodies),
    ("bodies of 1 GiB", 2, huge_bodies),
    ("endless chunks", 6, endless_chunks),
    ("nested brackets", 1, nested_brackets),
    ("short arrays", 4, short_arrays),
    ("invalid UTF-8", 1, invalid_utf8),
    ("idle connections", 1, idle_connections),
];

/// Attacks a server in every way until a moment, and says how often each was carried out.
pub(super) fn attack(target: Target, until: Instant) -> Tally {
    thread::scope(|scope| {
        let running = ATTACKS.map(|(name, threads, attack)| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(move || attack(target, until))).collect();
            (name, threads)
        });
        let count = |threads: Vec<thread::ScopedJoinHandle<'_, usize>>| {
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
        };
        running.into_iter().map(|(name, threads)| (name, count(threads))).collect()
    })
}

/// Calls `add` and asks for `/healthz` until a moment, on a connection that is kept and on new ones in turn, and says how long
/// each answer took.
///
/// # Errors
///
/// Where a call is not answered, or not with its sum.
pub(super) fn good_client(server: SocketAddr, until: Instant) -> Result<Vec<Duration>, String> {
    let mut kept: Option<TcpStream> = None;
    let mut times = Vec::new();
    for number in 0_usize.. {
        if Instant::now() >= until {
            break;
        }
        let begun = Instant::now();
        let reused = kept.take().filter(|_| !number.is_multiple_of(4));
        let mut answered = reused.and_then(|stream| add(stream, number).ok());
        if answered.is_none() {
            // A server may close a connection at any time between two calls; a good client then opens another, once.
            let stream = connect(server).map_err(|error| format!("call {number} cannot connect: {error}"))?;
            let answer = add(stream, number).map_err(|error| format!("call {number} is not answered: {error}"))?;
            answered = Some(answer);
        }
        times.push(begun.elapsed());
        if let Some((answer, stream)) = answered {
            let sum = number + 1;
            if !answer
                .ends_with(&format!(r#"{{"jsonrpc":"2.0","result":{{"sum":{sum}}},"error":null,"id":"{number}"}}"#))
            {
                return Err(format!("call {number} got {answer}"));
            }
            let begun = Instant::now();
            // Here too the server may have closed the connection.
            let healthy = healthz(stream).or_else(|_| healthz(connect(server)?));
            kept = Some(healthy.map_err(|error| format!("/healthz is not answered: {error}"))?);
            times.push(begun.elapsed());
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(times)
}

fn add(mut stream: TcpStream, number: usize) -> io::Result<(String, TcpStream)> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":"{number}","method":"add","params":{{"a":{number},"b":1}}}}"#);
    stream.write_all(&post(Route::OpenTool, &format!("content-length: {}\r\n", body.len()), body.as_bytes()))?;
    Ok((answer(&mut stream)?, stream))
}

fn healthz(mut stream: TcpStream) -> io::Result<TcpStream> {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
    match answer(&mut stream)? {
        answer if answer.starts_with("HTTP/1.1 200 ") => Ok(stream),
        answer => Err(io::Error::other(answer)),
    }
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, MAX_WAIT)?;
    stream.set_read_timeout(Some(MAX_WAIT))?;
    stream.set_write_timeout(Some(MAX_WAIT))?;
    Ok(stream)
}

fn post(route: Route, headers: &str, body: &[u8]) -> Vec<u8> {
    let path = route.path();
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

/// Reads a whole answer.
fn answer(stream: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(text.into_owned());
            }
        }
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// Holds connections open that have begun something, each of which says a byte now and then. Where the server hangs up, another
/// begins the same.
fn dribble(server: SocketAddr, until: Instant, count: usize, beginning: &[u8]) -> usize {
    let begin = || {
        let mut stream = connect(server)?;
        stream.write_all(beginning)?;
        stream.set_nonblocking(true)?;
        io::Result::Ok(stream)
    };
    let mut begun = 0;
    let mut streams: Vec<TcpStream> = Vec::new();
    while Instant::now() < until {
        streams.retain_mut(|stream| {
            let alive = match stream.write(b"x") {
                Ok(_) => true,
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            };
            // Whatever it answers, it has hung up.
            alive && matches!(stream.read(&mut [0; 512]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        });
        while streams.len() < count && Instant::now() < until {
            match begin() {
                Ok(stream) => streams.push(stream),
                Err(_) => break,
            }
            begun += 1;
        }
        thread::sleep(PACE);
    }
    begun
}

/// Heads that never end: nearly as large as heads may be, so that the server has to keep them.
fn slow_heads(target: Target, until: Instant) -> usize {
    let (path, long) = (target.route.path(), "x".repeat(15 * 1024));
    let beginning = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nx-slow: {long}");
    dribble(target.server, until, 1000, beginning.as_bytes())
}

/// Bodies that never end, below every limit of one request.
fn slow_bodies(target: Target, until: Instant) -> usize {
    dribble(target.server, until, 200, &post(target.route, "content-length: 16000000\r\n", &[b' '; 100_000]))
}

/// Writes something again and again until the server hangs up.
fn flood(target: Target, until: Instant, headers: &str, block: &[u8]) -> usize {
    let mut floods = 0;
    while Instant::now() < until {
        let Ok(mut stream) = connect(target.server) else { continue };
        let _ = stream.set_write_timeout(Some(Duration::from_millis(500)));
        if stream.write_all(&post(target.route, headers, b"")).is_ok() {
            floods += 1;
        }
        while Instant::now() < until && stream.write_all(block).is_ok() {}
    }
    floods
}

fn huge_bodies(target: Target, until: Instant) -> usize {
    flood(target, until, "content-length: 1073741824\r\n", &[b' '; 64 * 1024])
}

fn endless_chunks(target: Target, until: Instant) -> usize {
    let chunk = [b"10000\r\n", &[b' '; 0x10000][..], b"\r\n"].concat();
    flood(target, until, "transfer-encoding: chunked\r\n", &chunk)
}

/// Sends requests, each on a connection of its own, and counts those that get the status they deserve.
fn ask(target: Target, until: Instant, requests: &[(Vec<u8>, &str)]) -> usize {
    let mut answered = 0;
    while Instant::now() < until {
        for (body, status) in requests {
            let request = post(target.route, &format!("content-length: {}\r\n", body.len()), body);
            let Ok(mut stream) = connect(target.server) else { continue };
            if stream.write_all(&request).is_ok() && answer(&mut stream).is_ok_and(|answer| answer.contains(status)) {
                answered += 1;
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    answered
}

fn nested_brackets(target: Target, until: Instant) -> usize {
    let (start, end) = target.route.around_arguments("add");
    let call = |arguments: String| format!(r#"{start}{{"a":{arguments}}}{end}"#);
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    ask(
        target,
        until,
        &[
            (call(format!("{open}{close}")).into_bytes(), "HTTP/1.1 200 "),
            (call(open.clone()).into_bytes(), "HTTP/1.1 400 "),
            (open.into_bytes(), "HTTP/1.1 400 "),
        ],
    )
}

/// How many bytes the largest body may have.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// The body of a call that is as large as it may be, with a part repeated in the value of an argument.
pub(super) fn largest_body(route: Route, tool: &str, argument: &str, part: &str) -> Vec<u8> {
    let (before, after) = route.around_arguments(tool);
    repeated(&format!(r#"{before}{{"{argument}":["#), part, &format!("[]]}}{after}"))
}

/// As many parts as fit into the largest body.
fn repeated(start: &str, part: &str, end: &str) -> Vec<u8> {
    let count = (MAX_BODY - start.len() - end.len()) / (part.len() + 1);
    [start.as_bytes(), format!("{part},").repeat(count).as_bytes(), end.as_bytes()].concat()
}

/// Arrays side by side and within each other, as deep as they may be: what makes a tree of values many times larger than its
/// text.
pub(super) fn short_array_bodies(route: Route, tool: &str) -> Vec<Vec<u8>> {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    ["unknown", "a"]
        .iter()
        .flat_map(|argument| ["[]", "[[]]", &deep].map(|part| largest_body(route, tool, argument, part)))
        .collect()
}

/// A batch of messages that are none, as large as it may be.
pub(super) fn largest_batch() -> Vec<u8> {
    repeated("[", "[]", "[]]")
}

/// Sends a body and says whether the server answered, if only that it has no memory left.
pub(super) fn send_body(target: Target, body: &[u8]) -> io::Result<String> {
    let mut stream = connect(target.server)?;
    // A server that refuses a body may not read all of it.
    let _ = stream.write_all(&post(target.route, &format!("content-length: {}\r\n", body.len()), body));
    answer(&mut stream)
}

fn short_arrays(target: Target, until: Instant) -> usize {
    let mut bodies = short_array_bodies(target.route, "add");
    bodies.push(largest_batch());
    let mut answered = 0;
    while Instant::now() < until {
        for body in bodies.iter().take_while(|_| Instant::now() < until) {
            answered += usize::from(send_body(target, body).is_ok());
        }
    }
    answered
}

fn invalid_utf8(target: Target, until: Instant) -> usize {
    let (start, end) = target.route.around_arguments("add");
    let body = [start.as_bytes(), b"{\"a\":\"\xff\xfe\"}", end.as_bytes()].concat();
    ask(target, until, &[(body, "HTTP/1.1 400 "), (vec![0xc3, 0x28], "HTTP/1.1 400 ")])
}

/// As many connections as this process may have, none of which says anything.
fn idle_connections(target: Target, until: Instant) -> usize {
    let mut idle = Vec::new();
    while Instant::now() < until {
        match TcpStream::connect_timeout(&target.server, MAX_WAIT) {
            Ok(stream) => idle.push(stream),
            // No descriptor is left: some are given back, so that the other attacks go on, and the rest is kept.
            Err(_) => {
                idle.truncate(idle.len().saturating_sub(64));
                break;
            }
        }
    }
    thread::sleep(until.saturating_duration_since(Instant::now()));
    idle.len()
}
