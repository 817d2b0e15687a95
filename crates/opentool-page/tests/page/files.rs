//! The files of the page, which everyone may read.

use opentool_page::Page;
use opentool_server::Server;

use crate::browser::start;
use crate::tools::every_way;

#[tokio::test]
async fn files_are_public_and_say_what_a_browser_may_do() {
    let server = start(Server::new(every_way()).api_keys(["s3cret-key"]), Page::new()).await;
    for (path, content_type) in [
        ("/ui/", "text/html; charset=utf-8"),
        ("/ui/app.js", "text/javascript; charset=utf-8"),
        ("/ui/app.css", "text/css; charset=utf-8"),
        ("/ui/icon.svg", "image/svg+xml"),
        ("/ui/LICENSES.txt", "text/plain; charset=utf-8"),
    ] {
        let reply = server.bare("GET", path).send().await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(content_type)), "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        for part in
            ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(reply.header("cache-control"), Some("no-cache"));
        assert!(reply.header("set-cookie").is_none());
        let head = server.bare("HEAD", path).send().await;
        assert_eq!((head.status, head.header("content-length")), (200, reply.header("content-length")));
    }
}

#[tokio::test]
async fn files_are_sent_once_and_compressed_where_that_is_read() {
    let server = start(Server::new(every_way()), Page::new()).await;
    let plain = server.bare("GET", "/ui/app.js").send().await;
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, Some("Accept-Encoding")));
    let packed = server.bare("GET", "/ui/app.js").header("Accept-Encoding", "gzip, deflate, br").send().await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(packed.body[..2], [0x1f, 0x8b]);
    assert_ne!(plain.header("etag"), packed.header("etag"));
    let tag = packed.header("etag").unwrap();
    let again = server.bare("GET", "/ui/app.js").header("Accept-Encoding", "gzip").header("If-None-Match", tag);
    let again = again.send().await;
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag)));
    let other = server.bare("GET", "/ui/app.js").header("If-None-Match", "\"other\"").send().await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn other_paths_are_no_files() {
    let server = start(Server::new(every_way()), Page::new()).await;
    let moved = server.bare("GET", "/ui").send().await;
    assert_eq!((moved.status, moved.header("location")), (308, Some("/ui/")));
    for path in ["/ui/nothing", "/ui/../opentool/load", "/ui/app.js/", "/ui/%2e%2e/x", "/ui/index.html", "/ui//app.js"]
    {
        assert_eq!(server.bare("GET", path).send().await.refused(404), "not-found", "{path}");
    }
    assert_eq!(server.bare("GET", "/uix").send().await.status, 404);
    let posted = server.bare("POST", "/ui/app.js").send().await;
    assert_eq!((posted.refused(405).as_str(), posted.header("allow")), ("method-not-allowed", Some("GET, HEAD")));
}
