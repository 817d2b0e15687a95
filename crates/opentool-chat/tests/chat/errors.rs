//! Row "error policy", and errors of the provider.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use opentool_chat::testing::{Reply, ScriptedModel};
use opentool_chat::{
    BoxFuture, BoxStream, Cause, ChatClient, ChatError, ChatEvent, ChatModel, ChatResponse, Delta, Message,
    ModelRequest, Provider, TypedAnswers, Usage,
};
use opentool_core::testing::FakeTool;
use opentool_core::{
    Cancellation, ErrorKind, ErrorSeverity, Executor, FnTool, Resolver, Tool, ToolError, ToolSource, Toolbox,
};

use crate::support::{Mode, calling, tool_texts};

async fn an_unmarked_error_reaches_the_model_by_its_display(mode: Mode) {
    let (client, model) = calling(Reply::call("read", "{}"));
    let read = FnTool::fallible("read", || Ok(std::fs::read_to_string("/nowhere/at/all")?));
    mode.answer(client.prompt("hi").tools(read)).await;
    assert_eq!(tool_texts(&model), ["No such file or directory (os error 2)"]);
}

async fn a_fatal_error_reaches_the_caller_with_what_was_done(mode: Mode) {
    let model = ScriptedModel::new([
        Reply::call("good", "{}").with_usage(Usage::new(10, 1)),
        Reply::call("good", r#"{"n":2}"#).and_call("burn", "{}").with_usage(Usage::new(20, 2)),
    ]);
    let tools = (
        FakeTool::new("good").answers("fine"),
        FakeTool::new("burn").fails(ToolError::fatal("secret: disk 7 is gone")),
    );
    let error = mode.error(ChatClient::new(model).prompt("hi").tools(tools)).await;
    assert!(matches!(error.cause(), Cause::Tool { tool, error } if &**tool == "burn" && error.is_fatal()));
    let messages = error.exchange().messages();
    assert_eq!(messages.len(), 5, "question, call, answer, calls, answers");
    assert_eq!(&*messages[4].answers()[0].text, "fine", "the sibling's result is there");
    assert!(!messages[4].answers()[1].text.contains("secret"), "and the history is fit to be sent");
    assert_eq!(error.exchange().usage, Usage::new(30, 3));
}

async fn all_errors_fatal_and_an_error_policy_have_the_last_word(mode: Mode) {
    let failing = || FakeTool::new("bad").fails(ToolError::failed("no luck"));
    let ask = |executor: Executor| {
        let model = ScriptedModel::new([Reply::call("bad", "{}"), Reply::text("done")]);
        let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build());
        (client.prompt("hi").tools(failing()), model)
    };
    let (request, _) = ask(Executor::builder().all_errors_fatal(true).build());
    assert_eq!(mode.error(request).await.to_string(), "the tool `bad` ended the turn: no luck");

    let softened =
        |_: &str, error: ToolError| error.with_severity(ErrorSeverity::Recoverable).with_message("try later");
    let (request, model) = ask(Executor::builder().all_errors_fatal(true).errors(softened).build());
    mode.answer(request).await;
    assert_eq!(tool_texts(&model), ["try later"]);
}

async fn a_blank_message_gets_a_text_that_names_tool_and_type(mode: Mode) {
    #[derive(Debug, thiserror::Error)]
    #[error("")]
    struct Silent;
    let (client, model) = calling(Reply::call("quiet", "{}"));
    let quiet = FnTool::fallible("quiet", || -> Result<(), opentool_core::Failure> { Err(Silent.into()) });
    mode.answer(client.prompt("hi").tools(quiet)).await;
    let seen = &tool_texts(&model)[0];
    assert!(seen.contains("quiet") && seen.contains("Silent"), "{seen}");
}

async fn an_error_of_the_provider_carries_what_was_done(mode: Mode) {
    let refused = ChatError::refused("openai", 429, "slow down").with_retry_after(Duration::from_secs(7));
    let model = ScriptedModel::new([Reply::call("now", "{}").with_usage(Usage::new(5, 5)), Reply::error(refused)]);
    let error = mode.error(ChatClient::new(model).prompt("hi").tools(FakeTool::new("now").answers("noon"))).await;
    assert_eq!(error.to_string(), "openai answered 429: slow down (it asks to wait 7 s before the next try)");
    assert_eq!((error.status(), error.retry_after()), (Some(429), Some(Duration::from_secs(7))));
    assert!(error.is_retryable());
    assert_eq!(error.exchange().messages().len(), 3, "continuing from here does not repeat the call");
    assert_eq!(error.exchange().usage, Usage::new(5, 5));
}

async fn a_stream_that_breaks_off_leaves_no_half_answer(mode: Mode) {
    let broken = Reply::deltas([Delta::text("It is no")]).then_fails(ChatError::interrupted("openai", "reset"));
    let model = ScriptedModel::new([Reply::call("now", "{}"), broken]);
    let error = mode.error(ChatClient::new(model).prompt("hi").tools(FakeTool::new("now"))).await;
    assert_eq!(error.to_string(), "the answer of openai broke off: reset");
    assert_eq!(error.exchange().messages().len(), 3);
}

async fn an_unreachable_source_is_an_error_before_the_model_is_called(mode: Mode) {
    struct Far;
    impl ToolSource for Far {
        fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
            Box::pin(async { Err(ToolError::failed("no route to host")) })
        }

        fn changes(&self) -> Option<opentool_core::ToolChanges> {
            None
        }
    }
    let model = ScriptedModel::new([Reply::text("never said")]);
    let error = mode.error(ChatClient::new(model.clone()).prompt("hi").tools(Far)).await;
    assert!(matches!(error.cause(), Cause::Tools(_)));
    assert_eq!(error.to_string(), "the tools of the request are not available: no route to host");
    assert_eq!(error.exchange().messages(), [Message::user("hi")]);
    assert!(model.requests().is_empty());
}

async fn a_source_that_panics_or_hangs_is_an_error_before_the_model_is_called(mode: Mode) {
    struct Broken(bool);
    impl ToolSource for Broken {
        fn toolbox(&self) -> BoxFuture<'_, Result<Toolbox, ToolError>> {
            if self.0 {
                panic!("at src/secret.rs:7");
            }
            Box::pin(std::future::pending())
        }

        fn changes(&self) -> Option<opentool_core::ToolChanges> {
            None
        }
    }
    for (panics, kind) in [(true, ErrorKind::Panic), (false, ErrorKind::Timeout)] {
        let model = ScriptedModel::new([Reply::text("never said")]);
        let executor = Executor::builder().timeout(Duration::from_millis(50)).build();
        let client = ChatClient::new(ChatModel::builder(model.clone()).executor(executor).build());
        let error = mode.error(client.prompt("hi").tools(Broken(panics))).await;
        assert!(matches!(error.cause(), Cause::Tools(error) if error.kind() == kind), "{error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(model.requests().is_empty());
    }
}

async fn a_resolver_that_panics_is_an_error_before_the_model_is_called(mode: Mode) {
    struct Panics;
    impl Resolver for Panics {
        fn resolve(&self, _: &str) -> Option<Arc<dyn Tool>> {
            panic!("at src/secret.rs:7")
        }
    }
    let model = ScriptedModel::new([Reply::text("never said")]);
    let client = ChatClient::new(ChatModel::builder(model.clone()).resolver(Panics).build());
    let error = mode.error(client.prompt("hi").tool_names(["any"])).await;
    assert!(matches!(error.cause(), Cause::Tools(error) if error.kind() == ErrorKind::Panic), "{error:?}");
    assert!(model.requests().is_empty());
}

/// A model that begins to answer and then says nothing any more.
struct Stalls;

impl Provider for Stalls {
    fn name(&self) -> &str {
        "stalls"
    }
    fn model(&self) -> Option<&str> {
        None
    }
    fn server(&self) -> Option<(&str, u16)> {
        None
    }
    fn typed_answers(&self, _: bool) -> TypedAnswers {
        TypedAnswers::Prompt
    }
    fn call<'a>(&'a self, _: ModelRequest<'a>) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(std::future::pending())
    }
    fn stream<'a>(&'a self, _: ModelRequest<'a>) -> BoxStream<'a, Result<Delta, ChatError>> {
        let begun = [Delta::Usage(Usage::new(40, 0)), Delta::text("Once")];
        stream::iter(begun.map(Ok)).chain(stream::pending()).boxed()
    }
}

#[tokio::test]
async fn cancelling_a_stream_ends_it_and_keeps_its_usage() {
    let cancellation = Cancellation::new();
    let mut stream = ChatClient::new(Stalls).prompt("hi").cancellation(cancellation.clone()).stream();
    assert!(matches!(stream.next().await, Some(Ok(ChatEvent::Text(_)))));
    cancellation.cancel();
    let error = stream.next().await.unwrap().unwrap_err();
    assert!(matches!(error.cause(), Cause::Cancelled));
    assert_eq!(error.exchange().usage, Usage::new(40, 0));
    assert_eq!(error.exchange().messages(), [Message::user("hi")], "half an answer was not said");
    assert!(stream.next().await.is_none());
}

in_both_modes!(
    an_unreachable_source_is_an_error_before_the_model_is_called,
    a_source_that_panics_or_hangs_is_an_error_before_the_model_is_called,
    a_resolver_that_panics_is_an_error_before_the_model_is_called,
    an_unmarked_error_reaches_the_model_by_its_display,
    a_fatal_error_reaches_the_caller_with_what_was_done,
    all_errors_fatal_and_an_error_policy_have_the_last_word,
    a_blank_message_gets_a_text_that_names_tool_and_type,
    an_error_of_the_provider_carries_what_was_done,
    a_stream_that_breaks_off_leaves_no_half_answer,
);
