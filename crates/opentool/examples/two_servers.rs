//! The tools of two servers and a tool of one's own in one toolbox; then one of the servers goes away.
//!
//! ```console
//! $ cargo run -p opentool --example two_servers --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::time::Duration;

use opentool::prelude::*;
use opentool::server::ShutdownHandle;
use tokio::task::JoinHandle;

/// A warehouse with a server of its own.
struct Warehouse {
    in_stock: u32,
}

#[toolbox]
impl Warehouse {
    /// How many of an article are in stock.
    #[tool(read_only)]
    fn stock(&self, article: u32) -> u32 {
        self.in_stock + article % 7
    }
}

/// A running server: its URL, what stops it, and what ends when it has stopped.
async fn start(in_stock: u32) -> Result<(String, ShutdownHandle, JoinHandle<()>), Box<dyn Error>> {
    let server = Server::new(Warehouse { in_stock }).api_keys(["key-of-the-shop"]).bind("127.0.0.1:0").await?;
    let (url, stop) = (format!("http://{}", server.local_addr()?), server.shutdown_handle());
    Ok((url, stop, tokio::spawn(server.serve())))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (paris, ..) = start(100).await?;
    let (oslo, stop_oslo, oslo_runs) = start(200).await?;

    // Both have a tool of the same name, which is an error; prefixes tell them apart.
    let client = |url: &str| Client::new(url).api_key("key-of-the-shop").timeout(Duration::from_secs(2)).retries(0);
    let paris = client(&paris).toolbox().await?.prefix("paris_")?;
    let oslo = client(&oslo).toolbox().await?.prefix("oslo_")?;
    let host = Executor::new().host((paris, oslo, FnTool::new("ping", || "pong")));
    println!("tools: {}", host.toolbox().await?.names().collect::<Vec<_>>().join(", "));

    let ask = async |name: &str| match host.call(name, r#"{"article": 9}"#).await {
        Ok(output) => format!("{name}: {}", output.to_text()),
        Err(error) => format!("{name}: {:?}", error.kind()),
    };
    println!("{}", ask("paris_stock").await);
    println!("{}", ask("oslo_stock").await);

    stop_oslo.shutdown();
    oslo_runs.await?;
    println!("{}", ask("paris_stock").await);
    println!("{}", ask("oslo_stock").await);
    Ok(())
}
