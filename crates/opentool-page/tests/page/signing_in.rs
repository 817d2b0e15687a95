//! Who gets in, and what the session is good for.

use std::time::Duration;

use opentool_mcp::Mcp;
use opentool_page::Page;
use opentool_server::Server;
use serde_json::json;

use crate::browser::{Running, start};
use crate::tools::every_way;

async fn running() -> Running {
    start(Server::new(every_way()).mount(Mcp::new()), Page::new()).await
}

#[tokio::test]
async fn a_token_is_good_for_one_sign_in() {
    let server = running().await;
    let token = server.tokens.issue().unwrap();
    let first = server.sign_in(json!({ "token": token })).send().await;
    assert_eq!(first.status, 204);
    let port = server.addr.port();
    let cookie = first.header("set-cookie").unwrap();
    let secret = cookie.strip_prefix(&format!("opentool-ui-{port}=")).unwrap();
    let (secret, attributes) = secret.split_once(';').unwrap();
    assert_eq!((secret.len(), attributes), (64, " Path=/ui; HttpOnly; SameSite=Strict"));
    assert_eq!(first.header("cache-control"), Some("no-store"));

    let again = server.sign_in(json!({ "token": token })).send().await;
    assert_eq!(again.refused(403), "wrong-token");
    assert!(again.header("set-cookie").is_none());
    for wrong in [json!({ "token": "" }), json!({ "token": "0".repeat(64) }), json!({ "token": secret })] {
        assert_eq!(server.sign_in(wrong).send().await.refused(403), "wrong-token");
    }
    for unreadable in [json!({}), json!({ "token": 1 }), json!({ "token": "a", "key": "b" }), json!("planted")] {
        let reply = server.sign_in(unreadable).send().await;
        assert_eq!(reply.refused(400), "invalid-request");
        assert!(!String::from_utf8_lossy(&reply.body).contains("planted"));
    }
}

#[tokio::test]
async fn without_a_session_the_api_shows_nothing() {
    let server = running().await;
    for (method, path) in [
        ("GET", "/ui/api/info"),
        ("GET", "/ui/api/tools"),
        ("GET", "/ui/api/events"),
        ("POST", "/ui/api/calls"),
        ("DELETE", "/ui/api/calls/c1"),
        ("POST", "/ui/api/calls/c1/answers"),
        ("POST", "/ui/api/chat"),
        ("GET", "/ui/api/chat/c"),
        ("GET", "/ui/api/runs"),
        ("POST", "/ui/api/runs/r/decisions"),
        ("GET", "/ui/api/nowhere"),
    ] {
        for cookie in ["", "opentool-ui-1=0", &format!("opentool-ui-{}={}", server.addr.port(), "0".repeat(64))] {
            let request = server.request(method, path).header("Cookie", cookie).json("{}");
            let reply = request.send().await;
            assert_eq!(reply.refused(401), "not-signed-in", "{method} {path}");
            assert_eq!(reply.json()["keySignIn"], false);
        }
    }
    let reply = server.request("GET", "/ui/api/session").send().await;
    assert_eq!((reply.status, reply.json()), (200, json!({ "signedIn": false, "keySignIn": false })));
}

#[tokio::test]
async fn requests_that_the_page_does_not_make_are_refused() {
    let server = running().await;
    let browser = server.browser().await;
    let tools = || browser.request("GET", "/ui/api/tools");
    assert_eq!(tools().send().await.status, 200);
    assert_eq!(tools().without("Sec-Fetch-Site").send().await.refused(403), "wrong-origin");
    for site in ["same-site", "cross-site", "none"] {
        assert_eq!(tools().header("Sec-Fetch-Site", site).send().await.refused(403), "wrong-origin", "{site}");
    }
    // Another server of this machine, on another port: the same site, but not the same origin.
    let other = format!("http://127.0.0.1:{}", server.addr.port() ^ 1);
    let call = || browser.request("POST", "/ui/api/calls").json(r#"{"id":"c","tool":"add","arguments":{"a":1,"b":2}}"#);
    assert_eq!(call().send().await.status, 200);
    assert_eq!(call().without("Origin").send().await.refused(403), "wrong-origin");
    // The server's own check of origins refuses them before the page does.
    for origin in [other.as_str(), "null", "https://evil.example", "http://localhost"] {
        assert_eq!(call().header("Origin", origin).send().await.status, 403, "{origin}");
        assert_eq!(tools().header("Origin", origin).send().await.status, 403, "{origin}");
    }
    // A page that rebinds its own name to this machine.
    assert_eq!(tools().header("Host", "evil.example").send().await.status, 403);
    assert_eq!(call().header("Content-Type", "text/plain").send().await.refused(415), "invalid-request");
    let token = json!({ "token": server.tokens.issue().unwrap() });
    assert_eq!(server.sign_in(token.clone()).without("Origin").send().await.refused(403), "wrong-origin");
    assert_eq!(server.sign_in(token.clone()).without("Sec-Fetch-Site").send().await.refused(403), "wrong-origin");
    assert_eq!(server.sign_in(token).send().await.status, 204, "the token was not used up");
}

#[tokio::test]
async fn an_origin_that_may_call_the_server_does_not_get_the_page() {
    let server = Server::new(every_way()).configure(|config| config.allowed_origin("https://app.example").cors(true));
    let server = start(server, Page::new()).await;
    let browser = server.browser().await;
    let request = browser.request("GET", "/ui/api/tools").header("Origin", "https://app.example");
    assert_eq!(request.send().await.refused(403), "wrong-origin");
}

#[tokio::test]
async fn the_session_counts_for_the_page_only() {
    let server = Server::new(every_way()).mount(Mcp::new()).api_keys(["s3cret-key"]);
    let server = start(server, Page::new()).await;
    let browser = server.browser().await;
    assert_eq!(browser.get("/ui/api/tools").await.status, 200);
    for (method, path) in [("GET", "/opentool/load"), ("POST", "/opentool/call"), ("POST", "/mcp"), ("GET", "/metrics")]
    {
        let reply = browser.request(method, path).json("{}").send().await;
        assert_eq!(reply.status, 401, "{path}");
    }
    // Nor does a key open the page's API: it has to be exchanged first.
    let reply = server.request("GET", "/ui/api/tools").header("Authorization", "Bearer s3cret-key").send().await;
    assert_eq!(reply.refused(401), "not-signed-in");
    assert_eq!(reply.json()["keySignIn"], true);
}

#[tokio::test]
async fn a_session_of_another_port_is_none() {
    let (one, other) = (running().await, running().await);
    let browser = one.browser().await;
    // A browser sends the cookies of a host to all its ports.
    let reply = other.request("GET", "/ui/api/tools").header("Cookie", &browser.cookie).send().await;
    assert_eq!(reply.refused(401), "not-signed-in");
    let second = other.browser().await;
    let both = format!("{}; {}", browser.cookie, second.cookie);
    assert_eq!(one.request("GET", "/ui/api/tools").header("Cookie", &both).send().await.status, 200);
    assert_eq!(other.request("GET", "/ui/api/tools").header("Cookie", &both).send().await.status, 200);
    // Another server on the host may have set a cookie of our name.
    let tossed = format!("{}=planted; {}", browser.cookie.split('=').next().unwrap(), browser.cookie);
    assert_eq!(one.request("GET", "/ui/api/tools").header("Cookie", &tossed).send().await.status, 200);
}

#[tokio::test]
async fn a_key_signs_in_and_its_name_reaches_tools() {
    let server = Server::new(every_way()).configure(|config| config.named_key("ann", "s3cret-key"));
    let server = start(server, Page::new()).await;
    let reply = server.sign_in(json!({ "key": "s3cret-key" })).send().await;
    assert_eq!(reply.status, 204, "{reply:?}");
    let browser = crate::browser::Browser { server: &server, cookie: reply.cookie() };
    assert_eq!(browser.get_json("/ui/api/session").await, json!({ "signedIn": true, "keyName": "ann" }));
    assert_eq!(browser.outcome("who", "{}").await["parts"][0]["text"], "ann");
    assert_eq!(server.sign_in(json!({ "key": "wrong-key" })).send().await.refused(403), "wrong-key");
}

#[tokio::test]
async fn keys_cannot_be_guessed_at_will() {
    let server = start(Server::new(every_way()).api_keys(["s3cret-key"]), Page::new()).await;
    for _ in 0..10 {
        assert_eq!(server.sign_in(json!({ "key": "guess" })).send().await.refused(403), "wrong-key");
    }
    let right = server.sign_in(json!({ "key": "s3cret-key" })).send().await;
    assert_eq!(right.refused(429), "too-many-attempts");
    assert!(right.header("retry-after").unwrap().parse::<u64>().unwrap() <= 60);
    // A token has 256 random bits, so the person at the terminal is not locked out.
    server.browser().await;
}

#[tokio::test]
async fn a_server_without_keys_takes_none() {
    let server = running().await;
    assert_eq!(server.sign_in(json!({ "key": "" })).send().await.refused(400), "invalid-request");
}

#[tokio::test]
async fn a_session_ends_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(&file, "ann:s3cret-key\nops:another-key\n").unwrap();
    let page = Page::new();
    let bound = Server::new(every_way()).configure(|config| config.api_keys_file(&file)).mount(page);
    let bound = bound.bind("127.0.0.1:0").await.unwrap();
    let (addr, handle, reload) = (bound.local_addr().unwrap(), bound.shutdown_handle(), bound.reload_handle());
    let tokens = Page::new().tokens();
    let server = Running { addr, tokens, handle, task: tokio::spawn(bound.serve()) };
    let reply = server.sign_in(json!({ "key": "s3cret-key" })).send().await;
    let browser = crate::browser::Browser { server: &server, cookie: reply.cookie() };
    assert_eq!(browser.get("/ui/api/tools").await.status, 200);
    std::fs::write(&file, "ops:another-key\n").unwrap();
    reload.reload().unwrap();
    assert_eq!(browser.get("/ui/api/tools").await.refused(401), "not-signed-in");
}

#[tokio::test]
async fn a_session_ends_by_time_and_by_signing_out() {
    let server = start(Server::new(every_way()), Page::new().session_timeout(Duration::from_millis(1500))).await;
    let browser = server.browser().await;
    assert_eq!(browser.get("/ui/api/tools").await.status, 200);
    tokio::time::sleep(Duration::from_millis(2000)).await;
    assert_eq!(browser.get("/ui/api/tools").await.refused(401), "not-signed-in");

    let server = running().await;
    let (browser, other) = (server.browser().await, server.browser().await);
    let out = browser.delete("/ui/api/session").await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(browser.get("/ui/api/tools").await.refused(401), "not-signed-in");
    assert_eq!(other.get("/ui/api/tools").await.status, 200);
}

#[tokio::test]
async fn sessions_are_bounded_in_number() {
    let server = start(Server::new(every_way()), Page::new().max_sessions(2)).await;
    let (first, second) = (server.browser().await, server.browser().await);
    assert_eq!(first.get("/ui/api/tools").await.status, 200);
    let third = server.browser().await;
    assert_eq!(second.get("/ui/api/tools").await.refused(401), "not-signed-in");
    assert_eq!((first.get("/ui/api/tools").await.status, third.get("/ui/api/tools").await.status), (200, 200));
}
