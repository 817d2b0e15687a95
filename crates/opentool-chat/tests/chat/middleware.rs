//! What stands around a model: fallback to another one, limits of rate and concurrency.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use futures_util::future::join_all;
use opentool_chat::testing::{FunctionModel, Reply, ScriptedModel};
use opentool_chat::{
    ChatClient, ChatError, ChatModel, ChatOptions, ConcurrencyLimit, Fallback, ModelRequest, RateLimit, TypedAnswers,
};
use opentool_core::testing::FakeTool;

use crate::support::Mode;

fn overloaded() -> Reply {
    Reply::error(ChatError::refused("first", 503, "overloaded"))
}

async fn another_model_answers_where_the_first_fails(mode: Mode) {
    let second = ScriptedModel::new([Reply::call("look", "{}"), Reply::text("Hello.")]);
    let first = ScriptedModel::new([overloaded(), overloaded()]);
    let model = ChatModel::builder(first.clone()).middleware(Fallback::to(second.clone())).build();
    let options = ChatOptions::new().with_model("first-large").with_temperature(0.5);
    let request = ChatClient::new(model).prompt("Hi.").tools(FakeTool::new("look")).options(options);
    assert_eq!(mode.answer(request).await.text(), "Hello.");
    let asked = second.requests();
    assert_eq!(asked.len(), 2, "every round is asked of the first model first");
    assert_eq!((asked[0].options.model.as_deref(), asked[0].options.temperature), (None, Some(0.5)));
    assert_eq!(asked[0].tools, ["look"]);
}

async fn fallbacks_are_asked_one_after_the_other(mode: Mode) {
    let model = ChatModel::builder(ScriptedModel::new([overloaded()]))
        .middleware(Fallback::to(ScriptedModel::new([overloaded()])))
        .middleware(Fallback::to(ScriptedModel::new([Reply::text("Third.")])))
        .build();
    assert_eq!(mode.answer(ChatClient::new(model).prompt("Hi.")).await.text(), "Third.");
}

async fn an_error_that_another_model_cannot_fix_stays(mode: Mode) {
    let wrong = || Reply::error(ChatError::refused("first", 400, "no such option"));
    let second = ScriptedModel::new([Reply::text("Hello.")]);
    let model = ChatModel::builder(ScriptedModel::new([wrong()])).middleware(Fallback::to(second.clone())).build();
    let error = mode.error(ChatClient::new(model).prompt("Hi.")).await;
    assert_eq!(error.status(), Some(400));
    assert!(second.requests().is_empty());
    let fallback = Fallback::to(second).when(|error| error.status() == Some(400));
    let model = ChatModel::builder(ScriptedModel::new([wrong()])).middleware(fallback).build();
    assert_eq!(mode.answer(ChatClient::new(model).prompt("Hi.")).await.text(), "Hello.");
}

#[tokio::test]
async fn no_other_model_is_asked_once_an_answer_has_begun() {
    let broken = || ChatError::interrupted("first", "closed");
    let second = ScriptedModel::new([Reply::text("Hello.")]);
    for reply in [Reply::text("Once").then_fails(broken()), Reply::call("look", "{}").then_fails(broken())] {
        let model = ChatModel::builder(ScriptedModel::new([reply])).middleware(Fallback::to(second.clone())).build();
        let request = ChatClient::new(model).prompt("Hi.").tools(FakeTool::new("look"));
        let error = Mode::Streaming.error(request).await;
        assert_eq!(error.cause().as_str(), "interrupted");
        assert!(second.requests().is_empty());
    }
    // Nothing of the answer had come.
    let silent = Reply::deltas([opentool_chat::Delta::Begin { id: None, model: Some("first".to_owned()) }]);
    let model = ChatModel::builder(ScriptedModel::new([silent.then_fails(broken())])).middleware(Fallback::to(second));
    assert_eq!(Mode::Streaming.answer(ChatClient::new(model.build()).prompt("Hi.")).await.text(), "Hello.");
}

async fn typed_answers_use_what_all_models_can(mode: Mode) {
    let first = ScriptedModel::new([overloaded()]);
    let second = ScriptedModel::new([Reply::text("[1]")]).typed_answers_by(TypedAnswers::Prompt);
    let model = ChatModel::builder(first.clone()).middleware(Fallback::to(second)).build();
    let request = ChatClient::new(model).prompt("Count.");
    let numbers: Vec<u8> = match mode {
        Mode::Blocking => request.call_as().await.unwrap(),
        Mode::Streaming => request.stream_as().finish().await.unwrap(),
    };
    assert_eq!(numbers, [1]);
    assert!(first.requests()[0].options.response_format.is_none());
}

/// A model that counts how many requests it has at once, and the most of them.
fn counting() -> (FunctionModel, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let model = FunctionModel::new(move |_: ModelRequest<'_>| {
        count.fetch_add(1, SeqCst);
        Reply::text("Hello.").after(Duration::from_secs(1))
    });
    (model, asked)
}

async fn so_many_requests_run_at_a_time(mode: Mode) {
    tokio::time::pause();
    let (model, _) = counting();
    let client = ChatClient::new(ChatModel::builder(model).middleware(ConcurrencyLimit::new(2)).build());
    let start = tokio::time::Instant::now();
    join_all((0..6).map(|_| mode.answer(client.prompt("Hi.")))).await;
    assert_eq!(start.elapsed().as_secs(), 3, "six requests of a second each, two at a time");
}

async fn a_request_that_is_dropped_gives_its_permit_back(mode: Mode) {
    tokio::time::pause();
    let (model, _) = counting();
    let client = ChatClient::new(ChatModel::builder(model).middleware(ConcurrencyLimit::new(1)).build());
    let dropped = tokio::time::timeout(Duration::from_millis(10), mode.answer(client.prompt("Hi."))).await;
    assert!(dropped.is_err());
    assert_eq!(mode.answer(client.prompt("Hi.")).await.text(), "Hello.");
}

async fn so_many_requests_start_in_a_period(mode: Mode) {
    tokio::time::pause();
    let (model, asked) = counting();
    let limit = RateLimit::new(3, Duration::from_secs(30));
    let client = ChatClient::new(ChatModel::builder(model).middleware(limit).build());
    let start = tokio::time::Instant::now();
    let turns = join_all((0..6).map(|_| mode.answer(client.prompt("Hi."))));
    let watch = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(asked.load(SeqCst), 3, "so many come at once");
    };
    tokio::join!(turns, watch);
    assert_eq!(start.elapsed().as_secs(), 31, "the others follow every ten seconds");
}

in_both_modes!(
    another_model_answers_where_the_first_fails,
    fallbacks_are_asked_one_after_the_other,
    an_error_that_another_model_cannot_fix_stays,
    typed_answers_use_what_all_models_can,
    so_many_requests_run_at_a_time,
    a_request_that_is_dropped_gives_its_permit_back,
    so_many_requests_start_in_a_period,
);
