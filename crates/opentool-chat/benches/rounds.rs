//! What a round of the loop costs beside the model and the tools, which here cost next to nothing.
//!
//! `cargo bench -p opentool-chat`
//!
//! A turn has twenty rounds with two concurrent calls each. The contenders take turns, so that a noisy machine is noisy for
//! all of them; each is measured by its best and its median turn.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{ChatClient, Message, ModelRequest};
use opentool_core::spec::schema::Target;
use opentool_core::{FnTool, ToolCall, Toolbox};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Builder;

const ROUNDS: usize = 20;
const TURNS: usize = 400;

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

fn tools(count: usize) -> Toolbox {
    Toolbox::from_tools((0..count).map(|n| FnTool::new(format!("tool_{n}"), |i: Pair| i.a + i.b).inline())).unwrap()
}

/// The answer of a round: two calls, and in the last one a text.
fn reply(round: usize) -> Reply {
    if round == ROUNDS {
        return Reply::text("done");
    }
    Reply::calls([1, 2].map(|tool| {
        let arguments = format!(r#"{{"a":{round},"b":{tool}}}"#);
        ToolCall::new(format!("call_{round}_{tool}"), format!("tool_{tool}"), arguments)
    }))
}

fn round_of(request: ModelRequest<'_>) -> usize {
    request.messages.iter().filter(|message| matches!(message, Message::Tool(_))).count()
}

struct Contender {
    name: &'static str,
    client: Box<dyn Fn() -> ChatClient>,
    streamed: bool,
    took: Vec<Duration>,
}

fn contender(name: &'static str, streamed: bool, client: impl Fn() -> ChatClient + 'static) -> Contender {
    Contender { name, client: Box::new(client), streamed, took: Vec::with_capacity(TURNS) }
}

fn function(tools: Toolbox) -> impl Fn() -> ChatClient {
    let model = FunctionModel::new(|request: ModelRequest<'_>| reply(round_of(request)));
    move || ChatClient::builder(model.clone()).default_tools(tools.clone()).build()
}

fn scripted(tools: Toolbox) -> impl Fn() -> ChatClient {
    move || {
        let script = ScriptedModel::new((0..=ROUNDS).map(reply));
        ChatClient::builder(script).default_tools(tools.clone()).build()
    }
}

fn main() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let (few, many) = (tools(20), tools(1000));
    let mut contenders = [
        contender("20 tools", false, function(few.clone())),
        contender("20 tools, streamed", true, function(few.clone())),
        contender("20 tools, scripted model (which keeps what it is asked)", false, scripted(few)),
        contender("1,000 tools", false, function(many.clone())),
    ];
    for _ in 0..TURNS {
        for contender in &mut contenders {
            let request = (contender.client)().prompt("go");
            let start = Instant::now();
            let answer = runtime.block_on(async {
                if contender.streamed { request.stream().finish().await } else { request.call().await }
            });
            contender.took.push(start.elapsed());
            assert_eq!(answer.unwrap().messages().len(), 2 + 2 * ROUNDS);
        }
    }
    println!("a round with two concurrent calls, of a turn of {ROUNDS} rounds:");
    for Contender { name, took, .. } in &mut contenders {
        took.sort_unstable();
        let per_round = |turn: Duration| turn.as_secs_f64() * 1e6 / ROUNDS as f64;
        println!("  {:>7.2} µs at best, {:>7.2} µs median  {name}", per_round(took[0]), per_round(took[TURNS / 2]));
    }

    // The list of a thousand tools: how often it is written in a turn, and what it would cost in every round.
    let lists = Arc::new(Mutex::new((HashSet::new(), Vec::new())));
    let seen = lists.clone();
    let model = FunctionModel::new(move |request: ModelRequest<'_>| {
        let start = Instant::now();
        let list = request.tools.wire(Target::OpenAi).get();
        let (places, times) = &mut *seen.lock().unwrap();
        times.push(start.elapsed());
        places.insert((list.as_ptr() as usize, list.len()));
        reply(round_of(request))
    });
    let client = ChatClient::builder(model).default_tools(many).build();
    runtime.block_on(client.prompt("go").call()).unwrap();
    let (places, times) = &*lists.lock().unwrap();
    println!(
        "the list of 1,000 tools was written {} time in {} rounds: {:?} for the first, {:?} for all others together",
        places.len(),
        times.len(),
        times[0],
        times[1..].iter().sum::<Duration>()
    );
}
