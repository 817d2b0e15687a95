//! `turn opentool|rig SECONDS`: how many turns a client gets through, one after the other, each with two requests to the model of
//! `OPENAI_BASE_URL` and one call of a tool. Prints microseconds a turn (the median), and microseconds of processor time a turn.

use std::{
    env, fs,
    time::{Duration, Instant},
};

use opentool::prelude::{ChatClient, OpenAi};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const PROMPT: &str = "What is 17 + 25?";
const ANSWER: &str = "It is 42.";

mod ours {
    use opentool::prelude::*;

    /// Add two numbers.
    #[tool(read_only, inline)]
    pub(crate) fn add(a: i64, b: i64) -> i64 {
        a + b
    }
}

mod theirs {
    use rig::rig_tool;
    use rig::tool::ToolExecutionError;

    #[rig_tool(description = "Add two numbers.", params(a = "The first.", b = "The second."), required(a, b))]
    pub(crate) fn add(a: i64, b: i64) -> Result<i64, ToolExecutionError> {
        Ok(a + b)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().ok_or("which client?")?;
    let seconds: f64 = arguments.next().ok_or("how many seconds?")?.parse()?;
    let time = Duration::from_secs_f64(seconds);
    match name.as_str() {
        "opentool" => {
            let client = ChatClient::builder(OpenAi::from_env()?).default_tools(ours::add::tool()).build();
            measure(time, async || Ok(client.prompt(PROMPT).call().await?.to_string())).await
        }
        "rig" => {
            use rig::prelude::*;
            let installed = rustls::crypto::ring::default_provider().install_default();
            installed.map_err(|_| "a provider of cryptography is installed already")?;
            let model = rig::providers::openai::OpenAI::from_env()?.chat("scripted");
            let agent = AgentBuilder::new(model).tool(theirs::Add).build();
            measure(time, async || Ok(agent.prompt(PROMPT).max_turns(5).await?.output().to_string())).await
        }
        _ => Err(format!("there is no client `{name}`").into()),
    }
}

async fn measure(time: Duration, turn: impl AsyncFn() -> Result<String, Failure>) -> Result<(), Failure> {
    // The first turns open connections and fill caches.
    for _ in 0..50 {
        expect(&turn().await?)?;
    }
    let (begun, before) = (Instant::now(), processor_microseconds()?);
    let mut times = Vec::new();
    while begun.elapsed() < time {
        let started = Instant::now();
        expect(&turn().await?)?;
        times.push(started.elapsed());
    }
    let used = processor_microseconds()? - before;
    times.sort_unstable();
    println!("{:.1} {:.1}", times[times.len() / 2].as_secs_f64() * 1e6, used / times.len() as f64);
    Ok(())
}

fn expect(answer: &str) -> Result<(), Failure> {
    if answer == ANSWER { Ok(()) } else { Err(format!("a turn got {answer}").into()) }
}

/// What the scheduler counted for the one thread that everything runs on.
fn processor_microseconds() -> Result<f64, Failure> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split_whitespace().next().ok_or("no time")?.parse()?;
    Ok(nanoseconds / 1000.0)
}
