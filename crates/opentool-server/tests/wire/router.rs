//! The router inside another application, on another server.

use axum::Router;
use axum::routing::get as route_get;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use opentool_core::Executor;
use opentool_server::{Config, router};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{Connection, Reply, Request, call, get, post};
use crate::secrets::Captured;
use crate::tools::every_way;

fn tools(config: Config) -> Router {
    router(Executor::new().host(every_way()), config)
}

fn application() -> Router {
    Router::new().route("/", route_get(|| async { "mine" }))
}

pub(crate) async fn serve(app: Router) -> impl AsyncFn(Request) -> Reply {
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
        let mut wire = Connection::new(TcpStream::connect(addr).await.unwrap());
        wire.send(request.bytes()).await;
        wire.reply().await
    }
}

#[tokio::test]
async fn a_merged_router_checks_keys_hosts_origins_and_limits() {
    let config = Config::builder().api_keys(["k"]).max_body(1000).build().unwrap();
    let ask = serve(application().merge(tools(config))).await;
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
async fn a_router_needs_a_decision_about_keys() {
    let silent = Config::builder().build().unwrap_err().to_string();
    assert!(silent.contains("allow_anonymous"), "{silent}");
    let config = Config::builder().allow_anonymous(true).allow_any_host(true).operator_routes(false).prefix("");
    let ask = serve(application().merge(tools(config.build().unwrap()))).await;
    assert_eq!(ask(get("/")).await.text(), "mine");
    assert_eq!(ask(get("/version").host("tools.example")).await.status, 200);
    for path in ["/healthz", "/metrics"] {
        ask(get(path)).await.rpc_error(404, 404);
    }
}

#[tokio::test]
async fn a_nested_router_answers_under_the_path_of_its_nest() {
    let captured = Captured::start();
    let config = Config::builder().allow_anonymous(true).build().unwrap();
    let ask = serve(application().nest("/api/v1", tools(config))).await;
    assert_eq!(ask(get("/")).await.text(), "mine");
    assert_eq!(ask(get("/api/v1/opentool/version")).await.text(), r#"{"version":"0.1.0"}"#);
    let add = r#"{"method":"add","params":{"a":1,"b":2},"id":"1"}"#;
    let reply = ask(post("/api/v1/opentool/call").body(add)).await;
    assert_eq!(reply.text(), r#"{"jsonrpc":"2.0","result":{"result":3},"error":null,"id":"1"}"#);
    for path in ["/api/v1/opentool/load", "/api/v1/healthz", "/api/v1/metrics"] {
        assert_eq!(ask(get(path)).await.status, 200, "{path}");
    }
    for path in ["/opentool/version", "/healthz"] {
        assert_eq!(ask(get(path)).await.status, 404, "{path}");
    }
    ask(get("/api/v1/opentool/no_such")).await.rpc_error(404, 404);
    let traced = captured.text();
    assert!(traced.contains("otel.name=POST /api/v1/opentool/call"), "{traced}");
    assert!(traced.contains("otel.name=GET /api/v1/healthz"), "{traced}");
}

#[tokio::test]
async fn a_nested_router_may_have_no_prefix_of_its_own() {
    let config = Config::builder().allow_anonymous(true).prefix("").build().unwrap();
    let ask = serve(application().nest("/tools", tools(config))).await;
    assert_eq!(ask(get("/tools/version")).await.text(), r#"{"version":"0.1.0"}"#);
    let reply = ask(post("/tools/call").body(r#"{"method":"scalar","id":1}"#)).await;
    assert_eq!(reply.json()["result"]["result"], 7);
    assert_eq!(ask(get("/tools/readyz")).await.status, 200);
    ask(get("/tools/no_such")).await.rpc_error(404, 404);
}
