//! One of the peers: `peer hyper PORT`, `peer rmcp PORT`, or `peer rmcp-stdio`, each answering a call of `add`.

use std::{convert::Infallible, env, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities, ServerConfig},
    service::RequestContext,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde_json::Value;
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().ok_or("which peer?")?;
    if name == "rmcp-stdio" {
        Adder.serve(stdio()).await?.waiting().await?;
        return Ok(());
    }
    let port: u16 = arguments.next().ok_or("which port?")?.parse()?;
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await?;
    match name.as_str() {
        "hyper" => hyper(listener).await,
        "rmcp" => rmcp(listener).await,
        _ => Err(format!("there is no peer `{name}`").into()),
    }
}

/// The limit: HTTP and nothing else.
async fn hyper(listener: TcpListener) -> Result<(), Failure> {
    const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"3"}]}}"#;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let service = service_fn(|_: Request<Incoming>| async {
                let answer = Response::builder().header("content-type", "application/json");
                Ok::<_, Infallible>(answer.body(Full::new(Bytes::from_static(ANSWER))).unwrap_or_default())
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// The service of rmcp as it costs least: without sessions, with JSON answers.
async fn rmcp(listener: TcpListener) -> Result<(), Failure> {
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Adder), sessions, config);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// What one writes by hand for one function without checks.
#[derive(Clone)]
struct Adder;

impl ServerHandler for Adder {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let number = |name: &str| arguments.get(name).and_then(Value::as_i64);
        let sum = match (&*request.name, number("a"), number("b")) {
            ("add", Some(a), Some(b)) => a.checked_add(b),
            _ => None,
        };
        let sum = sum.ok_or_else(|| ErrorData::invalid_params("no such sum", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(sum.to_string())]).into())
    }
}
