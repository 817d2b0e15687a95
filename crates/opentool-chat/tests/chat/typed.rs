//! Typed answers: by each means that a provider may have, checked, corrected and bounded, with tools in the same turn.

use std::sync::Arc;

use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{
    AnswerEvent, AnswerForm, Cause, ChatClient, ChatError, ChatEvent, ChatMemory, ChatModel, ChatOptions, FinishReason,
    InProcessMemory, Message, ToolChoice, TurnEnd, TypedAnswers, TypedStream,
};
use opentool_core::testing::FakeTool;
use opentool_core::{Ask, Executor, Limits, ToolMetadata};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Mode, assert_sound};

/// A day's plan.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Plan {
    /// What to do, in order.
    steps: Vec<String>,
    hours: u8,
    note: Option<String>,
}

const PLAN: &str = r#"{"steps":["walk","read"],"hours":3,"note":null}"#;
const MEANS: [TypedAnswers; 3] = [TypedAnswers::Native, TypedAnswers::ForcedTool, TypedAnswers::Prompt];

/// An answer by the means that the model has.
fn says(means: TypedAnswers, json: &str) -> Reply {
    match means {
        TypedAnswers::ForcedTool => Reply::call("final_answer", json),
        _ => Reply::text(json),
    }
}

fn plan() -> Plan {
    Plan { steps: vec!["walk".into(), "read".into()], hours: 3, note: None }
}

async fn plan_of(mode: Mode, request: opentool_chat::ChatRequest) -> Result<Plan, ChatError> {
    match mode {
        Mode::Blocking => request.call_as().await,
        Mode::Streaming => request.stream_as().finish().await,
    }
}

async fn an_answer_is_read_as_a_type_by_every_means(mode: Mode) {
    for means in MEANS {
        let model = ScriptedModel::new([says(means, PLAN)]).typed_answers_by(means);
        assert_eq!(plan_of(mode, ChatClient::new(model.clone()).prompt("Plan.")).await.unwrap(), plan(), "{means:?}");
        let request = &model.requests()[0];
        let (format, choice) = (&request.options.response_format, &request.options.tool_choice);
        match means {
            TypedAnswers::Native => {
                let format = format.as_ref().unwrap();
                assert_eq!((&*format.name, format.description.as_deref()), ("Plan", Some("A day's plan.")));
                assert_eq!(format.schema["required"], json!(["steps", "hours"]));
                assert_eq!((request.messages.len(), request.tools.len()), (1, 0));
            }
            TypedAnswers::ForcedTool => {
                assert_eq!(*choice, Some(ToolChoice::Required));
                assert_eq!((request.tools.as_slice(), format.is_none()), (&["final_answer".to_owned()][..], true));
            }
            _ => {
                let instruction = request.messages[0].text();
                assert!(matches!(request.messages[0], Message::System(_)) && instruction.contains("\"steps\""));
                assert!(format.is_none() && request.tools.is_empty());
            }
        }
    }
}

async fn a_wrong_answer_goes_back_with_what_is_wrong(mode: Mode) {
    for means in MEANS {
        let memory = Arc::new(InProcessMemory::new());
        let wrong = r#"{"steps":["walk"],"hours":"three"}"#;
        let model = ScriptedModel::new([says(means, wrong), says(means, PLAN)]).typed_answers_by(means);
        let client = ChatClient::builder(model.clone()).memory(memory.clone()).conversation("ann").build();
        assert_eq!(plan_of(mode, client.prompt("Plan.")).await.unwrap(), plan(), "{means:?}");
        let sent = model.requests()[1].messages.clone();
        assert_sound(&sent);
        let last = sent.last().unwrap();
        let problem = last.answers().first().map_or(last.text(), |answer| &answer.text);
        assert!(problem.contains(r#"/hours: expected integer, got string "three""#), "{problem}");
        let kept = memory.get("ann").await.unwrap();
        assert_eq!(kept.len(), 2, "answers that were not taken are not remembered: {kept:?}");
        assert_eq!(kept[1].text(), r#"{"steps":["walk","read"],"hours":3}"#);
    }
}

async fn a_model_that_never_keeps_to_the_form_is_an_error(mode: Mode) {
    for means in MEANS {
        let wrong = || says(means, r#"{"hours":300}"#);
        let model = ScriptedModel::new([wrong(), wrong(), wrong(), wrong()]).typed_answers_by(means);
        let error = plan_of(mode, ChatClient::new(model.clone()).prompt("Plan.")).await.unwrap_err();
        assert!(matches!(error.cause(), Cause::Form { tries: 3, .. }), "{error:?}");
        assert_eq!(error.end(), TurnEnd::WrongForm);
        let text = error.to_string();
        assert!(text.starts_with("the answer does not have the form that was asked for after 3 tries: "), "{text}");
        assert!(text.contains("/hours") && text.contains("steps"), "{text}");
        assert_eq!(model.replies_left(), 1);
        assert_eq!(&*error.exchange().partial.as_ref().unwrap().text, r#"{"hours":300}"#);
        assert_sound(&error.exchange().history);
    }
}

async fn an_answer_that_cannot_get_better_is_an_error_at_once(mode: Mode) {
    for (reason, problem) in [
        (FinishReason::Length, "it was cut off, because it ran out of tokens"),
        (FinishReason::ContentFilter, "the provider withheld it"),
        (FinishReason::Refused, "the model refuses: I will not."),
    ] {
        let model = ScriptedModel::new([Reply::text("I will not.").with_finish_reason(reason), Reply::text(PLAN)]);
        let error = plan_of(mode, ChatClient::new(model.clone()).prompt("Plan.")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the answer does not have the form that was asked for: {problem}"));
        assert_eq!(model.replies_left(), 1);
    }
}

async fn tools_run_in_a_typed_turn(mode: Mode) {
    for means in MEANS {
        let replies = [Reply::call("look", r#"{"n":1}"#), says(means, PLAN)];
        let model = ScriptedModel::new(replies).typed_answers_by(means);
        let look = FakeTool::new("look").answers("sunny").with_metadata(ToolMetadata::new().with_return_direct(true));
        let log = look.log();
        let request = ChatClient::new(model.clone()).prompt("Plan.").tools(look);
        assert_eq!(plan_of(mode, request).await.unwrap(), plan(), "{means:?}");
        assert_eq!(log.count(), 1);
        let requests = model.requests();
        if means == TypedAnswers::ForcedTool {
            assert!(requests.iter().all(|request| request.options.tool_choice == Some(ToolChoice::Required)));
            assert_eq!(requests[1].tools, ["look", "final_answer"]);
        }
    }
}

async fn an_answer_beside_calls_waits_for_their_results(mode: Mode) {
    let both = Reply::call("look", "{}").and_call("final_answer", r#"{"steps":[],"hours":1}"#);
    let model = ScriptedModel::new([both, Reply::call("final_answer", PLAN)]);
    let model = model.typed_answers_by(TypedAnswers::ForcedTool);
    let look = FakeTool::new("look").answers("sunny");
    let log = look.log();
    let request = ChatClient::new(model.clone()).prompt("Plan.").tools(look);
    assert_eq!(plan_of(mode, request).await.unwrap(), plan());
    assert_eq!(log.count(), 1);
    assert_sound(&model.requests()[1].messages);
}

async fn a_limit_in_a_typed_turn_ends_with_a_typed_answer(mode: Mode) {
    for means in MEANS {
        let replies = [Reply::call("look", r#"{"n":1}"#), Reply::call("look", r#"{"n":2}"#), says(means, PLAN)];
        let model = ScriptedModel::new(replies).typed_answers_by(means);
        let executor = Executor::builder().limits(Limits::none().with_rounds(1)).build();
        let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build());
        let request = client.prompt("Plan.").tools(FakeTool::new("look"));
        assert_eq!(plan_of(mode, request).await.unwrap(), plan(), "{means:?}");
        let choice = model.requests()[2].options.tool_choice.clone().unwrap();
        match means {
            TypedAnswers::ForcedTool => assert_eq!(choice, ToolChoice::Named("final_answer".to_owned())),
            _ => assert_eq!(choice, ToolChoice::None),
        }
    }
}

async fn an_answer_that_is_no_object_is_wrapped(mode: Mode) {
    for means in MEANS {
        let model = ScriptedModel::new([says(means, r#"{"value":[1,2,3]}"#)]).typed_answers_by(means);
        let request = ChatClient::new(model).prompt("Count.");
        let numbers: Vec<u8> = match mode {
            Mode::Blocking => request.call_as().await.unwrap(),
            Mode::Streaming => request.stream_as().finish().await.unwrap(),
        };
        assert_eq!(numbers, [1, 2, 3], "{means:?}");
    }
}

async fn a_typed_turn_that_must_wait_can_be_resumed(mode: Mode) {
    let replies = || [Reply::call("send", "{}"), Reply::text(PLAN)];
    let executor = || Executor::builder().approval(Ask::later().for_destructive(true)).build();
    let client = |model: ScriptedModel| {
        ChatClient::builder(ChatModel::builder(model).executor(executor()).build())
            .default_tools(FakeTool::new("send").with_metadata(ToolMetadata::new().with_approval(true)))
            .build()
    };
    let error = plan_of(mode, client(ScriptedModel::new(replies())).prompt("Plan.")).await.unwrap_err();
    assert!(error.to_string().contains("`answer_form` and `call`"), "{error}");
    let client = client(ScriptedModel::new(replies()));
    let form = || AnswerForm::for_type::<Plan>().unwrap();
    let waiting = mode.answer(client.prompt("Plan.").answer_form(form())).await;
    let state = waiting.into_run_state().unwrap();
    let call = state.pending().next().unwrap().id.clone();
    let resumed = client.resume(state).decide(&call, opentool_core::Decision::Approve).answer_form(form());
    assert_eq!(mode.answer(resumed).await.answer_as::<Plan>().unwrap(), plan());
}

async fn a_tool_of_the_answers_name_is_an_error_before_anything_is_sent(mode: Mode) {
    let model = ScriptedModel::new([]).typed_answers_by(TypedAnswers::ForcedTool);
    let request = ChatClient::new(model.clone()).prompt("Plan.").tools(FakeTool::new("final_answer"));
    let error = plan_of(mode, request).await.unwrap_err();
    assert!(error.to_string().contains("rename it"), "{error}");
    assert!(model.requests().is_empty());
}

async fn calls_that_the_caller_runs_are_left_in_a_typed_turn(mode: Mode) {
    let model = ScriptedModel::new([Reply::call("look", "{}")]);
    let form = AnswerForm::for_type::<Plan>().unwrap();
    let options = ChatOptions::new().with_internal_execution(false);
    let request = ChatClient::new(model).prompt("Plan.").tools(FakeTool::new("look")).options(options);
    let answer = mode.answer(request.answer_form(form)).await;
    assert_eq!(answer.end(), TurnEnd::CallsLeft);
}

in_both_modes!(
    an_answer_is_read_as_a_type_by_every_means,
    a_wrong_answer_goes_back_with_what_is_wrong,
    a_model_that_never_keeps_to_the_form_is_an_error,
    an_answer_that_cannot_get_better_is_an_error_at_once,
    tools_run_in_a_typed_turn,
    an_answer_beside_calls_waits_for_their_results,
    a_limit_in_a_typed_turn_ends_with_a_typed_answer,
    an_answer_that_is_no_object_is_wrapped,
    a_typed_turn_that_must_wait_can_be_resumed,
    a_tool_of_the_answers_name_is_an_error_before_anything_is_sent,
    calls_that_the_caller_runs_are_left_in_a_typed_turn,
);

#[tokio::test]
async fn a_streamed_answer_grows_and_ends_as_the_type() {
    for means in MEANS {
        let replies = [Reply::call("look", "{}").with_text("Let me see."), says(means, PLAN)];
        let model = ScriptedModel::new(replies).typed_answers_by(means);
        let request = ChatClient::new(model).prompt("Plan.").tools(FakeTool::new("look"));
        let mut stream = request.stream_as::<Plan>();
        let (mut partials, mut words, mut done) = (Vec::new(), String::new(), None);
        while let Some(event) = stream.next().await {
            assert!(done.is_none(), "nothing comes after the end");
            match event.unwrap() {
                AnswerEvent::Partial(value) => partials.push(value),
                AnswerEvent::Other(ChatEvent::Text(text)) => words.push_str(&text),
                AnswerEvent::Done(answer, response) => done = Some((answer, response.usage)),
                _ => {}
            }
        }
        assert_eq!(done.unwrap().0, plan());
        assert_eq!(words, "Let me see.", "{means:?}");
        assert_eq!(partials[0], json!({}));
        assert!(partials.contains(&json!({ "steps": ["walk", "re"] })), "{means:?} {partials:?}");
        let grows = |pair: &[Value]| pair[0].to_string().len() <= pair[1].to_string().len();
        assert!(partials.windows(2).all(grows), "{partials:?}");
    }
}

/// Compiles only where reading asks nothing of the type: one that cannot be an answer is then refused where the stream is made,
/// and not a second time where it is read.
async fn read_any<T>(mut stream: TypedStream<T>) -> Option<T> {
    while let Some(event) = stream.next().await {
        if let Ok(AnswerEvent::Done(answer, _)) = event {
            return Some(answer);
        }
    }
    None
}

#[tokio::test]
async fn a_stream_is_read_without_traits_of_its_type() {
    let client = ChatClient::new(ScriptedModel::new([Reply::text(PLAN), Reply::text("no")]));
    assert_eq!(read_any(client.prompt("Plan.").stream_as::<Plan>()).await, Some(plan()));
    assert_eq!(read_any(client.prompt("Plan.").stream_as::<Plan>()).await, None);
}

#[tokio::test]
async fn a_long_streamed_answer_is_read_in_time() {
    let long = json!({ "steps": ["x".repeat(300_000)], "hours": 1 }).to_string();
    let model = ScriptedModel::new([Reply::text(long)]);
    let start = std::time::Instant::now();
    let plan: Plan = ChatClient::new(model).prompt("Plan.").stream_as().finish().await.unwrap();
    assert_eq!(plan.steps[0].len(), 300_000);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
