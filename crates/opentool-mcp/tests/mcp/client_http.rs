//! The tools of a server at a URL.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{ErrorKind, Executor, ToolCall, ToolContext, ToolEvent, ToolSource as _, Toolbox};
use opentool_http::testing::{Server as Scripted, Step};
use opentool_mcp::{McpClient, McpError, ServerUrl};
use opentool_server::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Running, start};
use crate::tools::{Changing, every_way};

pub(crate) fn url(addr: SocketAddr) -> ServerUrl {
    ServerUrl::new(format!("http://{addr}/mcp"))
}

fn connect(running: &Running) -> McpClient {
    McpClient::from_url(url(running.addr))
}

/// Stands before a server and refuses what only the newest revision has, so that the older handshake is tried.
pub(crate) async fn older(server: &Running) -> SocketAddr {
    let (listener, target) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), server.addr);
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let read = client.read(&mut head).await.unwrap();
                if String::from_utf8_lossy(&head[..read]).contains("server/discover") {
                    let refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
                    return client.write_all(refusal).await.unwrap();
                }
                let mut server = TcpStream::connect(target).await.unwrap();
                server.write_all(&head[..read]).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    addr
}

#[tokio::test]
async fn a_server_at_a_url_is_called() {
    let server = start(Server::new(every_way())).await;
    let client = connect(&server);
    let toolbox = client.toolbox().await.unwrap();
    assert_eq!((toolbox.title(), toolbox.version()), (Some("Everything"), Some("3.2.1")));
    assert_eq!(toolbox.description(), Some("Use `add` for sums."));
    let probe = Probe::new(client);
    probe.call("text", "{}").await.assert_text("plain \"text\"");
    probe.call("fails", "{}").await.assert_error(ErrorKind::Failed).assert_message("the oven is cold");
    let counted = probe.call("count", "{}").await;
    assert_eq!(counted.output().structured().unwrap().get(), "3");
    let large = probe.call("echo", r#"{"n":1180591620717411303424}"#).await;
    assert_eq!(large.output().structured().unwrap().get(), r#"{"n":1.1805916207174113e+21}"#);
}

#[tokio::test]
async fn an_older_server_has_a_session() {
    let server = start(Server::new(every_way())).await;
    let client = McpClient::from_url(url(older(&server).await));
    let probe = Probe::new(client.clone());
    probe.call("add", r#"{"a":1,"b":2}"#).await.assert_text("3");
    client.close().await;
    probe.call("add", r#"{"a":2,"b":2}"#).await.assert_text("4");
}

#[tokio::test]
async fn progress_comes_over_the_stream_of_a_call() {
    let steps = FakeTool::new("steps").acts(|_, context| {
        let context = context.clone();
        async move {
            for step in 1..=3 {
                context.progress(f64::from(step), None, None);
            }
            Ok("done".into())
        }
    });
    let server = start(Server::new(steps)).await;
    for addr in [server.addr, older(&server).await] {
        let host = Executor::new().host(McpClient::from_url(url(addr)));
        let context = ToolContext::new();
        let mut batch = host.watch(ToolCall::new("1", "steps", "{}"), &context).await;
        let mut seen = Vec::new();
        while let Some(event) = batch.next().await {
            match event {
                ToolEvent::Progress(_, progress) => seen.push(progress.done),
                ToolEvent::Finished(_, outcome) => assert_eq!(outcome.output().unwrap().to_text(), "done"),
                _ => {}
            }
        }
        assert_eq!(seen, [1.0, 2.0, 3.0]);
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_on_the_server_too() {
    let hang = FakeTool::new("hang").hangs();
    let log = hang.log();
    let server = start(Server::new(hang)).await;
    for addr in [server.addr, older(&server).await] {
        let context = ToolContext::new();
        let cancellation = context.cancellation().clone();
        let calling = Probe::new(McpClient::from_url(url(addr))).context(context);
        let call = tokio::spawn(async move {
            calling.call("hang", "{}").await.assert_error(ErrorKind::Cancelled);
        });
        while log.running() == 0 {
            tokio::task::yield_now().await;
        }
        cancellation.cancel();
        call.await.unwrap();
        while log.running() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn changed_tools_are_signalled_and_seen() {
    let changing = Changing::default();
    changing.set(&["before"]);
    let server = start(Server::new(changing.clone())).await;
    for addr in [server.addr, older(&server).await] {
        changing.set(&["before"]);
        let client = McpClient::from_url(url(addr));
        let names = async || client.toolbox().await.unwrap().names().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names().await, ["before"]);
        let mut changes = client.changes().unwrap();
        // The subscription may not stand yet, so the change is made until its notification arrives.
        let changed = async {
            loop {
                changing.set(&["after"]);
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            changed = changes.changed() => assert!(changed),
            () = changed => {}
        }
        assert_eq!(names().await, ["after"]);
    }
}

#[tokio::test]
async fn a_key_is_sent_and_a_wrong_one_is_told_from_a_server_that_is_away() {
    let server = start(Server::new(every_way()).api_keys(["s3cret"])).await;
    let with_key = McpClient::from_url(url(server.addr).api_key("s3cret"));
    Probe::new(with_key).call("text", "{}").await.assert_text("plain \"text\"");
    for url in [url(server.addr), url(server.addr).api_key("wr0ng")] {
        let error = McpClient::from_url(url).toolbox().await.unwrap_err();
        assert!(matches!(&error, McpError::Unauthorized { status: 401, .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("wr0ng"));
    }
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = McpClient::from_url(url(gone)).toolbox().await.unwrap_err();
    assert!(matches!(&error, McpError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn headers_go_with_every_request() {
    let server = Scripted::start([[Step::Write(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec())]]).await;
    let url = ServerUrl::new(format!("{}/mcp?team=blue", server.url())).api_key("s3cret").header("X-Trace", "abc");
    let error = McpClient::from_url(url).toolbox().await.unwrap_err();
    assert!(matches!(&error, McpError::Unreachable { .. }), "{error:?}");
    assert!(!error.to_string().contains("team=blue"), "{error}");
    let request = &server.seen()[0];
    assert_eq!(request.line(), "POST /mcp?team=blue");
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(request.header("x-trace"), Some("abc"));
    assert_eq!(request.header("mcp-method"), Some("server/discover"));
}

async fn refusal(head: &str, body: Step) -> McpError {
    let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
    let server = Scripted::start([[Step::Write(head.into_bytes()), body]]).await;
    let url = ServerUrl::new(format!("{}/mcp", server.url()));
    let client = McpClient::from_url(url).max_message_size(100_000).start_timeout(Duration::from_secs(20));
    client.toolbox().await.unwrap_err()
}

#[tokio::test]
async fn bodies_and_events_without_end_are_errors() {
    let endless = || Step::Repeat(vec![b'x'; 10_000]);
    let json = "Content-Type: application/json\r\nConnection: close";
    let events = "Content-Type: text/event-stream\r\nConnection: close";
    for head in [json, events] {
        let error = refusal(head, endless()).await;
        assert!(matches!(&error, McpError::Protocol { .. }), "{head}: {error:?}");
        assert!(error.to_string().contains("larger than 100000 bytes"), "{head}: {error}");
    }
    let page = refusal("Content-Type: text/html\r\nContent-Length: 0", Step::Write(Vec::new())).await;
    assert!(page.to_string().contains("the content type `text/html`"), "{page}");
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_its_call_only() {
    let large = FakeTool::new("large").answers("x".repeat(1 << 20));
    // Progress comes over a stream of events, and so does the result after it.
    let streamed = FakeTool::new("streamed").acts(|_, context| {
        context.progress(1.0, None, None);
        async { Ok("x".repeat(1 << 20).into()) }
    });
    let tools = Toolbox::from_tools([large, streamed, FakeTool::new("small").answers("fits")]).unwrap();
    let server = start(Server::new(tools)).await;
    for addr in [server.addr, older(&server).await] {
        let probe = Probe::new(McpClient::from_url(url(addr)).max_message_size(100_000));
        for tool in ["large", "streamed"] {
            let answer = probe.call(tool, "{}").await;
            let kind = answer.outcome().error().unwrap().kind();
            assert_eq!(kind, ErrorKind::InvalidResult, "{tool}: {:?}", answer.outcome());
            probe.call("small", "{}").await.assert_text("fits");
        }
    }
}

#[tokio::test]
async fn a_server_that_was_away_is_called_again() {
    let tools = || Toolbox::from_tools([FakeTool::new("text").answers("here")]).unwrap();
    let first = start(Server::new(tools())).await;
    let client = connect(&first);
    let probe = Probe::new(client);
    probe.call("text", "{}").await.assert_text("here");
    let addr = first.addr;
    first.handle.shutdown();
    first.ended().await;
    probe.call("text", "{}").await.assert_error(ErrorKind::Unavailable);
    let second = Server::new(tools()).mount(opentool_mcp::Mcp::new()).bind(addr).await.unwrap();
    let handle = second.shutdown_handle();
    let serving = tokio::spawn(second.serve());
    probe.call("text", "{}").await.assert_text("here");
    handle.shutdown();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_away_is_down_until_it_is_back() {
    let tools = || Toolbox::from_tools([FakeTool::new("text").answers("here")]).unwrap();
    let first = start(Server::new(tools())).await;
    let client = connect(&first);
    assert_eq!(client.is_up(), None, "it was not asked yet");
    let probe = Probe::new(client.clone());
    probe.call("text", "{}").await.assert_text("here");
    assert_eq!(client.is_up(), Some(true));
    let addr = first.addr;
    first.handle.shutdown();
    first.ended().await;
    probe.call("text", "{}").await.assert_error(ErrorKind::Unavailable);
    assert_eq!(client.is_up(), Some(false));
    let second = Server::new(tools()).mount(opentool_mcp::Mcp::new()).bind(addr).await.unwrap();
    tokio::spawn(second.serve());
    // No call comes, and yet it is noticed.
    while client.is_up() != Some(true) {
        tokio::task::yield_now().await;
    }
}

/// Stands before a server, passes the beginning of a stream on until a text has come, and breaks off then, once.
async fn breaks_once_after(server: SocketAddr, text: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let is_broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let is_broken = is_broken.clone();
            tokio::spawn(async move {
                let mut behind = TcpStream::connect(server).await.unwrap();
                let (mut from_client, mut to_client) = client.split();
                let (mut from_server, mut to_server) = behind.split();
                let answers = async {
                    let mut piece = vec![0; 65536];
                    while let Ok(length @ 1..) = from_server.read(&mut piece).await {
                        to_client.write_all(&piece[..length]).await?;
                        let has_come = String::from_utf8_lossy(&piece[..length]).contains(text);
                        if has_come && !is_broken.swap(true, std::sync::atomic::Ordering::SeqCst) {
                            break;
                        }
                    }
                    std::io::Result::Ok(())
                };
                tokio::select! {
                    _ = answers => {}
                    _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
                }
            });
        }
    });
    addr
}

#[tokio::test]
async fn a_call_whose_stream_breaks_off_gets_its_result_all_the_same() {
    let (finish, finished) = tokio::sync::oneshot::channel::<()>();
    let finished = std::sync::Arc::new(tokio::sync::Mutex::new(Some(finished)));
    let slow = FakeTool::new("slow").acts(move |_, context| {
        let finished = finished.clone();
        async move {
            context.progress(1.0, None, None);
            let finished = finished.lock().await.take();
            if let Some(finished) = finished {
                let _ = finished.await;
            }
            Ok("done".into())
        }
    });
    let log = slow.log();
    let server = start(Server::new(slow)).await;
    let older = older(&server).await;
    let addr = breaks_once_after(older, "notifications/progress").await;
    let client = McpClient::from_url(url(addr)).timeout(Duration::from_secs(60));
    let watched = tokio::spawn(async move {
        let host = Executor::new().host(client);
        let context = ToolContext::new();
        let mut batch = host.watch(ToolCall::new("1", "slow", "{}"), &context).await;
        let mut seen = 0;
        while let Some(event) = batch.next().await {
            match event {
                ToolEvent::Progress(..) => seen += 1,
                ToolEvent::Finished(_, outcome) => return (seen, outcome.output().unwrap().to_text()),
                ToolEvent::Failed(_, outcome) => panic!("{outcome:?}"),
                _ => {}
            }
        }
        panic!("the call has no outcome")
    });
    while log.running() == 0 {
        tokio::task::yield_now().await;
    }
    finish.send(()).unwrap();
    assert_eq!(watched.await.unwrap(), (1, "done".to_owned()));
    assert_eq!(log.count(), 1, "it ran once");
}
