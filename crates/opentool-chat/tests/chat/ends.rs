//! Why a turn ended, what it cost, and answers that a provider pauses.

use std::time::Duration;

use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{
    AssistantMessage, ChatClient, ChatEvent, ChatMemory, ChatModel, ChatOptions, FinishReason, InProcessMemory,
    Message, ModelRequest, Price, PriceTable, SummarisingMemory, TokenWindow, ToolCallDelta, TurnEnd, Usage,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Cancellation, Executor, Limits, ToolError, ToolMetadata};

use crate::support::{Mode, watch};

async fn one_enum_says_why_a_turn_ended(mode: Mode) {
    for (reason, end) in [
        (FinishReason::Stop, TurnEnd::Answered),
        (FinishReason::Length, TurnEnd::CutOff),
        (FinishReason::ContentFilter, TurnEnd::Filtered),
        (FinishReason::Refused, TurnEnd::Refused),
        (FinishReason::Other("odd".to_owned()), TurnEnd::Answered),
    ] {
        let model = ScriptedModel::new([Reply::text("Well.").with_finish_reason(reason)]);
        assert_eq!(mode.answer(ChatClient::new(model).prompt("hi")).await.end(), end);
    }
    let tools = || {
        let metadata = ToolMetadata::new;
        (
            FakeTool::new("direct").answers("shown").with_metadata(metadata().with_return_direct(true)),
            FakeTool::new("careful").with_metadata(metadata().with_approval(true)),
            FakeTool::new("burn").fails(ToolError::fatal("gone")),
        )
    };
    let executor = || Executor::builder().approval(Ask::later()).limits(Limits::none().with_rounds(1)).build();
    let client = |replies: Vec<Reply>| {
        let model = ChatModel::builder(ScriptedModel::new(replies)).executor(executor()).build();
        ChatClient::builder(model).default_tools(tools()).build()
    };
    let call = |name: &str| Reply::call(name, "{}");
    assert_eq!(mode.answer(client(vec![call("direct")]).prompt("hi")).await.end(), TurnEnd::ReturnDirect);
    assert_eq!(mode.answer(client(vec![call("careful")]).prompt("hi")).await.end(), TurnEnd::Suspended);
    let left = ChatOptions::new().with_internal_execution(false);
    assert_eq!(mode.answer(client(vec![call("burn")]).prompt("hi").options(left)).await.end(), TurnEnd::CallsLeft);
    assert_eq!(mode.error(client(vec![call("burn")]).prompt("hi")).await.end(), TurnEnd::ToolFailed);
    let twice = |last| vec![call("nowhere"), call("nowhere"), last];
    assert_eq!(mode.answer(client(twice(Reply::text("x"))).prompt("hi")).await.end(), TurnEnd::AnsweredAtLimit);
    assert_eq!(mode.error(client(twice(call("nowhere"))).prompt("hi")).await.end(), TurnEnd::Limit);
    assert_eq!(mode.error(client(vec![]).prompt("hi")).await.end(), TurnEnd::Failed);
    let brief = ChatOptions::new().with_turn_timeout(Duration::from_millis(5));
    assert_eq!(mode.error(client(vec![Reply::never()]).prompt("hi").options(brief)).await.end(), TurnEnd::Deadline);
    let cancelled = Cancellation::new();
    cancelled.cancel();
    let request = client(vec![Reply::never()]).prompt("hi").cancellation(cancelled);
    assert_eq!(mode.error(request).await.end(), TurnEnd::Cancelled);
}

async fn a_paused_answer_is_continued(mode: Mode) {
    let pause = |text: &str| Reply::text(text).with_finish_reason(FinishReason::Paused);
    let model = ScriptedModel::new([pause("Let me search. "), pause("Found: "), Reply::text("48.")]);
    let answer = mode.answer(ChatClient::new(model.clone()).prompt("6 * 8?")).await;
    assert_eq!((answer.text().as_str(), answer.end()), ("Let me search. Found: 48.", TurnEnd::Answered));
    let sent = &model.requests()[2].messages;
    assert_eq!(sent[1..], [Message::assistant("Let me search. "), Message::assistant("Found: ")]);
    assert_eq!(answer.messages().len(), 4);
}

async fn an_answer_that_is_paused_for_ever_ends(mode: Mode) {
    let model = FunctionModel::new(|_: ModelRequest<'_>| Reply::text(".").with_finish_reason(FinishReason::Paused));
    let answer = mode.answer(ChatClient::new(model).prompt("6 * 8?")).await;
    assert_eq!((answer.end(), answer.text().len()), (TurnEnd::Paused, 11));
}

async fn usage_and_cost_are_those_of_all_rounds(mode: Mode) {
    let usage = |input, output| {
        Usage::new(input, output)
            .with_cached_input_tokens(input / 2)
            .with_cache_write_tokens(input / 4)
            .with_reasoning_tokens(output / 2)
    };
    let prices = PriceTable::new().with("scr", Price::new(1.0, 10.0).with_cached_input(0.1).with_cache_write(2.0));
    let replies =
        || [Reply::call("look", "{}").with_usage(usage(4_000, 100)), Reply::text("x").with_usage(usage(8_000, 200))];
    let client = |prices: PriceTable| {
        let model = ChatModel::builder(ScriptedModel::new(replies())).prices(prices).build();
        ChatClient::builder(model).default_tools(FakeTool::new("look")).build()
    };
    let answer = mode.answer(client(prices).prompt("hi")).await;
    let expected = Usage::new(12_000, 300)
        .with_cached_input_tokens(6_000)
        .with_cache_write_tokens(3_000)
        .with_reasoning_tokens(150);
    assert_eq!(answer.usage, expected);
    let cost = answer.cost().unwrap();
    assert!((cost - (0.003 + 0.0006 + 0.006 + 0.003)).abs() < 1e-9, "{cost}");
    let unknown = PriceTable::new().with("other", Price::new(1.0, 10.0));
    assert_eq!(mode.answer(client(unknown).prompt("hi")).await.cost(), None);
}

in_both_modes!(
    one_enum_says_why_a_turn_ended,
    a_paused_answer_is_continued,
    an_answer_that_is_paused_for_ever_ends,
    usage_and_cost_are_those_of_all_rounds,
);

#[tokio::test]
async fn arguments_come_in_pieces_with_their_call() {
    let calls = Reply::call("look", r#"{"place":"Ulm"}"#).and_call("send", r#"{"to":"ann"}"#);
    let model = ScriptedModel::new([calls, Reply::text("x")]);
    let request = ChatClient::new(model).prompt("hi").tools((FakeTool::new("look"), FakeTool::new("send")));
    let (events, result) = watch(request.stream()).await;
    result.unwrap();
    let pieces: Vec<&ToolCallDelta> = events
        .iter()
        .filter_map(|event| match event {
            ChatEvent::ToolCall(piece) => Some(piece),
            _ => None,
        })
        .collect();
    assert!(pieces.len() > 4, "{pieces:?}");
    for (place, name, id, whole) in
        [(0, "look", "call_1_1", r#"{"place":"Ulm"}"#), (1, "send", "call_1_2", r#"{"to":"ann"}"#)]
    {
        let own: Vec<_> = pieces.iter().filter(|piece| piece.index == Some(place)).collect();
        assert!(own.iter().all(|piece| (piece.name.as_deref(), piece.id.as_deref()) == (Some(name), Some(id))));
        assert_eq!(own.iter().map(|piece| piece.arguments.as_str()).collect::<String>(), whole);
    }
}

#[tokio::test]
async fn a_stream_is_read_without_another_crate() {
    let model = ScriptedModel::new([Reply::text("Once upon a time")]);
    let mut texts = ChatClient::new(model).prompt("hi").stream().texts();
    let mut story = String::new();
    // Inherent: no trait is imported here.
    while let Some(text) = texts.next().await {
        story.push_str(&text.unwrap());
    }
    assert_eq!(story, "Once upon a time");
}

#[tokio::test]
async fn a_memory_keeps_to_a_budget_of_tokens() {
    let memory = TokenWindow::new(InProcessMemory::with_window(1_000), 10).with_counter(|message| message.text().len());
    memory.add("a", &[Message::system("1"), Message::user("12345"), Message::assistant("1234")]).await.unwrap();
    memory.add("a", &[Message::user("123"), Message::assistant("12")]).await.unwrap();
    let texts = |messages: Vec<Message>| messages.iter().map(|message| message.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(memory.get("a").await.unwrap()), ["1", "123", "12"], "the first turn has nine, four are left");
    memory.add("a", &[Message::user("1")]).await.unwrap();
    assert_eq!(texts(memory.get("a").await.unwrap()), ["1", "123", "12", "1"]);
    memory.add("a", &[Message::user("12345678901")]).await.unwrap();
    assert_eq!(texts(memory.get("a").await.unwrap()), ["1", "12345678901"], "the latest turn is always there");
}

#[tokio::test]
async fn a_memory_sums_up_what_falls_out_of_its_window() {
    let model = FunctionModel::new(|request: ModelRequest<'_>| {
        let transcript = request.messages[0].text();
        let facts = ["Ann", "Ulm"].into_iter().filter(|fact| transcript.contains(fact));
        Reply::text(format!("known: {}", facts.collect::<Vec<_>>().join(" ")))
    });
    let inner = std::sync::Arc::new(InProcessMemory::with_window(8));
    let memory = SummarisingMemory::new(inner.clone(), ChatModel::new(model.clone())).with_every(4);
    memory.add("a", &[Message::user("I am Ann."), Message::assistant("Hello.")]).await.unwrap();
    for round in 0..20 {
        let said = if round == 5 { "I live in Ulm." } else { "And now?" };
        memory.add("a", &[Message::user(said), Message::assistant("Well.")]).await.unwrap();
    }
    let kept = memory.get("a").await.unwrap();
    assert_eq!(kept[0].text(), "Summary of the conversation so far:\nknown: Ann Ulm");
    assert!(kept.len() <= 9);
    // Another process knows nothing of the counts, and sums up before it adds.
    let memory = SummarisingMemory::new(inner, ChatModel::new(model)).with_every(4);
    memory.add("a", &[Message::user("Bye."), AssistantMessage::new("Bye.").into()]).await.unwrap();
    assert_eq!(memory.get("a").await.unwrap()[0].text(), "Summary of the conversation so far:\nknown: Ann Ulm");
}

#[tokio::test]
async fn a_summary_gets_the_turns_that_failed() {
    let model = FunctionModel::new(|request: ModelRequest<'_>| Reply::text(request.messages[0].text()));
    let memory = SummarisingMemory::new(InProcessMemory::new(), ChatModel::new(model)).with_every(1);
    let turns = [
        [Message::user("Pay."), AssistantMessage::new("").with_failure("unreachable").into()],
        [Message::user("Tell a story."), AssistantMessage::new("Once upon").with_failure("interrupted").into()],
        [Message::user("Bye."), Message::assistant("Bye.")],
    ];
    for turn in turns {
        memory.add("a", &turn).await.unwrap();
    }
    let kept = memory.get("a").await.unwrap();
    let summary = kept[0].text();
    let failed = |why: &str| format!("[The turn ended here without a whole answer: {why}]");
    assert!(summary.contains(&format!("assistant: {}\n", failed("unreachable"))), "{summary}");
    assert!(summary.ends_with(&format!("assistant: Once upon\n{}", failed("interrupted"))), "{summary}");
}

#[tokio::test]
async fn a_summary_that_fails_loses_nothing() {
    let inner = std::sync::Arc::new(InProcessMemory::new());
    let memory = SummarisingMemory::new(inner.clone(), ChatModel::new(ScriptedModel::new([]))).with_every(1);
    for _ in 0..3 {
        memory.add("a", &[Message::user("hi"), Message::assistant("hi")]).await.unwrap();
    }
    assert_eq!(inner.get("a").await.unwrap().len(), 6);
}
