//! Tools inside of an axum application that has routes of its own.
//!
//! ```console
//! $ cargo run -p opentool --example axum_app --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::routing::get;
use opentool::prelude::*;
use opentool::server::{Config, router};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the application is about; its routes and its tools share it.
#[derive(Clone, Default)]
struct Counter(Arc<AtomicU32>);

#[toolbox]
impl Counter {
    /// Add to the counter, and get its new value.
    #[tool]
    fn add(&self, number: u32) -> u32 {
        self.0.fetch_add(number, Ordering::Relaxed) + number
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let counter = Counter::default();
    let host = Executor::new().host(counter.clone());
    let config = || Config::builder().api_keys(["key-of-the-app"]).operator_routes(false).build();
    let app = Router::new()
        .route("/", get(move || async move { format!("the counter is at {}", counter.0.load(Ordering::Relaxed)) }))
        // OpenTool at /tools/opentool, MCP at /tools/mcp.
        .nest("/tools", router(host.clone(), config()?).merge(Mcp::new().router(host, config()?)));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, app).await });

    let client = Client::new(format!("http://{address}/tools/opentool")).api_key("key-of-the-app");
    println!("OpenTool: {}", Executor::new().host(client).call("add", r#"{"number": 2}"#).await?.to_text());
    let agent = McpClient::from_url(ServerUrl::new(format!("http://{address}/tools/mcp")).api_key("key-of-the-app"));
    println!("MCP: {}", Executor::new().host(agent.clone()).call("add", r#"{"number": 40}"#).await?.to_text());
    agent.close().await;

    // The application's own route.
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut page = String::new();
    stream.read_to_string(&mut page).await?;
    println!("page: {}", page.lines().last().unwrap_or_default());
    Ok(())
}
