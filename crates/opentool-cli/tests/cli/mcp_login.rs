//! `opentool mcp login` at a server that wants OAuth, and `/readyz` of a server whose MCP server is away.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use super::{serving::Served, *};

/// The token that is good now.
type Token = Arc<Mutex<Option<String>>>;

/// An authorization server, before `opentool serve`. The flow itself is tested in the library.
struct Guarded {
    base: String,
    token: Token,
}

impl Guarded {
    fn start(served: &Served) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let token = Token::default();
        let (site, good, behind) = (base.clone(), token.clone(), served.address);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (site, good) = (site.clone(), good.clone());
                thread::spawn(move || answer(stream, &site, &good, behind));
            }
        });
        Self { base, token }
    }

    fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }
}

/// Reads a request: its head and its body.
fn read_request(stream: &mut impl std::io::Read) -> Option<(String, String)> {
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => read.extend_from_slice(&piece[..count]),
        }
    }
}

fn answer(mut stream: TcpStream, base: &str, good: &Token, behind: SocketAddr) {
    let Some((head, body)) = read_request(&mut stream) else { return };
    let path = head.split(' ').nth(1).unwrap();
    let (route, query) = path.split_once('?').unwrap_or((path, ""));
    let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).unwrap();
    let json = |value: serde_json::Value| ("200 OK", String::new(), value.to_string());
    let (status, header, text) = match route {
        "/.well-known/oauth-protected-resource/mcp" => {
            json(serde_json::json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }))
        }
        "/.well-known/oauth-authorization-server" => json(serde_json::json!({
            "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => json(serde_json::json!({ "client_id": "client", "redirect_uris": [] })),
        "/authorize" => {
            let back = parameter("redirect_uri").replace("%3A", ":").replace("%2F", "/");
            ("302 Found", format!("Location: {back}?code=code&state={}\r\n", parameter("state")), String::new())
        }
        "/token" => {
            assert!(body.contains("code=code") && body.contains("code_verifier="), "{body}");
            *good.lock().unwrap() = Some("t0ken".to_owned());
            json(serde_json::json!({ "access_token": "t0ken", "token_type": "Bearer" }))
        }
        _ => {
            let token = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("authorization: bearer ").map(str::to_owned));
            if token.is_some() && token == *good.lock().unwrap() {
                let mut server = TcpStream::connect(behind).unwrap();
                let head = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
                write!(server, "{head}\r\n\r\n{body}").unwrap();
                let _ = std::io::copy(&mut server, &mut stream);
                return;
            }
            let challenge = format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
            ("401 Unauthorized", format!("WWW-Authenticate: {challenge}\r\n"), String::new())
        }
    };
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{header}Content-Length: {length}\r\nConnection: close"
    );
    let _ = write!(stream, "{head}\r\n\r\n{text}");
}

/// Opens a URL as a browser does; returns the head and the page.
fn open(url: &str) -> (String, String) {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), page.to_owned())
}

/// Where the authorization server sends the browser.
fn redirect(url: &str) -> String {
    let (head, _) = open(url);
    head.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap_or_else(|| panic!("{head}")).to_owned()
}

fn login(folder: &TestFolder, server: &[&str]) -> (std::process::Child, String) {
    let mut command = Command::new(binary());
    command.args(["mcp", "login", "--no-browser"]).args(server).env("XDG_STATE_HOME", folder.path("state"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().to_owned())
}

#[test]
fn a_login_lets_every_command_in() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &[], &[]);
    let guarded = Guarded::start(&served);
    let source = format!("mcp+{}", guarded.url());
    let call = || folder.run(&["call", &source, "add", "a=1", "b=2"]);
    let refused = |ran: &Ran| {
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.stderr.contains(&format!("run `opentool mcp login {}`", guarded.url())), "{ran:?}");
    };
    refused(&call());

    let (child, url) = login(&folder, &[&guarded.url()]);
    let (head, page) = open(&redirect(&url));
    assert!(head.starts_with("HTTP/1.1 200 ") && page.contains("close this page"), "{head} {page}");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.contains("logged in at http://127.0.0.1"), "{said}");
    assert!(!said.contains("t0ken"));
    let ran = call();
    assert_eq!((ran.code, json(&ran.stdout)), (Some(0), serde_json::json!({ "result": "3" })), "{ran:?}");

    *guarded.token.lock().unwrap() = None;
    refused(&call());

    // By the name of a table, and with a browser on another machine: the URL is pasted.
    let table = format!("[sources.guarded]\nkind = \"mcp\"\nurl = \"{}\"\n", guarded.url());
    let config = folder.put("tools.toml", table);
    let (mut child, line) = login(&folder, &["--config", config.to_str().unwrap(), "guarded", "--json"]);
    let redirected = redirect(json(&line)["url"].as_str().unwrap());
    writeln!(child.stdin.take().unwrap(), "\n{redirected}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let last = String::from_utf8(output.stdout).unwrap();
    assert_eq!(json(&last), serde_json::json!({ "server": guarded.url() }));
    assert_eq!(call().code, Some(0));
}

#[test]
fn a_login_that_cannot_be_is_an_error_that_says_why() {
    let folder = TestFolder::new();
    let ran = folder.run(&["mcp", "login", "weather"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`weather` is no URL, and no table [sources.NAME] has that name"), "{ran:?}");
    let served = Served::start(&folder, &[], &[]);
    let ran = folder.run(&["mcp", "login", "--no-browser", &format!("http://{}/mcp", served.address)]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("it names no authorization server"), "{ran:?}");
}

#[test]
fn an_mcp_server_that_is_away_is_down_for_readyz_until_it_is_back() {
    let folder = TestFolder::new();
    let mut behind = Served::start(&folder, &[], &[]);
    let (source, port) = (format!("mcp+http://{}/mcp", behind.address), behind.address.port().to_string());
    let gateway = Served::start(&folder, &[&source], &[]);
    let ready = || gateway.ask("GET", "/readyz", &[], "").status;
    assert_eq!(ready(), 200);
    behind.signal("TERM");
    behind.wait();
    let answer = gateway.call("add", serde_json::json!({ "a": 1, "b": 2 }));
    assert!(answer["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{answer}");
    assert_eq!(ready(), 503);
    let _back = Served::start_exactly(&folder, &["--port", &port], &[]);
    // No call comes, and yet it is noticed.
    while ready() != 200 {
        thread::sleep(std::time::Duration::from_millis(20));
    }
}
