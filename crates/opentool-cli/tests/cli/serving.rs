//! A running `opentool serve`, a client as raw as a socket, and a scripted server.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::*;

/// Long enough for a busy machine; nothing that works takes as long.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(60);

/// The variables that mean something to `opentool serve`.
const VARIABLES: [&str; 6] = [
    "OPENTOOL_API_KEY",
    "OPENTOOL_MODEL",
    "RUST_LOG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_SERVICE_NAME",
];

/// A running `opentool serve`, which does not outlive the test.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    /// Everything it said before it could be called.
    pub(crate) announcement: String,
    /// The lines that follow on standard output.
    output: Mutex<mpsc::Receiver<String>>,
    logged: Arc<Mutex<String>>,
}

impl Served {
    /// Starts a server on a port that is free.
    pub(crate) fn start(folder: &TestFolder, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--port", "0"]);
        Self::start_exactly(folder, &arguments, environment)
    }

    /// Starts a server that may have so many files and sockets open.
    pub(crate) fn start_limited(folder: &TestFolder, descriptors: u32) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!(r#"ulimit -n {descriptors} && exec "$0" serve --port 0"#)]).arg(binary());
        Self::start_by(command, folder, &[])
    }

    pub(crate) fn start_exactly(folder: &TestFolder, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(binary());
        command.arg("serve").args(arguments);
        Self::start_by(command, folder, environment)
    }

    fn start_by(mut command: Command, folder: &TestFolder, environment: &[(&str, &str)]) -> Self {
        command.current_dir(folder.0.path());
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        command.env("XDG_STATE_HOME", folder.path("state")).envs(environment.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let logged = Arc::new(Mutex::new(String::new()));
        let (mut stderr, log) = (child.stderr.take().unwrap(), logged.clone());
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                log.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let output = lines(child.stdout.take().unwrap());
        let announcement = announcement(&output);
        let listening = announcement.lines().find_map(|line| line.strip_prefix("listening on "));
        let as_json = || Some(serde_json::from_str::<Value>(&announcement).ok()?["url"].as_str()?.to_owned());
        let Some(url) = listening.map(str::to_owned).or_else(as_json) else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it does not listen: {announcement}{}", logged.lock().unwrap());
        };
        let authority = url.split('/').nth(2).unwrap();
        let address = authority.parse().unwrap();
        Served { child, url, address, announcement, output: Mutex::new(output), logged }
    }

    /// What it said on standard output after its announcement, once it has ended.
    pub(crate) fn later_output(&self) -> Vec<String> {
        self.output.lock().unwrap().iter().collect()
    }

    /// What it said on standard error so far.
    pub(crate) fn logged(&self) -> String {
        self.logged.lock().unwrap().clone()
    }

    /// Waits until it has said something on standard error.
    pub(crate) fn wait_for_log(&self, text: &str) {
        wait_until(|| self.logged().contains(text), || format!("`{text}` in {}", self.logged()));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < MAX_WAIT, "it does not end: {}", self.logged());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut connection = Connection::open(self.address);
        connection.send(method, path, headers, body);
        connection.receive().unwrap()
    }

    /// Calls a function and returns the whole JSON-RPC answer.
    pub(crate) fn call(&self, function: &str, arguments: Value) -> Value {
        self.ask("POST", "/opentool/call", &[], &envelope(function, arguments)).json()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines that a server prints, as they come.
fn lines(stdout: ChildStdout) -> mpsc::Receiver<String> {
    let (said, heard) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = said.send(line);
        }
    });
    heard
}

/// What a server says until it can be called, or until it has nothing more to say.
fn announcement(output: &mpsc::Receiver<String>) -> String {
    let mut announcement = String::new();
    let mut next_commands = None;
    while let Ok(line) = output.recv_timeout(MAX_WAIT) {
        announcement.push_str(&line);
        announcement.push('\n');
        next_commands = match next_commands {
            Some(count) => Some(count + 1),
            None => (line == "next:").then_some(0),
        };
        if next_commands == Some(3) || line.starts_with('{') {
            break;
        }
    }
    announcement
}

pub(crate) fn envelope(function: &str, arguments: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": "1", "method": function, "params": arguments }).to_string()
}

pub(crate) fn wait_until(mut done: impl FnMut() -> bool, what: impl Fn() -> String) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < MAX_WAIT, "waited too long for {}", what());
        thread::sleep(Duration::from_millis(20));
    }
}

/// An HTTP answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        super::json(&self.body)
    }

    pub(crate) fn closes(&self) -> bool {
        self.head.to_lowercase().contains("connection: close")
    }
}

/// A connection that is kept for as many requests as wanted.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
        Connection(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        if !body.is_empty() {
            request.push_str("content-type: application/json\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        self.0.get_mut().write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
    }

    /// What is left to read, for an answer that comes in pieces.
    pub(crate) fn into_reader(self) -> BufReader<TcpStream> {
        self.0
    }

    /// Reads an answer; none where the connection was closed before one began.
    pub(crate) fn receive(&mut self) -> Option<Reply> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match self.0.read_line(&mut head) {
                Ok(1..) => {}
                _ if head.is_empty() => return None,
                other => panic!("the answer breaks off: {other:?} after {head}"),
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut body = vec![0; length(&head)];
        self.0.read_exact(&mut body).unwrap();
        Some(Reply { status, head, body: String::from_utf8(body).unwrap() })
    }
}

fn length(head: &str) -> usize {
    let header = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:").map(str::to_owned));
    header.map_or(0, |length| length.trim().parse().unwrap())
}

/// A request that a [`Script`] got.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Whether it calls a function, also with an answer in pieces.
    pub(crate) fn is_call(&self) -> bool {
        ["/call", "/streamCall"].iter().any(|route| self.path().ends_with(route))
    }
}

/// A scripted server, each connection on a thread of its own.
pub(crate) struct Script {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Script {
    /// Starts a server whose answers are status and body; none is no answer at all.
    pub(crate) fn start(answer: impl Fn(&Request) -> Option<(u16, String)> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (requests.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (seen.clone(), answer.clone());
                thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        Script { address, requests }
    }

    /// A server whose document has these functions, and whose calls are answered by a result or not at all.
    pub(crate) fn with_functions(names: &[&str], call: impl Fn(&str) -> Option<Value> + Send + Sync + 'static) -> Self {
        let document = document(names, None).to_string();
        Script::start(move |request| match request.path() {
            "/opentool/load" => Some((200, document.clone())),
            "/opentool/version" => Some((200, json!({ "version": "9.8.7" }).to_string())),
            _ => {
                let called = request.json();
                let result = call(called["method"].as_str().unwrap())?;
                let answer = json!({ "jsonrpc": "2.0", "result": result, "error": null, "id": called["id"] });
                Some((200, answer.to_string()))
            }
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Waits until a function was called.
    pub(crate) fn wait_for_call(&self, function: &str) {
        let called = || {
            let requests = self.requests();
            requests.iter().any(|request| request.is_call() && request.json()["method"] == function)
        };
        wait_until(called, || format!("a call of {function}"));
    }
}

fn serve(
    stream: TcpStream,
    seen: &Mutex<Vec<Request>>,
    answer: &(dyn Fn(&Request) -> Option<(u16, String)> + Send + Sync),
) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            match stream.read_line(&mut head) {
                Ok(1..) => {}
                _ => return,
            }
        }
        let mut body = vec![0; length(&head)];
        if stream.read_exact(&mut body).is_err() {
            return;
        }
        let request = Request { head, body };
        seen.lock().unwrap().push(request.clone());
        let Some((status, body)) = answer(&request) else {
            // Nothing comes until the client goes away.
            let _ = stream.read(&mut [0]);
            return;
        };
        let head =
            format!("HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.get_mut().write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

/// A document of functions without parameters.
pub(crate) fn document(names: &[&str], url: Option<&str>) -> Value {
    let functions = names.iter().map(|name| json!({ "name": name, "description": "Do it.", "parameters": [] }));
    let mut document = json!({
        "opentool": "1.1.0",
        "info": { "title": "Script", "version": "1.0.0" },
        "functions": functions.collect::<Vec<_>>(),
    });
    if let Some(url) = url {
        document["server"] = json!({ "url": url });
    }
    document
}
