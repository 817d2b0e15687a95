//! A model that looks at the clock and sets an alarm.
//!
//! ```console
//! $ OPENAI_API_KEY=… OPENAI_MODEL=gpt-4.1-mini cargo run -p opentool --features chat --example alarm
//! $ ANTHROPIC_API_KEY=… ANTHROPIC_MODEL=… cargo run -p opentool --features chat --example alarm -- --stream
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::io::Write;

use futures_util::StreamExt;
use jiff::Zoned;
use opentool::prelude::*;

struct Clock;

#[toolbox]
impl Clock {
    /// Get the current date and time in the user's time zone.
    #[tool]
    fn current_date_time(&self) -> String {
        Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    /// Set a user alarm for the given time.
    #[tool]
    fn set_alarm(
        &self,
        /// Time in ISO-8601 format, with its offset.
        time: jiff::Timestamp,
    ) -> String {
        println!("[alarm set for {time}]");
        format!("The alarm is set for {time}.")
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model: ChatModel = match std::env::var_os("ANTHROPIC_API_KEY") {
        Some(_) => Anthropic::from_env()?.into(),
        None => OpenAi::from_env()?.into(),
    };
    let request = ChatClient::new(model).prompt("Can you set an alarm 10 minutes from now?").tools(Clock);

    if std::env::args().any(|argument| argument == "--stream") {
        let mut texts = std::pin::pin!(request.stream().texts());
        while let Some(text) = texts.next().await {
            print!("{}", text?);
            std::io::stdout().flush()?;
        }
        println!();
    } else {
        println!("{}", request.call().await?);
    }
    Ok(())
}
