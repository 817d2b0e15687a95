//! The router inside somebody else's application and somebody else's server.

use axum::Router;
use axum::routing::get as route_get;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use opentool_core::Executor;
use opentool_server::{Config, router};
use tokio::net::{TcpListener, TcpStream};

use crate::raw::{Reply, Request, Wire, call, get, post};
use crate::tools::every_way;

async fn mounted(config: Config) -> impl AsyncFn(Request) -> Reply {
    let host = Executor::new().host(every_way());
    let app = Router::new().route("/", route_get(|| async { "mine" })).merge(router(host, config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(app.clone());
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service);
            tokio::spawn(connection);
        }
    });
    async move |request: Request| {
        let mut wire = Wire::new(TcpStream::connect(addr).await.unwrap());
        wire.send(request.bytes()).await;
        wire.reply().await
    }
}

#[tokio::test]
async fn a_router_brings_its_keys_checks_and_limits_along() {
    let config = Config::builder().api_keys(["k"]).max_body(1000).build().unwrap();
    let ask = mounted(config).await;
    assert_eq!(ask(get("/")).await.text(), "mine");
    ask(get("/opentool/version")).await.rpc_error(401, 401);
    assert_eq!(ask(get("/opentool/version").key("k")).await.text(), r#"{"version":"0.1.0"}"#);
    let reply = ask(call("add", r#"{"a":1,"b":2}"#).key("k")).await;
    assert_eq!(reply.text(), r#"{"jsonrpc":"2.0","result":{"result":3},"error":null,"id":"1"}"#);
    let reply = ask(post("/opentool/opentool/call/").key("k").body(r#"{"method":"scalar","id":1}"#)).await;
    assert_eq!(reply.json()["result"]["result"], 7);
    ask(post("/opentool/call").key("k").body(" ".repeat(1001))).await.rpc_error(413, 413);
    ask(get("/opentool/version").key("k").host("evil.example")).await.rpc_error(403, 403);
    ask(get("/opentool/version").key("k").header("Origin", "https://evil.example")).await.rpc_error(403, 403);
    for path in ["/opentool", "/opentool/", "/opentool/no/such"] {
        ask(get(path).key("k")).await.rpc_error(404, 404);
    }
    assert_eq!(ask(get("/readyz")).await.status, 200);
    ask(get("/metrics")).await.rpc_error(401, 401);
    let stream = post("/opentool/streamCall").key("k").body(r#"{"method":"scalar","id":1}"#);
    assert!(ask(stream).await.text().ends_with("event:done\ndata:{\"done\":\"scalar\"}\n\n"));
}

#[tokio::test]
async fn a_router_needs_a_word_about_keys_and_may_leave_the_probes_to_the_application() {
    let silent = Config::builder().build().unwrap_err().to_string();
    assert!(silent.contains("no_auth"), "{silent}");
    let ask =
        mounted(Config::builder().no_auth().any_host().without_operator_routes().prefix("").build().unwrap()).await;
    assert_eq!(ask(get("/")).await.text(), "mine");
    assert_eq!(ask(get("/version").host("tools.example")).await.status, 200);
    for path in ["/healthz", "/metrics"] {
        ask(get(path)).await.rpc_error(404, 404);
    }
}
