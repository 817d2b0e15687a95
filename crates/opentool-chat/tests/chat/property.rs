//! Whatever a model does, no history has a call without its answer, and the loop ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use opentool_chat::testing::{FunctionModel, Reply};
use opentool_chat::{
    ChatClient, ChatError, ChatMemory, ChatModel, Delta, FinishReason, InProcessMemory, ModelRequest, ToolCallDelta,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Decision, Executor, ToolError, ToolMetadata, ToolOutput, Toolbox};
use proptest::prelude::*;

use crate::support::{Mode, assert_sound};

/// One thing a model may do in a round.
#[derive(Clone, Debug)]
struct Round {
    deltas: Vec<Delta>,
    /// Where the stream is cut off, in hundredths of its length; past a hundred it is whole.
    cut: usize,
}

fn any_piece() -> impl Strategy<Value = Delta> {
    let index = prop::option::of(0usize..3);
    let id = prop::option::of(prop::sample::select(vec!["", "a", "b", "call_1"]));
    let name = prop::option::of(prop::sample::select(vec![
        "good", "bad", "panics", "careful", "direct", "", "nowhere", "a.good", "\u{0}",
    ]));
    let arguments =
        prop::sample::select(vec!["", "{}", "{", "}", "null", "[1]", r#"{"n":1}"#, r#"{"n":1,"n":2}"#, "\u{7}é"]);
    (index, id, name, arguments).prop_map(|(index, id, name, arguments)| {
        let mut piece = ToolCallDelta::new().with_arguments(arguments);
        (piece.index, piece.id, piece.name) = (index, id.map(str::to_owned), name.map(str::to_owned));
        piece.into()
    })
}

fn any_delta() -> impl Strategy<Value = Delta> {
    let finish = prop::sample::select(vec![
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ToolCalls,
        FinishReason::Other("odd".to_owned()),
    ]);
    prop_oneof![
        6 => any_piece(),
        2 => "[a-z é]{0,8}".prop_map(Delta::Text),
        1 => "[a-z]{0,8}".prop_map(Delta::Reasoning),
        1 => finish.prop_map(Delta::Finish),
    ]
}

fn any_round() -> impl Strategy<Value = Round> {
    (prop::collection::vec(any_delta(), 0..8), 0usize..300).prop_map(|(deltas, cut)| Round { deltas, cut })
}

fn reply(round: &Round) -> Reply {
    let whole = round.deltas.len();
    let kept = whole * round.cut.min(100) / 100;
    let reply = Reply::deltas(round.deltas[..kept].to_vec());
    if kept < whole { reply.then_fails(ChatError::interrupted("model", "cut off")) } else { reply }
}

fn tools() -> Toolbox {
    let metadata = ToolMetadata::new;
    let tools = [
        FakeTool::new("good").answers("fine"),
        FakeTool::new("bad").fails(ToolError::failed("no luck")),
        FakeTool::new("panics").acts(|_, _| async { std::panic::resume_unwind(Box::new("quietly")) }),
        FakeTool::new("careful").answers("sent").with_metadata(metadata().with_approval(true)),
        FakeTool::new("direct").answers("shown").with_metadata(metadata().with_return_direct(true)),
    ];
    Toolbox::from_tools(tools).unwrap()
}

/// Runs one turn to its end, deciding about whatever has to wait.
async fn turn(mode: Mode, rounds: Vec<Round>, in_loop: bool) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    // The model goes round and round, so that nothing but the loop itself brings the turn to an end.
    let model = FunctionModel::new(move |request: ModelRequest<'_>| {
        assert_sound(request.messages);
        let round = count.fetch_add(1, SeqCst);
        reply(&rounds[round % rounds.len()])
    });
    let memory = Arc::new(InProcessMemory::with_window(7));
    let executor = Executor::builder().approval(Ask::later()).build();
    let client = ChatClient::builder(ChatModel::builder(model).executor(executor).build())
        .memory(memory.clone())
        .memory_in_loop(in_loop)
        .conversation("ann")
        .default_tools(tools())
        .build();
    let mut result = mode.ask(client.prompt("hi")).await;
    let mut waits = 0;
    while let Ok(response) = &result {
        let Some(state) = response.run_state() else { break };
        let stored = serde_json::to_string(state).unwrap();
        let mut state: opentool_chat::RunState = serde_json::from_str(&stored).unwrap();
        let pending: Vec<_> = state.pending().map(|call| call.id.clone()).collect();
        for (place, id) in pending.iter().enumerate() {
            let decision = match place % 2 {
                0 => Decision::Approve,
                _ => Decision::Deny("no".to_owned()),
            };
            state.decide(id, decision).unwrap();
        }
        result = mode.ask(client.resume(state)).await;
        waits += 1;
        assert!(waits <= 30, "a turn waits no more often than it has rounds");
    }
    assert!(asked.load(SeqCst) <= 27, "the limit of rounds holds, waits or not");
    assert_sound(&memory.get("ann").await.unwrap());
    if let Ok(response) = result {
        assert!(!response.has_tool_calls());
    }
}

/// A clock that does not run while anything else can, so that a turn that hangs differs from one that is slow.
fn run(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(3600), future).await.expect("the loop ends");
    });
}

proptest! {
    #[test]
    fn no_model_leaves_a_call_unanswered_or_the_loop_running(
        rounds in prop::collection::vec(any_round(), 1..6),
        streamed in any::<bool>(),
        in_loop in any::<bool>(),
    ) {
        run(turn(if streamed { Mode::Streaming } else { Mode::Blocking }, rounds, in_loop));
    }
}

#[test]
fn a_tool_that_never_ends_is_cut_off_and_the_turn_continues() {
    run(async {
        for mode in [Mode::Blocking, Mode::Streaming] {
            let model = FunctionModel::new(|request: ModelRequest<'_>| match request.messages.len() {
                1 => Reply::call("stuck", "{}"),
                _ => Reply::text("done"),
            });
            let stuck = FakeTool::new("stuck").acts(|_, _| async {
                std::future::pending::<()>().await;
                Ok(ToolOutput::Empty)
            });
            assert_eq!(mode.answer(ChatClient::new(model).prompt("hi").tools(stuck)).await.text(), "done");
        }
    });
}
