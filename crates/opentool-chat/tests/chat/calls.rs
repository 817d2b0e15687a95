//! Rows about calls: several in one answer, one that fails, ids, tool choice, usage.

use std::sync::Arc;

use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{ChatClient, ChatOptions, Message, ModelRequest, ToolChoice, Usage};
use opentool_core::testing::FakeTool;
use opentool_core::{ToolCall, ToolError, ToolOutput};
use tokio::sync::Barrier;

use crate::support::{Mode, calling, tool_texts};

async fn calls_of_one_answer_run_at_once_and_answer_in_call_order(mode: Mode) {
    let (client, model) = calling(Reply::call("slow", "{}").and_call("quick", "{}").and_call("slow", r#"{"n":2}"#));
    let meeting = Arc::new(Barrier::new(3));
    let meet = |name: &'static str, naps: u32| {
        let meeting = meeting.clone();
        FakeTool::new(name).acts(move |_, _| {
            let meeting = meeting.clone();
            async move {
                // Each waits until all have started, so one after another would never end.
                meeting.wait().await;
                for _ in 0..naps {
                    tokio::task::yield_now().await;
                }
                Ok(ToolOutput::text(name))
            }
        })
    };
    mode.answer(client.prompt("hi").tools((meet("slow", 50), meet("quick", 0)))).await;
    assert_eq!(tool_texts(&model), ["slow", "quick", "slow"]);
}

async fn one_of_several_that_fails_loses_no_sibling(mode: Mode) {
    let (client, model) = calling(Reply::call("good", "{}").and_call("bad", "{}").and_call("nowhere", "{}"));
    let tools = (FakeTool::new("good").answers("fine"), FakeTool::new("bad").fails(ToolError::failed("no luck")));
    mode.answer(client.prompt("hi").tools(tools)).await;
    assert_eq!(tool_texts(&model), ["fine", "no luck", "there is no tool named `nowhere`"]);
}

async fn empty_or_repeated_call_ids_are_replaced(mode: Mode) {
    let round = || {
        Reply::calls([
            ToolCall::new("", "echo", r#"{"n":1}"#),
            ToolCall::new("same", "echo", r#"{"n":2}"#),
            ToolCall::new("same", "echo", r#"{"n":3}"#),
            ToolCall::new("", "echo", r#"{"n":4}"#),
        ])
    };
    let model = ScriptedModel::new([round(), round(), Reply::text("done")]);
    let echo = FakeTool::new("echo").acts(|arguments, _| async move { Ok(ToolOutput::text(arguments.as_str())) });
    let answer = mode.answer(ChatClient::new(model.clone()).prompt("hi").tools(echo)).await;
    // `answer` has checked that no id is empty or used twice, over both rounds; here, that nothing was mixed up.
    for round in [1, 3] {
        let (calls, answers) = (answer.messages()[round].tool_calls(), answer.messages()[round + 1].answers());
        let matched = calls
            .iter()
            .zip(answers)
            .all(|(call, answer)| call.id == answer.call_id && call.arguments.as_str() == &*answer.text);
        assert!(matched && calls.len() == 4, "{calls:?} {answers:?}");
    }
    assert_eq!(&*answer.messages()[1].tool_calls()[1].id, "same", "an id that can stay stays");
    assert_eq!(model.requests()[2].messages, answer.messages()[..5], "the provider saw the same ids");
}

async fn a_required_tool_choice_becomes_auto_after_the_first_round(mode: Mode) {
    for choice in [ToolChoice::Required, ToolChoice::Named("now".to_owned())] {
        let model = ScriptedModel::new([Reply::call("now", "{}"), Reply::call("now", "{}"), Reply::text("noon")]);
        let options = ChatOptions::new().with_tool_choice(choice.clone());
        let client = ChatClient::new(model.clone());
        mode.answer(client.prompt("hi").tools(FakeTool::new("now")).options(options)).await;
        let choices: Vec<_> = model.requests().into_iter().filter_map(|request| request.options.tool_choice).collect();
        assert_eq!(choices, [choice, ToolChoice::Auto, ToolChoice::Auto]);
    }
}

async fn tool_choice_starts_again_with_every_question(mode: Mode) {
    let model = FunctionModel::new(|request: ModelRequest<'_>| match &request.options.tool_choice {
        Some(ToolChoice::Required) => Reply::call("now", "{}"),
        _ => Reply::text("noon"),
    });
    let client = ChatClient::new(model);
    let ask = |messages: Vec<Message>| {
        let options = ChatOptions::new().with_tool_choice(ToolChoice::Required);
        client.prompt(messages).tools(FakeTool::new("now")).options(options)
    };
    let first = mode.answer(ask(vec![Message::user("What time is it?")])).await;
    assert_eq!(first.messages().len(), 4);
    let mut history = first.exchange().history.clone();
    history.push(Message::user("And now?"));
    let second = mode.answer(ask(history)).await;
    assert_eq!(second.exchange().history.len(), 8, "the second question was answered through the tool too");
}

async fn tool_choice_none_stays_none(mode: Mode) {
    let (client, model) = calling(Reply::call("now", "{}"));
    let options = ChatOptions::new().with_tool_choice(ToolChoice::None);
    mode.answer(client.prompt("hi").tools(FakeTool::new("now")).options(options)).await;
    assert!(model.requests().iter().all(|request| request.options.tool_choice == Some(ToolChoice::None)));
}

async fn usage_is_summed_over_rounds(mode: Mode) {
    let model = ScriptedModel::new([
        Reply::call("now", "{}").with_usage(Usage::new(100, 10).with_cached_input_tokens(50)),
        Reply::call("now", "{}").with_usage(Usage::new(200, 20)),
        Reply::text("noon").with_usage(Usage::new(300, 30)),
    ]);
    let answer = mode.answer(ChatClient::new(model).prompt("hi").tools(FakeTool::new("now"))).await;
    assert_eq!(answer.usage, Usage::new(600, 60).with_cached_input_tokens(50));
    assert_eq!(answer.usage.total_tokens(), 660);
    assert_eq!(answer.exchange().usage, answer.usage);
}

async fn the_outcome_says_which_messages_were_exchanged(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("now", "{}").with_text("Let me see."), Reply::text("It is noon.")]);
    let before =
        [Message::system("Be terse."), Message::user("Hi."), Message::assistant("Hi."), Message::user("Time?")];
    let tool = FakeTool::new("now").answers("12:00");
    let answer = mode.answer(ChatClient::new(model).prompt(before.clone()).tools(tool)).await;
    assert_eq!(answer.exchange().history[..4], before);
    let roles: Vec<_> = answer.messages().iter().map(Message::role).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let texts: Vec<_> = answer.messages().iter().map(Message::text).collect();
    assert_eq!(texts, ["Time?", "Let me see.", "", "It is noon."]);
}

async fn an_impossible_tool_choice_is_an_error_before_the_request(mode: Mode) {
    let choices = [
        (ToolChoice::Required, Vec::new(), "the tool choice is `required` and the request has no tools"),
        (
            ToolChoice::Named("later".to_owned()),
            vec![FakeTool::new("now")],
            "the tool choice names `later`, which is not",
        ),
    ];
    for (choice, tools, expected) in choices {
        let model = ScriptedModel::new([Reply::text("never said")]);
        let request = ChatClient::new(model.clone()).prompt("hi").tools(tools);
        let error = mode.error(request.options(ChatOptions::new().with_tool_choice(choice))).await;
        assert!(error.to_string().starts_with(expected), "{error}");
        assert!(model.requests().is_empty());
    }
}

in_both_modes!(
    an_impossible_tool_choice_is_an_error_before_the_request,
    calls_of_one_answer_run_at_once_and_answer_in_call_order,
    one_of_several_that_fails_loses_no_sibling,
    empty_or_repeated_call_ids_are_replaced,
    a_required_tool_choice_becomes_auto_after_the_first_round,
    tool_choice_starts_again_with_every_question,
    tool_choice_none_stays_none,
    usage_is_summed_over_rounds,
    the_outcome_says_which_messages_were_exchanged,
);
