//! Whatever a model does, no history has a call without its answer, and the loop ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use opentool_chat::testing::{FunctionModel, Reply};
use opentool_chat::{
    AnswerForm, ChatClient, ChatError, ChatMemory, ChatModel, ChatRequest, ChatResponse, Delta, FinishReason,
    InProcessMemory, Message, ModelRequest, ToolCallDelta, TypedAnswers,
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
        "good",
        "bad",
        "panics",
        "careful",
        "direct",
        "final_answer",
        "",
        "nowhere",
        "a.good",
        "\u{0}",
    ]));
    let arguments = prop::sample::select(vec![
        "",
        "{}",
        "{",
        "}",
        "null",
        "[1]",
        r#"{"n":1}"#,
        r#"{"n":1,"n":2}"#,
        "\u{7}é",
        r#"{"value":[1]}"#,
    ]);
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
        FinishReason::Paused,
        FinishReason::Refused,
        FinishReason::Other("odd".to_owned()),
    ]);
    prop_oneof![
        6 => any_piece(),
        2 => "[a-z é]{0,8}".prop_map(Delta::Text),
        1 => prop::sample::select(vec!["[1]", "[300]", "{}"]).prop_map(Delta::text),
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

/// The tools, and a count of how often `good` ran.
fn tools() -> (Toolbox, Arc<AtomicUsize>) {
    let metadata = ToolMetadata::new;
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let tools = [
        FakeTool::new("good").acts(move |_, _| {
            count.fetch_add(1, SeqCst);
            async { Ok("fine".into()) }
        }),
        FakeTool::new("bad").fails(ToolError::failed("no luck")),
        FakeTool::new("panics").acts(|_, _| async { std::panic::resume_unwind(Box::new("quietly")) }),
        FakeTool::new("careful").answers("sent").with_metadata(metadata().with_approval(true)),
        FakeTool::new("direct").answers("shown").with_metadata(metadata().with_return_direct(true)),
    ];
    (Toolbox::from_tools(tools).unwrap(), ran)
}

/// How often `good` answered in these messages.
fn answered(messages: &[Message]) -> usize {
    messages.iter().flat_map(Message::answers).filter(|answer| &*answer.text == "fine").count()
}

/// How a turn is asked for.
#[derive(Clone, Copy, Debug)]
struct Setup {
    mode: Mode,
    in_loop: bool,
    /// How many messages the memory returns.
    window: usize,
    /// By which means the answer is a list of numbers; none where it is any text.
    typed: Option<TypedAnswers>,
}

impl Setup {
    async fn ask(self, request: ChatRequest) -> Result<ChatResponse, ChatError> {
        let form = || AnswerForm::for_type::<Vec<u8>>().unwrap();
        self.mode.ask(if self.typed.is_some() { request.answer_form(form()) } else { request }).await
    }
}

/// Runs one turn to its end, deciding about whatever has to wait.
async fn turn(setup: Setup, rounds: Vec<Round>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    // The model goes round and round, so that nothing but the loop itself brings the turn to an end.
    let model = FunctionModel::new(move |request: ModelRequest<'_>| {
        assert_sound(request.messages);
        let round = count.fetch_add(1, SeqCst);
        reply(&rounds[round % rounds.len()])
    });
    let model = model.typed_answers_by(setup.typed.unwrap_or_default());
    let memory = Arc::new(InProcessMemory::with_window(setup.window));
    let executor = Executor::builder().approval(Ask::later()).build();
    let (tools, ran) = tools();
    let client = ChatClient::builder(ChatModel::builder(model).executor(executor).build())
        .memory(memory.clone())
        .memory_in_loop(setup.in_loop)
        .conversation("ann")
        .default_tools(tools)
        .build();
    let mut result = setup.ask(client.prompt("hi")).await;
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
        result = setup.ask(client.resume(state)).await;
        waits += 1;
        assert!(waits <= 30, "a turn waits no more often than it has rounds");
    }
    // 25 rounds, the call that is refused, the answer that is asked for; and answers of the wrong form.
    // Each pause is a request too, ten for an answer and three tries.
    let most = 27 + 3 * 10 * (waits + 1) + if setup.typed.is_some() { 2 * (waits + 1) } else { 0 };
    assert!(asked.load(SeqCst) <= most, "the limit of rounds holds, waits or not");
    let kept = memory.get("ann").await.unwrap();
    assert_sound(&kept);
    let exchange = match &result {
        Ok(response) => response.exchange(),
        Err(error) => error.exchange(),
    };
    let ran = ran.load(SeqCst);
    assert_eq!(answered(&exchange.history), ran, "the response or the error has every effect");
    if setup.window > 100 {
        assert_eq!(answered(&kept), ran, "the memory forgets no effect");
    }
    if let Ok(response) = result {
        assert!(!response.has_tool_calls());
        if setup.typed.is_some() {
            response.answer_as::<Vec<u8>>().unwrap();
        }
    } else if ran > 0 {
        assert!(setup.window <= 100 || kept.last().unwrap().is_incomplete(), "the turn is marked as failed: {kept:?}");
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
        window in prop::sample::select(vec![7, 10_000]),
        typed in prop::option::of(prop::sample::select(vec![
            TypedAnswers::Native, TypedAnswers::ForcedTool, TypedAnswers::Prompt,
        ])),
    ) {
        let mode = if streamed { Mode::Streaming } else { Mode::Blocking };
        run(turn(Setup { mode, in_loop, window, typed }, rounds));
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
