//! Rows "calls in a history window" and "memory and half turns".

use std::sync::Arc;
use std::time::Duration;

use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{
    AssistantMessage, BoxFuture, Cause, ChatClient, ChatError, ChatMemory, ChatOptions, InProcessMemory, MemoryError,
    Message, ModelRequest, ToolAnswer, ToolMessage, window,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Cancellation, ToolCall, ToolError};
use proptest::prelude::*;

use crate::support::{Mode, assert_sound};

fn call(id: &str) -> Message {
    AssistantMessage::new("").with_tool_calls(vec![ToolCall::new(id, "now", "{}")]).into()
}

fn answer(id: &str) -> Message {
    ToolMessage::new(vec![ToolAnswer::new(id, "now", "noon")]).into()
}

#[tokio::test]
async fn a_memory_counts_its_conversations() {
    let memory = InProcessMemory::new();
    assert!(memory.is_empty());
    memory.add("ann", &[Message::user("q")]).await.unwrap();
    memory.add("ann", &[Message::assistant("a")]).await.unwrap();
    memory.add("bob", &[Message::user("q")]).await.unwrap();
    assert_eq!((memory.len(), memory.is_empty()), (2, false));
    memory.clear("ann").await.unwrap();
    assert_eq!((memory.len(), memory.is_empty()), (1, false));
    memory.clear("bob").await.unwrap();
    assert_eq!((memory.len(), memory.is_empty()), (0, true));
}

#[test]
fn a_window_begins_with_a_question_after_the_system_message() {
    let mut conversation = vec![Message::system("Be terse.")];
    for turn in 0..10 {
        let id = format!("call_{turn}");
        conversation.extend([Message::user(format!("q{turn}")), call(&id), answer(&id), Message::assistant("a")]);
    }
    let latest = window(conversation, 20);
    assert_sound(&latest);
    assert_eq!(latest.len(), 17, "the system message and the four turns that fit whole");
    assert_eq!((latest[0].text(), latest[1].text()), ("Be terse.", "q6"));
}

#[test]
fn a_turn_longer_than_the_window_is_kept_with_its_question() {
    let mut conversation = vec![Message::user("old"), Message::assistant("old"), Message::user("long")];
    for n in 0..30 {
        conversation.extend([call(&format!("{n}")), answer(&format!("{n}"))]);
    }
    let latest = window(conversation, 20);
    assert_eq!(latest.len(), 61);
    assert_eq!(latest[0].text(), "long");
}

#[test]
fn a_new_system_message_replaces_the_old_one() {
    let conversation = vec![
        Message::system("old"),
        Message::user("q"),
        Message::assistant("a"),
        Message::system("new"),
        Message::system("more"),
        Message::system("new"),
        Message::user("q"),
    ];
    let texts: Vec<_> = window(conversation, 20).iter().map(|message| message.text().to_owned()).collect();
    assert_eq!(texts, ["new", "more", "q", "a", "q"]);
}

#[test]
fn calls_without_answers_and_answers_without_calls_are_hidden() {
    let both = AssistantMessage::new("Let me see.")
        .with_tool_calls(vec![ToolCall::new("a", "now", "{}"), ToolCall::new("b", "now", "{}")]);
    let conversation = vec![
        answer("lost"),
        Message::user("q"),
        call("unanswered"),
        both.clone().into(),
        answer("a"),
        answer("stranger"),
        Message::assistant("a"),
        Message::user("q"),
        both.into(),
    ];
    let sound = window(conversation, 20);
    assert_sound(&sound);
    let shown: Vec<_> = sound.iter().map(|message| (message.role(), message.text())).collect();
    let expected = [
        ("user", "q"),
        ("assistant", "Let me see."),
        ("tool", ""),
        ("assistant", "a"),
        ("user", "q"),
        ("assistant", "Let me see."),
    ];
    assert_eq!(shown, expected, "what was said beside a hidden call is still said");
    assert_eq!(sound[1].tool_calls().len(), 1);
}

fn any_message() -> impl Strategy<Value = Message> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        Just(Message::system("s")),
        Just(Message::user("u")),
        Just(Message::assistant("t")),
        id.clone().prop_map(call),
        id.prop_map(answer),
    ]
}

proptest! {
    #[test]
    fn every_window_over_every_conversation_is_sound(
        conversation in prop::collection::vec(any_message(), 0..60),
        most in 0usize..30,
    ) {
        // Ids are few, so that they meet; a conversation of the loop never repeats one, so that is not asked here.
        let latest = window(conversation.clone(), most);
        prop_assert!(latest.first().is_none_or(|message| message.answers().is_empty()), "{:?}", latest);
        for (place, message) in latest.iter().enumerate() {
            let next = latest.get(place + 1).map_or(&[][..], Message::answers);
            let called: Vec<_> = message.tool_calls().iter().map(|call| &call.id).collect();
            let answered: Vec<_> = next.iter().map(|answer| &answer.call_id).collect();
            prop_assert!(called.iter().all(|id| answered.contains(id)));
            prop_assert!(answered.iter().all(|id| called.contains(id)));
        }
        let questions = conversation.iter().filter(|message| matches!(message, Message::User(_))).count();
        prop_assert!(questions == 0 || latest.iter().any(|message| matches!(message, Message::User(_))));
        // A window of a window is the same window.
        prop_assert_eq!(window(latest.clone(), most.max(latest.len())), latest);
    }
}

async fn a_conversation_is_remembered_in_whole_turns(mode: Mode) {
    let memory = Arc::new(InProcessMemory::new());
    let model = ScriptedModel::new([
        Reply::call("now", "{}"),
        Reply::text("It is noon."),
        Reply::text("You asked for the time."),
        Reply::text("Nothing."),
    ]);
    let client = ChatClient::builder(model.clone())
        .system("Be terse.")
        .memory(memory.clone())
        .default_tools(FakeTool::new("now").answers("12:00"))
        .build();
    let first = mode.answer(client.prompt("What time is it?").conversation("ann")).await;
    assert_eq!(memory.get("ann").await.unwrap(), first.messages());
    let second = mode.answer(client.prompt("What did I ask?").conversation("ann")).await;
    assert_eq!(second.messages().len(), 2);
    assert_eq!(model.requests()[2].messages.len(), 6, "system, four messages of the first turn, question");
    assert_eq!(memory.get("ann").await.unwrap().len(), 6, "the system text is the client's, not the conversation's");
    mode.answer(client.prompt("What did I ask?").conversation("bob")).await;
    assert_eq!(model.requests()[3].messages.len(), 2, "conversations are kept apart");
}

async fn a_failed_turn_in_which_nothing_happened_is_not_remembered(mode: Mode) {
    let memory = Arc::new(InProcessMemory::new());
    let model = ScriptedModel::new([Reply::error(ChatError::refused("openai", 500, "oops"))]);
    let client = ChatClient::builder(model).memory(memory.clone()).conversation("ann").build();
    mode.error(client.prompt("hi")).await;
    assert!(memory.get("ann").await.unwrap().is_empty());
}

async fn a_failed_turn_in_which_a_tool_ran_is_remembered(mode: Mode) {
    for in_loop in [false, true] {
        let memory = Arc::new(InProcessMemory::new());
        let model = ScriptedModel::new([
            Reply::call("send", "{}"),
            Reply::error(ChatError::refused("openai", 500, "oops")),
            Reply::call("burn", "{}"),
            Reply::text("It was sent before."),
        ]);
        let tools = (FakeTool::new("send").answers("sent"), FakeTool::new("burn").fails(ToolError::fatal("gone")));
        let client = ChatClient::builder(model.clone())
            .memory(memory.clone())
            .memory_in_loop(in_loop)
            .conversation("ann")
            .default_tools(tools)
            .build();
        mode.error(client.prompt("Send it.")).await;
        mode.error(client.prompt("Burn it.")).await;
        let kept = memory.get("ann").await.unwrap();
        assert_sound(&kept);
        let marks: Vec<_> = kept.iter().filter(|message| message.is_incomplete()).collect();
        assert_eq!((kept.len(), marks.len()), (8, 2), "{kept:?}");
        assert_eq!(kept[3], AssistantMessage::new("").with_failure("refused").into());
        assert_eq!(&*kept[2].answers()[0].text, "sent");
        let answer = mode.answer(client.prompt("Did you send it?")).await;
        assert_eq!(answer.exchange().history[3], kept[3], "the history has the mark");
        let sent = &model.requests()[3].messages;
        assert_eq!(sent[3].text(), "[The turn ended here without a whole answer: refused]", "the model sees a note");
    }
}

async fn a_turn_that_is_cancelled_after_a_tool_ran_is_remembered(mode: Mode) {
    let memory = Arc::new(InProcessMemory::new());
    let cancellation = Cancellation::new();
    let (signal, model) = (cancellation.clone(), ScriptedModel::new([Reply::call("send", "{}"), Reply::never()]));
    let send = FakeTool::new("send").acts(move |_, _| {
        signal.cancel();
        async { Ok("sent".into()) }
    });
    let client = ChatClient::builder(model).memory(memory.clone()).conversation("ann").default_tools(send).build();
    let error = mode.error(client.prompt("Send it.").cancellation(cancellation)).await;
    assert!(matches!(error.cause(), Cause::Cancelled), "{error}");
    let kept = memory.get("ann").await.unwrap();
    assert_eq!(kept.last(), Some(&AssistantMessage::new("").with_failure("cancelled").into()), "{kept:?}");
}

#[tokio::test]
async fn text_before_a_break_is_kept_as_incomplete() {
    let cancelled = Cancellation::new();
    let broken = || ChatError::interrupted("openai", "the connection was closed");
    for reply in [
        Reply::text("Once upon a time").then_fails(broken()),
        Reply::call("send", "{}").with_text("Once upon a time").then_fails(broken()),
    ] {
        let memory = Arc::new(InProcessMemory::new());
        let model = ScriptedModel::new([reply, Reply::text("there was a queen.")]);
        let client = ChatClient::builder(model.clone())
            .memory(memory.clone())
            .conversation("ann")
            .default_tools(FakeTool::new("send"))
            .build();
        let request = client.prompt("Tell a story.").cancellation(cancelled.clone());
        let error = Mode::Streaming.error(request).await;
        let partial = error.exchange().partial.as_ref().unwrap();
        assert_eq!((&*partial.text, partial.tool_calls.len()), ("Once upon a time", 0));
        let kept = memory.get("ann").await.unwrap();
        let mark = AssistantMessage::new("Once upon a time").with_failure("interrupted");
        assert_eq!(kept, [Message::user("Tell a story."), mark.into()]);
        Mode::Streaming.answer(client.prompt("Go on.")).await;
        let sent = model.requests()[1].messages[1].text().to_owned();
        assert_eq!(sent, "Once upon a time\n[The turn ended here without a whole answer: interrupted]");
    }
}

#[tokio::test]
async fn text_before_a_cancellation_is_kept_as_incomplete() {
    let cancellation = Cancellation::new();
    let memory = Arc::new(InProcessMemory::new());
    let client = ChatClient::builder(ScriptedModel::new([Reply::text("Once upon a time there was a queen.")]))
        .memory(memory.clone())
        .conversation("ann")
        .build();
    let mut stream = client.prompt("Tell a story.").cancellation(cancellation.clone()).stream();
    assert!(matches!(stream.next().await, Some(Ok(opentool_chat::ChatEvent::Text(text))) if text == "Once "));
    cancellation.cancel();
    let error = loop {
        match stream.next().await.unwrap() {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error.cause(), Cause::Cancelled), "{error}");
    let said = error.exchange().partial.as_ref().unwrap().text.to_string();
    assert!(said.starts_with("Once ") && said.len() < 20, "{said}");
    assert_eq!(memory.get("ann").await.unwrap()[1].text(), said);
}

async fn a_turn_whose_calls_the_caller_runs_is_not_remembered_yet(mode: Mode) {
    let memory = Arc::new(InProcessMemory::new());
    let client = ChatClient::builder(ScriptedModel::new([Reply::call("now", "{}")])).memory(memory.clone()).build();
    let options = ChatOptions::new().with_internal_execution(false);
    mode.answer(client.prompt("hi").conversation("ann").tools(FakeTool::new("now")).options(options)).await;
    assert!(memory.get("ann").await.unwrap().is_empty());
}

async fn a_client_with_a_memory_needs_a_conversation_id(mode: Mode) {
    let model = ScriptedModel::new([]);
    let client = ChatClient::builder(model.clone()).memory(InProcessMemory::new()).build();
    let error = mode.error(client.prompt("hi")).await;
    assert!(error.to_string().contains("`.conversation(id)`"), "{error}");
    assert!(model.requests().is_empty());
}

async fn a_window_never_splits_a_round(mode: Mode) {
    // Every turn has five messages, so a window of twenty would cut one of them in the middle.
    let model = FunctionModel::new(|request: ModelRequest<'_>| {
        assert_sound(request.messages);
        assert!(request.messages.len() <= 20 + 5, "{}", request.messages.len());
        assert!(matches!(request.messages[0], Message::User(_)));
        match request.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_))).count() {
            0 => Reply::calls([ToolCall::new("", "now", "{}")]),
            _ => Reply::text("noon"),
        }
    });
    let memory = Arc::new(InProcessMemory::new());
    let client = ChatClient::builder(model).memory(memory.clone()).default_tools(FakeTool::new("now")).build();
    for turn in 0..30 {
        let twice = [Message::user("Hello."), Message::user(format!("Time {turn}?"))];
        mode.answer(client.prompt(twice).conversation("ann")).await;
    }
    let kept = memory.get("ann").await.unwrap();
    assert!(kept.len() > 10 && kept.len() <= 20, "{}", kept.len());
    assert_eq!(kept[kept.len() - 4].text(), "Time 29?");
}

async fn memory_in_the_loop_keeps_every_round(mode: Mode) {
    let memory = Arc::new(InProcessMemory::with_window(4));
    let model = ScriptedModel::new([
        Reply::text("Hello."),
        Reply::call("now", r#"{"n":1}"#),
        Reply::call("now", r#"{"n":2}"#),
        Reply::text("noon"),
    ]);
    let client = ChatClient::builder(model.clone())
        .system("Be terse.")
        .memory(memory.clone())
        .memory_in_loop(true)
        .default_tools(FakeTool::new("now").answers("12:00"))
        .build();
    mode.answer(client.prompt("Hi.").conversation("ann")).await;
    let answer = mode.answer(client.prompt("Time?").conversation("ann")).await;
    let sent: Vec<_> = model.requests().iter().map(|request| request.messages.len()).collect();
    assert_eq!(sent, [2, 4, 4, 6], "the system text and what the memory gives, round by round");
    assert!(model.requests().iter().all(|request| request.messages[0].text() == "Be terse."));
    assert_eq!(answer.messages().len(), 6, "the outcome has the whole turn, whatever the memory forgot");
    assert_eq!(memory.get("ann").await.unwrap(), answer.messages());
}

async fn memory_in_the_loop_keeps_finished_rounds_of_a_failed_turn(mode: Mode) {
    let memory = Arc::new(InProcessMemory::new());
    let model = ScriptedModel::new([Reply::call("now", "{}"), Reply::error(ChatError::refused("openai", 500, "oops"))]);
    let client = ChatClient::builder(model)
        .memory(memory.clone())
        .memory_in_loop(true)
        .default_tools(FakeTool::new("now"))
        .build();
    let error = mode.error(client.prompt("Time?").conversation("ann")).await;
    let kept = memory.get("ann").await.unwrap();
    assert_eq!(kept.len(), 4);
    assert!(kept[3].is_incomplete());
    assert_eq!(error.exchange().messages().len(), 3);
}

struct Full;

impl ChatMemory for Full {
    fn add<'a>(&'a self, _: &'a str, _: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async { Err(MemoryError::new("the disk is full")) })
    }
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn clear<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(async { Ok(()) })
    }
}

async fn a_memory_that_fails_does_not_lose_what_was_said(mode: Mode) {
    let client = ChatClient::builder(ScriptedModel::new([Reply::text("Hello.")])).memory(Full).build();
    let error = mode.error(client.prompt("hi").conversation("ann")).await;
    assert!(matches!(error.cause(), Cause::Memory(_)));
    assert_eq!(error.to_string(), "the memory of the conversation failed: the disk is full");
    assert_eq!(error.exchange().messages().last(), Some(&Message::assistant("Hello.")));
}

async fn concurrent_turns_of_one_conversation_keep_rounds_whole(mode: Mode) {
    for in_loop in [false, true] {
        let model = FunctionModel::new(|request: ModelRequest<'_>| {
            assert_sound(request.messages);
            let answered = request.messages.iter().rev().take_while(|message| !matches!(message, Message::User(_)));
            match answered.count() {
                0 => Reply::call("now", "{}").after(Duration::from_millis(2)),
                _ => Reply::text("noon").after(Duration::from_millis(2)),
            }
        });
        let memory = Arc::new(InProcessMemory::with_window(1000));
        let client = ChatClient::builder(model)
            .memory(memory.clone())
            .memory_in_loop(in_loop)
            .conversation("ann")
            .default_tools(FakeTool::new("now").answers("12:00"))
            .build();
        let turns = (0..10).map(|turn| mode.answer(client.prompt(format!("{turn}?"))));
        futures_util::future::join_all(turns).await;
        let kept = memory.get("ann").await.unwrap();
        let said = |role| kept.iter().filter(|message| message.role() == role).count();
        assert_eq!(said("user"), 10);
        if !in_loop {
            let roles: Vec<_> = kept.iter().map(Message::role).collect();
            assert!(roles.chunks(4).all(|turn| turn == ["user", "assistant", "tool", "assistant"]), "{roles:?}");
        }
        // Every turn gave its call the same id, since none knew of the others; the model is sent ids of their own.
        let answer = mode.answer(client.prompt("What did I ask?")).await;
        assert_sound(&answer.exchange().history);
    }
}

/// A memory whose lock another process holds.
struct Held;

impl ChatMemory for Held {
    fn add<'a>(&'a self, _: &'a str, _: &'a [Message]) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(std::future::pending())
    }
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Message>, MemoryError>> {
        Box::pin(std::future::pending())
    }
    fn clear<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), MemoryError>> {
        Box::pin(std::future::pending())
    }
}

async fn a_turn_is_cancelled_while_it_waits_for_its_memory(mode: Mode) {
    for in_loop in [false, true] {
        let model = ScriptedModel::new([Reply::text("never said")]);
        let client = ChatClient::builder(model).memory(Held).memory_in_loop(in_loop).conversation("ann").build();
        let cancellation = Cancellation::new();
        let cancel = async {
            tokio::task::yield_now().await;
            cancellation.cancel();
        };
        let (error, ()) = tokio::join!(mode.error(client.prompt("hi").cancellation(cancellation.clone())), cancel);
        assert!(matches!(error.cause(), Cause::Cancelled), "{error}");
    }
}

in_both_modes!(
    concurrent_turns_of_one_conversation_keep_rounds_whole,
    a_turn_is_cancelled_while_it_waits_for_its_memory,
    a_conversation_is_remembered_in_whole_turns,
    a_failed_turn_in_which_nothing_happened_is_not_remembered,
    a_failed_turn_in_which_a_tool_ran_is_remembered,
    a_turn_that_is_cancelled_after_a_tool_ran_is_remembered,
    a_turn_whose_calls_the_caller_runs_is_not_remembered_yet,
    a_client_with_a_memory_needs_a_conversation_id,
    a_window_never_splits_a_round,
    memory_in_the_loop_keeps_every_round,
    memory_in_the_loop_keeps_finished_rounds_of_a_failed_turn,
    a_memory_that_fails_does_not_lose_what_was_said,
);
