//! Who may call: keys, hosts and origins.

use std::fs;
use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_server::Server;
use tokio::time::{Instant, sleep};

use crate::client::{MAX_WAIT, call, get, post, request, start, start_at};
use crate::tools::every_way;

const PATHS: [&str; 4] = ["/opentool/version", "/opentool/load", "/opentool/call", "/opentool/no_such"];

// 9
#[tokio::test]
async fn every_route_under_the_prefix_needs_a_key() {
    let server = start(Server::new(every_way()).api_keys(["first", "second"])).await;
    for path in PATHS {
        let reply = server.ask(get(path)).await;
        assert_eq!(reply.rpc_error(401, 401), "Please check API Key is VALID or NOT");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    }
    for wrong in ["Bearer third", "Bearer", "", "Basic first", "firs", "Bearer first second", "Bearer FIRST"] {
        let reply = server.ask(get("/opentool/version").header("Authorization", wrong)).await;
        reply.rpc_error(401, 401);
    }
    let both = get("/opentool/version").key("first").key("third");
    server.ask(both).await.rpc_error(401, 401);
    for right in ["Bearer first", "bearer second", "BEARER  first", "second"] {
        let reply = server.ask(get("/opentool/version").header("Authorization", right)).await;
        assert_eq!(reply.status, 200, "{right}");
    }
    let reply = server.ask(call("add", r#"{"a":1,"b":2}"#).key("second")).await;
    assert_eq!(reply.json()["result"]["result"], 3);
}

// 9
#[tokio::test]
async fn a_wrong_key_is_refused_before_the_body_is_read() {
    let tool = FakeTool::new("f");
    let log = tool.log();
    let server = start(Server::new(tool).api_keys(["k"])).await;
    let mut wire = server.connect().await;
    // The body never comes.
    wire.send(
        "POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Length: 1000\r\n\r\n",
    )
    .await;
    wire.reply().await.rpc_error(401, 401);
    let mut wire = server.connect().await;
    wire.send(
        "POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
    )
    .await;
    wire.reply().await.rpc_error(401, 401);
    assert_eq!(log.count(), 0);
}

// 9
#[tokio::test]
async fn probes_need_no_key_and_metrics_do() {
    let server = start(Server::new(every_way()).api_keys(["k"])).await;
    for path in ["/healthz", "/readyz", "/healthz/"] {
        assert_eq!(server.ask(get(path)).await.status, 200);
        // Whatever name the probe has for the machine.
        assert_eq!(server.ask(get(path).host("10.1.2.3:9627")).await.status, 200);
    }
    server.ask(get("/metrics")).await.rpc_error(401, 401);
    assert_eq!(server.ask(get("/metrics").key("k")).await.status, 200);
}

#[tokio::test]
async fn a_key_may_come_from_the_environment() {
    // Set by cargo for every test.
    let variable = "CARGO_PKG_NAME";
    let server = Server::new(every_way())
        .configure(|config| config.api_key_from_env(variable).api_key_from_env("OPENTOOL_TEST_NO_SUCH_VARIABLE"));
    let server = start(server).await;
    server.ask(get("/opentool/version")).await.rpc_error(401, 401);
    let reply = server.ask(get("/opentool/version").key(env!("CARGO_PKG_NAME"))).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn keys_of_a_file_change_when_the_file_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    fs::write(&path, "# who may call\nci: old-key-1\n\nops:other-key\n").unwrap();
    let server =
        start(Server::new(every_way()).configure(|config| config.api_keys_file(&path).api_keys(["fixed"]))).await;
    let status = async |key: &str| server.ask(get("/opentool/version").key(key)).await.status;
    for key in ["old-key-1", "other-key", "fixed"] {
        assert_eq!(status(key).await, 200, "{key}");
    }
    let replace = |text: &str| {
        let new = directory.path().join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, &path).unwrap();
    };
    replace("ci:new-key-1");
    let until = Instant::now() + MAX_WAIT;
    while status("new-key-1").await != 200 {
        assert!(Instant::now() < until, "the file is not read again");
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(status("old-key-1").await, 401);
    assert_eq!(status("fixed").await, 200);
    // A file that cannot be used changes nothing.
    replace("no colon here");
    sleep(Duration::from_millis(1500)).await;
    assert_eq!((status("new-key-1").await, status("no colon here").await), (200, 401));
    // An emptied one opens nothing.
    replace("");
    let until = Instant::now() + MAX_WAIT;
    while status("new-key-1").await != 401 {
        assert!(Instant::now() < until, "the file is not read again");
        sleep(Duration::from_millis(100)).await;
    }
    // A deleted one neither, and what comes in its place counts again.
    replace("ci:last-key-1");
    let until = Instant::now() + MAX_WAIT;
    while status("last-key-1").await != 200 {
        assert!(Instant::now() < until, "the file is not read again");
        sleep(Duration::from_millis(100)).await;
    }
    fs::remove_file(&path).unwrap();
    let until = Instant::now() + MAX_WAIT;
    while status("last-key-1").await != 401 {
        assert!(Instant::now() < until, "a deleted file still opens the server");
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(status("fixed").await, 200);
}

#[tokio::test]
async fn on_a_loopback_address_other_hosts_are_refused() {
    let server = start(Server::new(every_way()).configure(|config| config.allowed_host("tools.example"))).await;
    for host in ["localhost", "127.0.0.1:9627", "[::1]:80", "LocalHost", "tools.example:8080"] {
        assert_eq!(server.ask(get("/opentool/version").host(host)).await.status, 200, "{host}");
    }
    for path in ["/opentool/version", "/metrics", "/", "/opentool/x"] {
        let reply = server.ask(get(path).host("evil.example")).await;
        let message = reply.rpc_error(403, 403);
        assert_eq!(message, "host `evil.example` is not allowed; allow it with --allowed-host evil.example");
        assert_eq!(reply.json()["id"], serde_json::Value::Null);
    }
    let twice = get("/opentool/version").header("Host", "evil.example");
    server.ask(twice).await.rpc_error(403, 403);
    let absolute = get("http://evil.example/opentool/version");
    server.ask(absolute).await.rpc_error(403, 403);
    let mut wire = server.connect().await;
    wire.send("GET /opentool/version HTTP/1.0\r\n\r\n").await;
    wire.reply().await.rpc_error(403, 403);
}

#[tokio::test]
async fn on_other_addresses_any_host_is_served_unless_listed() {
    let open = start_at(Server::new(every_way()).api_keys(["k"]), "0.0.0.0:0").await;
    assert_eq!(open.ask(get("/opentool/version").key("k").host("anything.example")).await.status, 200);
    let listed = Server::new(every_way()).api_keys(["k"]).configure(|config| config.allowed_host("tools.example"));
    let listed = start_at(listed, "0.0.0.0:0").await;
    assert_eq!(listed.ask(get("/opentool/version").key("k").host("tools.example")).await.status, 200);
    listed.ask(get("/opentool/version").key("k").host("evil.example")).await.rpc_error(403, 403);
}

#[tokio::test]
async fn a_web_page_is_refused_unless_its_origin_is_listed() {
    let tool = FakeTool::new("f").answers("ran");
    let log = tool.log();
    let server = Server::new(tool).api_keys(["k"]).configure(|config| config.allowed_origin("https://app.example/"));
    let server = start_at(server, "0.0.0.0:0").await;
    for origin in
        ["https://evil.example", "http://app.example", "null", "https://app.example.evil", "http://localhost:9627"]
    {
        let reply = server.ask(call("f", "{}").key("k").header("Origin", origin)).await;
        let message = reply.rpc_error(403, 403);
        assert_eq!(message, format!("origin `{origin}` is not allowed; allow it with --allowed-origin {origin}"));
    }
    assert_eq!(log.count(), 0);
    let reply = server.ask(call("f", "{}").key("k").header("Origin", "https://app.example")).await;
    assert_eq!(reply.json()["result"]["result"], "ran");
    assert_eq!(reply.header("access-control-allow-origin"), None, "CORS is off");
    let preflight = request("OPTIONS", "/opentool/call")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "POST");
    server.ask(preflight).await.rpc_error(401, 401);
}

#[tokio::test]
async fn a_page_of_the_server_itself_may_call_where_hosts_are_checked() {
    let local = start(Server::new(every_way())).await;
    let from = |host: &str, origin: &str| call("scalar", "{}").host(host).header("Origin", origin);
    for host in ["localhost:9627", "127.0.0.1:9627", "[::1]"] {
        assert_eq!(local.ask(from(host, &format!("http://{host}"))).await.status, 200, "{host}");
    }
    for (host, origin) in [
        ("localhost:9627", "http://localhost:3000"),
        ("localhost:9627", "http://127.0.0.1:9627"),
        ("evil.example", "http://evil.example"),
    ] {
        local.ask(from(host, origin)).await.rpc_error(403, 403);
    }
    let open = start_at(Server::new(every_way()).api_keys(["k"]), "0.0.0.0:0").await;
    open.ask(from("evil.example", "http://evil.example").key("k")).await.rpc_error(403, 403);
}

#[tokio::test]
async fn with_cors_pages_of_listed_origins_read_answers() {
    let server = Server::new(every_way())
        .api_keys(["k"])
        .configure(|config| config.allowed_origin("https://app.example").cors(true));
    let server = start(server).await;
    let preflight = |origin: &str| {
        request("OPTIONS", "/opentool/call").header("Origin", origin).header("Access-Control-Request-Method", "POST")
    };
    let reply = server.ask(preflight("https://app.example")).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (204, Some("https://app.example")));
    assert!(reply.header("access-control-allow-headers").unwrap().contains("authorization"));
    server.ask(preflight("https://evil.example")).await.rpc_error(403, 403);
    // A page must be able to read why it was refused.
    let reply = server.ask(post("/opentool/call").header("Origin", "https://app.example").body("{}")).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (401, Some("https://app.example")));
    assert_eq!(reply.header("vary"), Some("Origin"));
    let reply = server.ask(get("/opentool/version").key("k")).await;
    assert_eq!(reply.header("access-control-allow-origin"), None);
}
