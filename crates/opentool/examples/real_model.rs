//! Turns with a real model, each of which must be whole: a call, the tool, an answer.
//!
//! `scripts/real-model` runs it against a small model on this machine. Any other will do:
//!
//! ```console
//! $ OPENAI_API_KEY=… OPENAI_MODEL=gpt-5-mini cargo run -p opentool --features chat --example real_model -- openai 3
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what happens")]

use std::collections::HashMap;
use std::error::Error;
use std::process::ExitCode;

use jiff::{Timestamp, Zoned};
use opentool::prelude::*;

struct Clock;

#[toolbox]
impl Clock {
    /// Get the current date and time in the user's time zone.
    #[tool(read_only)]
    fn current_date_time(&self) -> String {
        Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    /// Set a user alarm for the given time.
    #[tool]
    fn set_alarm(
        &self,
        /// Time in ISO-8601 format.
        time: Timestamp,
    ) -> String {
        format!("The alarm is set for {time}.")
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let provider = arguments.next().unwrap_or_default();
    let runs: usize = arguments.next().map_or(Ok(10), |runs| runs.parse())?;
    let model: ChatModel = match provider.as_str() {
        "openai" => OpenAi::from_env()?.into(),
        "anthropic" => Anthropic::from_env()?.into(),
        other => return Err(format!("`{other}` is neither openai nor anthropic").into()),
    };
    let options = ChatOptions::new()
        .with_temperature(0.0)
        .with_max_tokens(128)
        .with_tool_choice(ToolChoice::Required)
        .with_parallel_tool_calls(false);
    let client = ChatClient::builder(model).build();

    let mut all_whole = true;
    for streaming in [false, true] {
        let how = if streaming { "streamed" } else { "in one piece" };
        let mut whole = 0;
        for run in 1..=runs {
            let request =
                client.prompt("Can you set an alarm 10 minutes from now?").tools(Clock).options(options.clone());
            let turn = if streaming { request.stream().finish().await } else { request.call().await };
            match turn.map_err(|error| error.to_string()).and_then(|response| check(&response)) {
                Ok(story) if run == 1 => {
                    println!("{provider}, {how}: {story}");
                    whole += 1;
                }
                Ok(_) => whole += 1,
                Err(fault) => println!("{provider}, {how}, run {run}: {fault}"),
            }
        }
        println!("{provider}, {how}: {whole} of {runs} turns are whole");
        all_whole &= whole == runs;
    }
    Ok(if all_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tells a turn in short, or what is wrong with it.
fn check(response: &ChatResponse) -> Result<String, String> {
    let messages = response.messages();
    let (Some(Message::User(_)), Some(Message::Assistant(last))) = (messages.first(), messages.last()) else {
        return Err(format!("it does not go from a question to an answer: {messages:?}"));
    };
    if !last.tool_calls.is_empty() || last.text.trim().is_empty() {
        return Err(format!("it does not end with an answer: {last:?}"));
    }
    let answers: HashMap<&str, _> =
        messages.iter().flat_map(Message::answers).map(|answer| (&*answer.call_id, answer)).collect();
    let calls: Vec<_> = messages.iter().flat_map(Message::tool_calls).collect();
    let mut story = Vec::new();
    for call in &calls {
        let arguments: String = call.arguments.as_str().split_whitespace().collect();
        match answers.get(&*call.id) {
            Some(answer) if answer.is_error() => {
                return Err(format!("{} {arguments}: {}", call.name, answer.text));
            }
            Some(answer) => story.push(format!("{} {arguments} → {}", call.name, answer.text)),
            None => return Err(format!("the call of {} has no answer", call.name)),
        }
    }
    if calls.is_empty() || calls.len() != answers.len() {
        return Err(format!("{} calls have {} answers", calls.len(), answers.len()));
    }
    Ok(format!("{} → {:?}", story.join(" → "), last.text))
}
