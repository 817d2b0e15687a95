//! A question to a model whose answer is a Rust type. A wrong answer goes back to the model with what is wrong about it.
//!
//! ```console
//! $ cargo run -p opentool --example typed_answer --all-features
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

mod scripted_model;

use std::error::Error;

use opentool::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// What the text of an invoice says.
#[derive(Debug, Deserialize, JsonSchema)]
struct Invoice {
    number: String,
    cents: u32,
    due: jiff::civil::Date,
}

/// Look up the rate of a currency in cents.
#[tool(read_only)]
fn rate(currency: String) -> Result<f64, Failure> {
    match currency.as_str() {
        "GBP" => Ok(1.17),
        _ => Err(Failure::new(format!("there is no rate for {currency}"))),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // In your program: OpenAi::from_env()?, or any other provider.
    let model = scripted_model::start([
        scripted_model::calls([("rate", json!({ "currency": "GBP" }))]),
        // Wrong at first: a text instead of a number.
        scripted_model::text(r#"{"number": "2026-17", "cents": "a lot", "due": "2026-12-01"}"#),
        scripted_model::text(r#"{"number": "2026-17", "cents": 11700, "due": "2026-12-01"}"#),
    ])?;
    let client = ChatClient::builder(model).default_tools(rate::tool()).build();
    let invoice: Invoice = client.prompt("Invoice 2026-17: 100 pounds until the first of December.").call_as().await?;
    println!("{} over {:.2} EUR, due {}", invoice.number, f64::from(invoice.cents) / 100.0, invoice.due);
    Ok(())
}
