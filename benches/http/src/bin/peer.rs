//! One of the peers: `peer hyper|axum|jsonrpsee PORT`, each answering a call of `add`.

use std::{convert::Infallible, env, net::SocketAddr};

use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, response::IntoResponse, routing::post};
use http_body_util::Full;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use jsonrpsee::{RpcModule, server::Server, types::ErrorObjectOwned};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().ok_or("which peer?")?;
    let port: u16 = arguments.next().ok_or("which port?")?.parse()?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    match name.as_str() {
        "hyper" => hyper(address).await,
        "axum" => axum(address).await,
        "jsonrpsee" => jsonrpsee(address).await,
        _ => Err(format!("there is no peer `{name}`").into()),
    }
}

/// The limit: HTTP and nothing else.
async fn hyper(address: SocketAddr) -> Result<(), Failure> {
    const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","result":{"sum":3},"error":null,"id":"1"}"#;
    let listener = TcpListener::bind(address).await?;
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

#[derive(Deserialize)]
struct Call {
    id: String,
    method: String,
    params: Add,
}

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Serialize)]
struct Answer {
    jsonrpc: &'static str,
    result: Sum,
    error: Option<()>,
    id: String,
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

/// What one writes by hand for one function without checks.
async fn axum(address: SocketAddr) -> Result<(), Failure> {
    async fn call(body: Bytes) -> Result<impl IntoResponse, String> {
        let call: Call = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        let sum = match call.method.as_str() {
            "add" => call.params.a.checked_add(call.params.b).ok_or("overflow")?,
            other => return Err(format!("there is no {other}")),
        };
        let answer = Answer { jsonrpc: "2.0", result: Sum { sum }, error: None, id: call.id };
        let answer = serde_json::to_vec(&answer).map_err(|error| error.to_string())?;
        Ok(([(CONTENT_TYPE, "application/json")], answer))
    }
    let app = Router::new().route("/opentool/call", post(call));
    axum::serve(TcpListener::bind(address).await?, app).await?;
    Ok(())
}

async fn jsonrpsee(address: SocketAddr) -> Result<(), Failure> {
    let mut module = RpcModule::new(());
    module.register_method("add", |params, (), _| {
        let Add { a, b } = params.parse()?;
        a.checked_add(b).ok_or_else(|| ErrorObjectOwned::owned(500, "overflow", None::<()>))
    })?;
    let server = Server::builder().build(address).await?;
    server.start(module).stopped().await;
    Ok(())
}
