//! `call hand|opentool|rig`: nanoseconds of a call of `add` by name, with its arguments as JSON text: the best round, and the median.

use std::{env, hint::black_box, time::Instant};

use opentool::Executor;
use serde::Deserialize;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const ARGUMENTS: &str = r#"{"a":1,"b":2}"#;
const ROUNDS: usize = 200;
const CALLS: u32 = 2_000;

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

#[derive(Deserialize)]
struct Pair {
    a: i64,
    b: i64,
}

/// What one writes without a library, and without a check of anything but the types.
fn by_hand(name: &str, arguments: &str) -> Result<String, Failure> {
    let Pair { a, b } = serde_json::from_str(arguments)?;
    match name {
        "add" => Ok((a + b).to_string()),
        "subtract" => Ok((a - b).to_string()),
        _ => Err("no such tool".into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    match env::args().nth(1).as_deref() {
        Some("hand") => measure(async || by_hand(black_box("add"), black_box(ARGUMENTS))).await,
        Some("opentool") => {
            let host = Executor::new().host(ours::add::tool());
            measure(async || Ok(host.call(black_box("add"), black_box(ARGUMENTS)).await?.to_text().to_string())).await
        }
        Some("rig") => {
            let tools = rig::tool::ToolSet::from_tools(vec![theirs::Add]);
            measure(async || {
                let mut context = rig::tool::ToolContext::default();
                let result = tools.execute(black_box("add"), black_box(ARGUMENTS), &mut context).await;
                Ok(result.output().render())
            })
            .await
        }
        _ => Err("usage: call hand|opentool|rig".into()),
    }
}

async fn measure(call: impl AsyncFn() -> Result<String, Failure>) -> Result<(), Failure> {
    let answer = call().await?;
    if !answer.contains('3') {
        return Err(format!("a call got {answer}").into());
    }
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..CALLS {
            let _ = black_box(call().await?);
        }
        times.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    times.sort_unstable_by(f64::total_cmp);
    println!("{:.1} {:.1}", times[0], times[ROUNDS / 2]);
    Ok(())
}
