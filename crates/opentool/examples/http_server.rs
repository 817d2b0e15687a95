//! A server with a key for each caller and limits, over OpenTool's own protocol and MCP on one port, and a clean stop.
//!
//! ```console
//! $ cargo run -p opentool --example http_server --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use opentool::prelude::*;

/// How many of an article are in stock.
#[tool(read_only)]
fn stock(article: u32) -> u32 {
    article % 7
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::new(stock::tool())
        .configure(|config| {
            config.named_key("shop", "key-of-the-shop").named_key("app", "key-of-the-app").max_calls_in_flight(100)
        })
        .mount(Mcp::new().name("warehouse"))
        .bind("127.0.0.1:0") // in production 127.0.0.1:9627, behind a proxy with TLS
        .await?;
    let url = format!("http://{}", server.local_addr()?);
    let stop = server.shutdown_handle();
    let serving = tokio::spawn(server.serve());

    // The shop, over OpenTool's own protocol.
    let shop = Executor::new().host(Client::new(&url).api_key("key-of-the-shop"));
    println!("OpenTool: {}", shop.call("stock", r#"{"article": 9}"#).await?.to_text());

    // An agent, over MCP.
    let app = McpClient::from_url(ServerUrl::new(format!("{url}/mcp")).api_key("key-of-the-app"));
    println!("MCP: {}", Executor::new().host(app.clone()).call("stock", r#"{"article": 10}"#).await?.to_text());
    app.close().await;

    // Others are refused.
    if let Err(error) = Client::new(&url).api_key("a-guess").toolbox().await {
        println!("refused: {error}");
    }

    stop.shutdown(); // calls that run may finish
    serving.await?;
    println!("stopped");
    Ok(())
}
