//! A gateway: an MCP server without keys, offered to others with keys, a prefix, and only some of its tools.
//!
//! ```console
//! $ cargo run -p opentool --example mcp_gateway --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;

use opentool::prelude::*;

/// What stands behind the gateway.
struct Files;

#[toolbox]
impl Files {
    /// Read a file.
    #[tool(read_only)]
    fn read(&self, path: String) -> String {
        format!("the content of {path}")
    }

    /// Delete a file.
    #[tool(destructive)]
    fn delete(&self, path: String) -> String {
        format!("{path} is deleted")
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // In your setting this is another program: McpClient::from_command(ServerCommand::new("npx").args(["-y", "some-server"])).
    let upstream = Server::new(Files).mount(Mcp::new()).bind("127.0.0.1:0").await?;
    let files = McpClient::from_url(ServerUrl::new(format!("http://{}/mcp", upstream.local_addr()?)));
    tokio::spawn(upstream.serve());

    // What the upstream server says about its tools is not trusted: the operator says what may be offered.
    let offered = files.toolbox().await?.filter(|tool| tool.definition().name() == "read").prefix("files_")?;
    let gateway = Server::new(offered).api_keys(["key-of-the-agent"]).mount(Mcp::new()).bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", gateway.local_addr()?);
    tokio::spawn(gateway.serve());

    let agent = McpClient::from_url(ServerUrl::new(&url).api_key("key-of-the-agent"));
    println!("offered: {}", agent.toolbox().await?.names().collect::<Vec<_>>().join(", "));
    let host = Executor::new().host(agent.clone());
    println!("{}", host.call("files_read", r#"{"path": "a.txt"}"#).await?.to_text());
    if let Err(error) = host.call("files_delete", r#"{"path": "a.txt"}"#).await {
        println!("{}", error.message());
    }
    if McpClient::from_url(ServerUrl::new(&url)).toolbox().await.is_err() {
        println!("without a key: no tools");
    }
    agent.close().await;
    files.close().await;
    Ok(())
}
