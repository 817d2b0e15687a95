//! `model PORT`: a scripted model with the chat completions interface. It asks for `add` once, and answers when it has the result.

use std::{convert::Infallible, env, net::SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

const ASKS: &str = r#"{"id":"1","object":"chat.completion","created":1,"model":"scripted","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{\"a\":17,\"b\":25}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":50,"completion_tokens":20,"total_tokens":70}}"#;
const ANSWERS: &str = r#"{"id":"2","object":"chat.completion","created":1,"model":"scripted","choices":[{"index":0,"message":{"role":"assistant","content":"It is 42."},"finish_reason":"stop"}],"usage":{"prompt_tokens":80,"completion_tokens":5,"total_tokens":85}}"#;
const REFUSES: &str = r#"{"error":{"message":"the result of the tool is not 42","type":"invalid_request_error"}}"#;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let port: u16 = env::args().nth(1).ok_or("which port?")?.parse()?;
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let has = |text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
    let (status, answer) = match (has(r#""role":"tool""#), has("42")) {
        (false, _) => (200, ASKS),
        (true, true) => (200, ANSWERS),
        (true, false) => (400, REFUSES),
    };
    let response = Response::builder().status(status).header("content-type", "application/json");
    Ok(response.body(Full::new(Bytes::from_static(answer.as_bytes()))).unwrap_or_default())
}
