//! Your own model client, with tools that are run by opentool: all calls of an answer at once, one outcome for each.
//!
//! ```console
//! $ cargo run -p opentool --example own_loop --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::time::Duration;

use opentool::prelude::*;

struct Warehouse;

#[toolbox]
impl Warehouse {
    /// How many of an article are in stock.
    #[tool(read_only)]
    fn stock(
        &self,
        /// The number on the article's label.
        article: u32,
    ) -> u32 {
        article % 7
    }

    /// Order more of an article.
    #[tool(destructive)]
    async fn order(&self, article: u32, amount: Option<u32>, ctx: &ToolContext) -> Result<String, Failure> {
        let tenant = ctx.get("tenant").and_then(|tenant| tenant.as_str()).ok_or(Failure::new("who is asking?"))?;
        Ok(format!("{} of {article} for {tenant}", amount.unwrap_or(1)))
    }

    /// Count everything by hand.
    #[tool(read_only, timeout = "50ms")]
    async fn count(&self) -> u32 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        0
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let executor = Executor::new();
    let tools = executor.host(Warehouse).toolbox().await?;
    // What the model is given, in the form that your provider takes: here only the names.
    println!("tools: {}", tools.names().collect::<Vec<_>>().join(", "));

    // What the model asked for in one answer, as your own client received it.
    let calls = vec![
        ToolCall::new("call_1", "stock", r#"{"article": 9}"#),
        ToolCall::new("call_2", "order", r#"{"article": 9, "amount": 3}"#),
        ToolCall::new("call_3", "order", r#"{"article": "nine"}"#),
        ToolCall::new("call_4", "ordr", "{}"),
        ToolCall::new("call_5", "count", "{}"),
    ];
    let context = ToolContext::new().with("tenant", "acme"); // tools see it, the model never does
    let mut turn = Turn::new(); // counts against the limits, over all rounds of the turn
    let outcomes = executor.run(&tools, calls, &mut turn, &context).finish().await;

    // The messages that go back to the model, in the order of the calls.
    for outcome in &outcomes {
        let text = match &outcome.result {
            Ok(output) => output.to_text().to_string(),
            Err(error) => format!("error: {}", error.message()),
        };
        println!("{} {}: {text}", outcome.call_id, outcome.tool);
    }
    Ok(())
}
