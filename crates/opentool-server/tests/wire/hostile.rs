//! Requests that no well-meant client sends, one by one: each is answered as it should be, and none harms the next.

use serde_json::json;

use opentool_server::Server;

use crate::client::{Running, call, get, post, request, start};
use crate::tools::every_way;

const CALL: &str = r#"{"jsonrpc":"2.0","method":"add","params":{"a":1,"b":2},"id":"1"}"#;

async fn server() -> Running {
    start(Server::new(every_way()).configure(|config| config.max_body(1 << 20))).await
}

/// Sends bytes on a connection of their own and returns the status of the answer; none where there is none.
async fn status(server: &Running, bytes: impl AsRef<[u8]>) -> Option<u16> {
    let mut wire = server.connect().await;
    wire.try_send(bytes).await;
    wire.end().await;
    wire.head().await.map(|reply| reply.status)
}

async fn still_answers(server: &Running) {
    assert_eq!(server.call("add", r#"{"a":1,"b":2}"#).await["result"], json!({"result": 3}));
}

#[tokio::test]
async fn only_json_content_types_run_a_call() {
    let server = server().await;
    for accepted in [
        "application/json",
        "APPLICATION/JSON; charset=utf-8",
        "text/json",
        "application/vnd.api+json;x=1",
        "application/problem+JSON",
        " application/json ",
    ] {
        let reply = server.ask(post("/opentool/call").header("Content-Type", accepted).body(CALL)).await;
        assert_eq!(reply.json()["result"], json!({"result": 3}), "{accepted}");
    }
    for refused in [
        "text/plain",
        "text/plain;x=json",
        "text/plain; charset=json",
        "multipart/form-data; boundary=json",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json+xml",
        "json",
        "json/plain",
        "application/",
        "",
    ] {
        let reply = server.ask(post("/opentool/call").header("Content-Type", refused).body(CALL)).await;
        assert_eq!(reply.rpc_error(200, -32600), "the content type must be JSON", "{refused}");
        assert_eq!(reply.json()["id"], "1", "{refused}");
    }
    let twice = post("/opentool/call").header("Content-Type", "application/json").header("Content-Type", "text/plain");
    server.ask(twice.body(CALL)).await.rpc_error(200, -32600);
}

#[tokio::test]
async fn an_encoded_body_gets_415_before_it_is_read() {
    let server = server().await;
    for refused in ["gzip", "br", "identity, gzip", "x", "GZIP", "zstd,identity"] {
        for path in ["/opentool/call", "/opentool/streamCall"] {
            let reply = server.ask(post(path).header("Content-Encoding", refused).body(CALL)).await;
            assert_eq!(
                reply.rpc_error(415, 415),
                "the body is encoded: send it without `Content-Encoding`",
                "{refused}"
            );
        }
    }
    for accepted in ["identity", "Identity", "", "identity, identity"] {
        let reply = server.ask(post("/opentool/call").header("Content-Encoding", accepted).body(CALL)).await;
        assert_eq!(reply.json()["result"], json!({"result": 3}), "{accepted}");
    }
    let page = server.ask(get("/metrics")).await;
    assert!(page.text().contains(r#"opentool_http_responses_total{status="415"} 12"#), "{}", page.text());
}

#[tokio::test]
async fn a_port_of_the_host_header_is_digits() {
    let server = server().await;
    for accepted in ["localhost", "localhost:1", "127.0.0.1:9627", "[::1]:80", "LOCALHOST.:80", "localhost:"] {
        let reply = server.ask(call("add", r#"{"a":1,"b":2}"#).host(accepted)).await;
        assert_eq!(reply.status, 200, "{accepted}");
    }
    for refused in [
        "localhost:80.evil.example",
        "localhost:evil.example",
        "localhost:80@evil.example",
        "localhost:8o",
        "localhost:-1",
        "localhost: 80",
        "127.0.0.1:0x50",
        "[::1]:a",
        "[::1",
        "localhost:80:80",
        "evil.example",
        "evil.example:127.0.0.1",
    ] {
        server.ask(call("add", r#"{"a":1,"b":2}"#).host(refused)).await.rpc_error(403, 403);
    }
}

#[tokio::test]
async fn broken_heads_are_refused_or_closed() {
    let server = server().await;
    let nothing_or_refused = |status: Option<u16>| status.is_none_or(|status| (400..500).contains(&status));
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET  /opentool/version HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /opentool/version HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET /opentool/version HTTP/1.1\r\n Host: localhost\r\n\r\n",
        b"GET /opentool/version HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET http://evil.example/opentool/version HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /opentool/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 2\r\n\r\n{}",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{}",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
        b"POST /opentool/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{}",
    ] {
        let found = status(&server, bytes).await;
        assert!(nothing_or_refused(found), "{found:?} for {:?}", String::from_utf8_lossy(bytes));
    }
    still_answers(&server).await;
}

#[tokio::test]
async fn a_request_behind_a_smuggled_one_is_never_a_second_call() {
    let server = server().await;
    let inner = String::from_utf8(call("panics", "{}").bytes()).unwrap();
    for head in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
    ] {
        let bytes = format!("POST /opentool/call HTTP/1.1\r\nHost: localhost\r\n{head}\r\n0\r\n\r\n{inner}");
        let found = status(&server, bytes).await;
        assert!(found.is_none_or(|status| status >= 400), "{found:?} for {head}");
    }
    still_answers(&server).await;
}

#[tokio::test]
async fn broken_bodies_are_answered_with_what_is_wrong() {
    let server = server().await;
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let in_params = |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"add","params":{params},"id":"1"}}"#);
    let cases: Vec<(Vec<u8>, u16, i64)> = vec![
        (b"".to_vec(), 400, -32700),
        (b" ".to_vec(), 400, -32700),
        (b"\0".to_vec(), 400, -32700),
        (b"{".to_vec(), 400, -32700),
        (b"{]".to_vec(), 400, -32700),
        (b"nul".to_vec(), 400, -32700),
        (b"\xff\xfe{\0}\0".to_vec(), 400, -32700),
        (b"{\"method\":\"\xc3\x28\"}".to_vec(), 400, -32700),
        (br#"{"a":"\ud800"}{"#.to_vec(), 400, -32700),
        (CALL.repeat(2).into_bytes(), 400, -32700),
        (deep("[", "").into_bytes(), 400, -32700),
        (deep("{\"a\":", "").into_bytes(), 400, -32700),
        (b"null".to_vec(), 200, -32600),
        (b"[]".to_vec(), 200, -32600),
        (b"1e999".to_vec(), 200, -32600),
        (format!("[{CALL}]").into_bytes(), 200, -32600),
        (deep("[", "]").into_bytes(), 200, -32600),
        (b"{}".to_vec(), 200, -32600),
        (br#"{"method":"add","id":null}"#.to_vec(), 200, -32600),
        (br#"{"method":"add","id":{}}"#.to_vec(), 200, -32600),
        (br#"{"method":"add","id":[1]}"#.to_vec(), 200, -32600),
        (br#"{"method":1,"id":1}"#.to_vec(), 200, -32600),
        (br#"{"method":null,"id":1}"#.to_vec(), 200, -32600),
        (br#"{"method":"add","method":"nothing","id":1}"#.to_vec(), 200, -32600),
        (br#"{"method":"add","params":{},"params":{},"id":1}"#.to_vec(), 200, -32600),
        (br#"{"jsonrpc":"1.0","method":"add","id":1}"#.to_vec(), 200, -32600),
        (br#"{"jsonrpc":2.0,"method":"add","id":1}"#.to_vec(), 200, -32600),
        (in_params("[1,2]").into_bytes(), 200, -32602),
        (in_params("\"{}\"").into_bytes(), 200, -32602),
        (in_params("0").into_bytes(), 200, -32602),
        (in_params(r#"{"a":1,"a":2,"b":3}"#).into_bytes(), 200, 400),
        (in_params(r#"{"a":1,"\u0061":2,"b":3}"#).into_bytes(), 200, 400),
        (in_params(r#"{"a":1e400,"b":3}"#).into_bytes(), 200, 400),
        (in_params(r#"{"a":1.5,"b":3}"#).into_bytes(), 200, 400),
        (in_params(r#"{"a":9223372036854775808,"b":3}"#).into_bytes(), 200, 400),
        (in_params(r#"{"a":null,"b":3}"#).into_bytes(), 200, 400),
        (in_params(&format!(r#"{{"a":{},"b":3}}"#, deep("[", "]"))).into_bytes(), 200, 400),
        (in_params(&format!(r#"{{"a":{},"b":3}}"#, deep("{\"a\":", "}").replace(":}", ":1}"))).into_bytes(), 200, 400),
        (in_params(&format!(r#"{{"__proto__":{},"b":3}}"#, "[".repeat(200) + &"]".repeat(200))).into_bytes(), 200, 400),
        (br#"{"method":"\u0000","id":1}"#.to_vec(), 200, 405),
        (br#"{"method":"../../etc/passwd","id":1}"#.to_vec(), 200, 405),
        (format!(r#"{{"method":"{}","id":1}}"#, "x".repeat(100_000)).into_bytes(), 200, 405),
    ];
    for (body, status, code) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        let reply = server.ask(post("/opentool/call").body(body)).await;
        assert_eq!((reply.status, reply.json()["error"]["code"].as_i64()), (status, Some(code)), "{shown}");
        assert!(reply.body.len() < 2_000, "the answer to {shown} has {} bytes", reply.body.len());
    }
    still_answers(&server).await;
}

#[tokio::test]
async fn strange_paths_and_methods_are_refused() {
    let server = server().await;
    for path in [
        "/",
        "//",
        "/opentool",
        "/opentool//call",
        "/opentool/call/../call",
        "/opentool/%63all",
        "/OPENTOOL/call",
        "/opentool/call%00",
        "/opentool/call;x",
        "/opentool/stop",
        "/opentoolx/call",
        "/.git/config",
        "/opentool/calls",
    ] {
        let reply = server.ask(request("POST", path).body(CALL)).await;
        assert!(matches!(reply.status, 404 | 405), "{} for {path}", reply.status);
    }
    for method in ["GET", "PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "QUERY", "X"] {
        let reply = server.ask(request(method, "/opentool/call").body(CALL)).await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
    }
    let reply = server.ask(request("POST", "/opentool/call?method=panics#x").body(CALL)).await;
    assert_eq!(reply.status, 200, "a query says nothing");
    still_answers(&server).await;
}
