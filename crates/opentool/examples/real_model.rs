//! Turns with a real model, each of which must be whole: a call, the tool, an answer; or an answer that has the form of a type.
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
use opentool::chat::TypedStream;
use opentool::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Blue,
    Green,
    Red,
}

/// What can be seen, as far as a small model can say it in few tokens.
#[derive(Debug, Deserialize, JsonSchema)]
#[allow(dead_code, reason = "it is shown whole")]
struct Sky {
    colour: Colour,
    is_cloudy: bool,
}

/// What a turn is about.
#[derive(Clone, Copy)]
enum Task {
    /// A call, the tool, an answer.
    ToolCall,
    /// An answer that has the form of a type.
    TypedAnswer,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let provider = arguments.next().unwrap_or_default();
    let runs: usize = arguments.next().map_or(Ok(10), |runs| runs.parse())?;
    let model: ChatModel = match provider.as_str() {
        "openai" => OpenAi::from_env()?.into(),
        "openai-responses" => OpenAiResponses::from_env()?.into(),
        "anthropic" => Anthropic::from_env()?.into(),
        other => return Err(format!("`{other}` is none of openai, openai-responses and anthropic").into()),
    };
    let client = ChatClient::builder(model).build();

    let mut all_whole = true;
    for (task, what) in [(Task::ToolCall, "tool call"), (Task::TypedAnswer, "typed answer")] {
        for (streaming, how) in [(false, "in one piece"), (true, "streamed")] {
            let mut whole = 0;
            for run in 1..=runs {
                match turn(&client, task, streaming).await {
                    Ok(story) if run == 1 => {
                        println!("{provider}, {what}, {how}: {story}");
                        whole += 1;
                    }
                    Ok(_) => whole += 1,
                    Err(fault) => println!("{provider}, {what}, {how}, run {run}: {fault}"),
                }
            }
            println!("{provider}, {what}, {how}: {whole} of {runs} turns are whole");
            all_whole &= whole == runs;
        }
    }
    Ok(if all_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Takes one turn; returns it in short, or what is wrong with it.
async fn turn(client: &ChatClient, task: Task, streaming: bool) -> Result<String, Box<dyn Error>> {
    let options = ChatOptions::new().with_temperature(0.0).with_max_tokens(128).with_parallel_tool_calls(false);
    match task {
        Task::ToolCall => {
            let request = client
                .prompt("Can you set an alarm 10 minutes from now?")
                .tools(Clock)
                .options(options.with_tool_choice(ToolChoice::Required));
            let response = if streaming { request.stream().finish().await } else { request.call().await };
            Ok(check(&response?)?)
        }
        Task::TypedAnswer => {
            let request = client.prompt("Which colour has the clear sky at noon?").options(options);
            let sky: Sky = if streaming { last_of(request.stream_as()).await? } else { request.call_as().await? };
            Ok(format!("{sky:?}"))
        }
    }
}

/// Reads a typed answer to its end; it must have been seen before that.
async fn last_of(mut stream: TypedStream<Sky>) -> Result<Sky, Box<dyn Error>> {
    let mut partial = 0;
    while let Some(event) = stream.next().await {
        match event? {
            AnswerEvent::Partial(_) => partial += 1,
            AnswerEvent::Done(sky, _) if partial > 0 => return Ok(sky),
            AnswerEvent::Done(sky, _) => return Err(format!("it came all at once: {sky:?}").into()),
            _ => {}
        }
    }
    Err("the stream has no last event".into())
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
