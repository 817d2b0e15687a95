//! The web page of `opentool serve`: where it is, and who gets its address.

use std::io::{BufRead as _, Read as _};

use serde_json::{Value, json};

use super::{
    serving::{Connection, Reply, Served},
    *,
};

/// What a browser adds to the requests of the page.
const BROWSER: [(&str, &str); 2] = [("sec-fetch-site", "same-origin"), ("origin", "http://localhost")];

fn sign_in(served: &Served, body: &Value) -> Reply {
    served.ask("POST", "/ui/api/session", &BROWSER, &body.to_string())
}

/// The cookie that a browser sends back.
fn cookie(reply: &Reply) -> String {
    assert_eq!(reply.status, 204, "{reply:?}");
    let set = reply.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    set.split(';').next().unwrap().to_owned()
}

/// A browser that is signed in by an API key.
pub(crate) struct SignedIn<'a> {
    served: &'a Served,
    cookie: String,
}

impl<'a> SignedIn<'a> {
    pub(crate) fn by_key(served: &'a Served, key: &str) -> Self {
        SignedIn { served, cookie: cookie(&sign_in(served, &json!({ "key": key }))) }
    }

    fn headers(&self) -> [(&str, &str); 3] {
        [BROWSER[0], BROWSER[1], ("cookie", &self.cookie)]
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.served.ask("GET", path, &self.headers(), "").json()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.served.ask("POST", path, &self.headers(), &body.to_string())
    }

    /// Sends a request whose answer comes line by line, reads it up to a line of a type, and goes away.
    pub(crate) fn lines_until(&self, path: &str, body: &Value, wanted: &str) {
        let mut connection = Connection::open(self.served.address);
        connection.send("POST", path, &self.headers(), &body.to_string());
        let mut lines = connection.into_reader().lines().map_while(Result::ok);
        let is_wanted = |line: &String| line.starts_with('{') && super::json(line)["type"] == wanted;
        assert!(lines.any(|line| is_wanted(&line)), "no line is of the type {wanted}");
    }

    /// Sends a request whose answer comes line by line, and reads it to its end.
    pub(crate) fn lines(&self, path: &str, body: &Value) -> Vec<Value> {
        let mut connection = Connection::open(self.served.address);
        let headers = [&self.headers()[..], &[("connection", "close")]].concat();
        connection.send("POST", path, &headers, &body.to_string());
        let mut text = String::new();
        connection.into_reader().read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
        // The other lines are the head, and the lengths of the pieces.
        text.lines().filter(|line| line.starts_with('{')).map(super::json).collect()
    }
}

#[test]
fn the_page_is_served_and_its_address_is_not_piped() {
    let folder = TestFolder::new();
    let served = Served::start(&folder, &["-v"], &[]);
    let page = served.get("/ui/");
    assert!(page.status == 200 && page.body.contains("<title>"), "{page:?}");
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    assert!(!served.announcement.contains("token"), "{}", served.announcement);
    assert!(!served.logged().contains("token="), "{}", served.logged());
    assert_eq!(served.ask("GET", "/ui/api/tools", &BROWSER, "").status, 401);
}

#[test]
fn the_page_can_be_left_out() {
    let folder = TestFolder::new();
    assert_eq!(Served::start(&folder, &["--no-page"], &[]).get("/ui/").status, 404);
    let configured = TestFolder::with("opentool.toml", "[page]\nenabled = false\n");
    assert_eq!(Served::start(&configured, &[], &[]).get("/ui/").status, 404);
    let ran = run(&["serve", "--page", "--no-page"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("`--page` and `--no-page`: leave one of them out"), "{}", ran.stderr);
}

#[test]
fn beyond_this_machine_the_page_is_asked_for() {
    let folder = TestFolder::with("keys", "ann:s3cret-key\n");
    let open = ["--host", "0.0.0.0", "--api-keys-file", "keys"];
    assert_eq!(Served::start(&folder, &open, &[]).get("/ui/").status, 404);
    let allowed = [&open[..], &["--page", "--allowed-host", "tools.example"]].concat();
    let served = Served::start(&folder, &allowed, &[]);
    assert_eq!(served.get("/ui/").status, 200);
    // There, a key is the way in.
    let browser = SignedIn::by_key(&served, "s3cret-key");
    let info = browser.get("/ui/api/info");
    assert_eq!((&info["keys"], &info["sources"][0]["kind"]), (&json!(true), &json!("demo tools")));
    assert_eq!(info["paths"], json!({ "opentool": "/opentool", "mcp": "/mcp" }));
    let tools = browser.get("/ui/api/tools");
    assert_eq!(tools["tools"][0]["source"], "demo");
    // A folder's own file does not serve it there.
    let ran = TestFolder::with("opentool.toml", "[page]\nenabled = true\n").run(&["serve"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("opentool trust"), "{}", ran.stderr);
}

#[test]
fn without_a_browser_open_says_what_to_do() {
    let folder = TestFolder::new();
    let command = |arguments: &[&str]| {
        let mut command = folder.command();
        command.env("PATH", folder.0.path()).env("BROWSER", "no-such-browser %s").args(arguments);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = command(&["serve", "--open", "--port", "0"]);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(said);
    let (code, said) = command(&["serve", "--open", "--no-page"]);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!("open_without_page", said);
}

#[cfg(unix)]
mod at_a_terminal {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::{chat::terminal::Terminal, serving::wait_until};
    use super::*;

    /// Waits for an address that is good for one sign-in.
    fn address(terminal: &mut Terminal, words: &str) -> (std::net::SocketAddr, String) {
        terminal.wait_for(&format!("{words}:  http://"));
        let authority = terminal.wait_for("/ui/#token=");
        let token = terminal.wait_for("\r\n");
        assert_eq!(token.len(), 64, "{token}");
        (authority.parse().unwrap(), token)
    }

    fn sign_in(address: std::net::SocketAddr, token: &str) -> u16 {
        let mut connection = Connection::open(address);
        connection.send("POST", "/ui/api/session", &BROWSER, &json!({ "token": token }).to_string());
        connection.receive().unwrap().status
    }

    #[test]
    fn an_address_lets_one_browser_in_and_the_next_is_printed() {
        let folder = TestFolder::new();
        let mut terminal = Terminal::start(&folder, &["serve", "--port", "0"], &[]);
        let (server, first) = address(&mut terminal, "page, for one sign-in");
        assert_eq!((sign_in(server, &first), sign_in(server, &first)), (204, 403));
        let (_, second) = address(&mut terminal, "page, for another browser");
        assert_ne!(first, second);
        assert_eq!(sign_in(server, &second), 204);
    }

    #[test]
    fn open_hands_the_address_over_in_a_private_file() {
        let folder = TestFolder::new();
        let browser = folder.put(
            "browser",
            "#!/bin/sh\ncp -p \"$2\" page.html\nls -ld \"$(dirname \"$2\")\" > modes\nprintf %s \"$1 $2\" > words\n",
        );
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        let command = format!("{} --new-window", browser.display());
        let served = Served::start(&folder, &["--open"], &[("BROWSER", &command)]);
        wait_until(
            || std::fs::read_to_string(folder.path("words")).is_ok_and(|words| !words.is_empty()),
            || served.logged(),
        );
        let words = folder.read("words");
        let file = words.strip_prefix("--new-window ").unwrap();
        assert!(!words.contains("token"), "{words}");
        assert!(folder.read("modes").starts_with("drwx------"), "{}", folder.read("modes"));
        let mode = std::fs::metadata(folder.path("page.html")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let page = folder.read("page.html");
        let target = page.split("content=\"0;url=").nth(1).unwrap().split('"').next().unwrap();
        let (url, token) = target.split_once("#token=").unwrap();
        assert_eq!(url, format!("http://{}/ui/", served.address));
        assert!(!served.announcement.contains(token) && !served.logged().contains(token));
        assert_eq!(sign_in(served.address, token), 204);
        // It was read, so it is removed.
        let file = Path::new(file);
        wait_until(|| !file.exists() && !file.parent().unwrap().exists(), || words.clone());
    }

    #[test]
    fn a_browser_that_fails_is_said_with_the_address() {
        let folder = TestFolder::new();
        let mut terminal = Terminal::start(&folder, &["serve", "--port", "0", "--open"], &[("BROWSER", "/bin/false")]);
        terminal.wait_for("could not open a browser (/bin/false ended with 1)");
        let (server, token) = address(&mut terminal, "page, for one sign-in");
        assert_eq!(sign_in(server, &token), 204);
        let served = Served::start(&folder, &["--open"], &[("BROWSER", "/bin/false")]);
        served.wait_for_log("warning: could not open a browser (/bin/false ended with 1)\n");
        assert!(!served.announcement.contains("token"), "{}", served.announcement);
    }

    #[test]
    fn the_private_file_does_not_outlive_the_server() {
        let folder = TestFolder::new();
        let browser = folder.put("browser", "#!/bin/sh\nprintf %s \"$1\" > words\n");
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut served = Served::start(&folder, &["--open"], &[("BROWSER", browser.to_str().unwrap())]);
        wait_until(
            || std::fs::read_to_string(folder.path("words")).is_ok_and(|words| !words.is_empty()),
            || served.logged(),
        );
        let file = folder.read("words");
        assert!(Path::new(&file).exists());
        served.signal("TERM");
        assert!(served.wait().success());
        assert!(!Path::new(&file).parent().unwrap().exists());
    }
}
