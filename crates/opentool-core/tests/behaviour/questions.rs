//! Tools that ask a question while they run.

use std::time::Duration;

use opentool_core::testing::FakeTool;
use opentool_core::{
    BoxFuture, ErrorKind, Executor, Outcome, Question, Respondent, ToolCall, ToolContext, ToolError, ToolOutput,
    UserAnswer,
};
use serde_json::{Value, json};
use tokio::time::sleep;

/// Answers after a time.
struct Answers(Value, Duration);

impl Respondent for Answers {
    fn respond(&self, _: Question) -> BoxFuture<'_, Result<UserAnswer, ToolError>> {
        Box::pin(async {
            sleep(self.1).await;
            Ok(UserAnswer::Accepted(self.0.as_object().cloned().unwrap()))
        })
    }
}

/// Asks for a name, and then works for some time.
fn greets(work: Duration) -> FakeTool {
    FakeTool::new("greets").acts(move |_, context| async move {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
        let answer = context.ask("What is your name?", schema).await?;
        sleep(work).await;
        Ok(match answer {
            UserAnswer::Accepted(answer) => ToolOutput::text(format!("Hello, {}!", answer["name"].as_str().unwrap())),
            _ => ToolOutput::text("Hello!"),
        })
    })
}

async fn call(tool: FakeTool, context: ToolContext) -> Outcome {
    let executor = Executor::builder().timeout(Duration::from_secs(1)).build();
    executor.host(tool).run(ToolCall::new("1", "greets", "{}"), &context).await
}

fn named_ann(after: Duration) -> ToolContext {
    ToolContext::new().with_respondent(Answers(json!({ "name": "Ann" }), after))
}

#[tokio::test(start_paused = true)]
async fn the_time_of_an_answer_counts_against_no_deadline() {
    let hour = Duration::from_secs(3600);
    let outcome = call(greets(Duration::from_millis(900)), named_ann(hour)).await;
    assert_eq!(outcome.output().unwrap().to_text(), "Hello, Ann!");
    let outcome = call(greets(Duration::from_millis(1100)), named_ann(hour)).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Timeout, "the tool's own time still counts");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_one_call_gives_the_next_no_more_time() {
    let context = named_ann(Duration::from_secs(3600));
    assert!(call(greets(Duration::ZERO), context.clone()).await.output().is_some());
    let slow = || {
        FakeTool::new("greets").acts(|_, context| async move {
            assert!(context.remaining() <= Some(Duration::from_secs(1)), "{:?}", context.remaining());
            sleep(Duration::from_secs(30)).await;
            Ok(ToolOutput::Empty)
        })
    };
    // A call that is made by a tool has no more time than the tool, either.
    let calls_another = FakeTool::new("greets").acts(move |_, context| async move {
        call(slow(), context).await.result?;
        Ok(ToolOutput::Empty)
    });
    for tool in [slow(), calls_another] {
        let begun = tokio::time::Instant::now();
        let outcome = call(tool, context.clone()).await;
        assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Timeout);
        assert_eq!(begun.elapsed().as_secs(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_of_one_call_gives_others_no_more_time() {
    let context = named_ann(Duration::from_secs(3600));
    let hangs = FakeTool::new("greets").acts(|_, _| std::future::pending());
    let begun = tokio::time::Instant::now();
    let hanging = async {
        let outcome = call(hangs, context.clone()).await;
        (outcome, begun.elapsed().as_secs())
    };
    let (asking, (hanging, after)) = tokio::join!(call(greets(Duration::ZERO), context.clone()), hanging);
    assert!(asking.output().is_some());
    assert_eq!((hanging.error().unwrap().kind(), after), (ErrorKind::Timeout, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_while_one_that_it_made_asks() {
    let work = Duration::from_millis(600);
    let calls_another = FakeTool::new("greets").acts(move |_, context| async move {
        let answer = call(greets(Duration::ZERO), context).await.result?;
        sleep(work).await;
        Ok(answer)
    });
    let outcome = call(calls_another, named_ann(Duration::from_secs(3600))).await;
    assert_eq!(outcome.output().unwrap().to_text(), "Hello, Ann!");
}

#[tokio::test]
async fn a_question_that_cannot_be_answered_is_an_error_that_says_so() {
    let outcome = call(greets(Duration::ZERO), ToolContext::new()).await;
    let error = outcome.error().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("no way to answer") && !error.is_retryable(), "{error}");
}

#[tokio::test]
async fn an_answer_is_checked_against_the_schema_of_its_question() {
    let context = ToolContext::new().with_respondent(Answers(json!({ "name": 7 }), Duration::ZERO));
    let outcome = call(greets(Duration::ZERO), context).await;
    assert!(outcome.error().unwrap().message().contains("/name"), "{outcome:?}");
    let broken = FakeTool::new("greets").acts(|_, context| async move {
        context.ask("?", json!({ "type": 7 })).await?;
        Ok(ToolOutput::Empty)
    });
    let outcome = call(broken, named_ann(Duration::ZERO)).await;
    assert!(outcome.error().unwrap().message().contains("cannot be asked"), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_an_answer_can_be_cancelled() {
    let context = named_ann(Duration::from_secs(3600));
    let cancellation = context.cancellation().clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(60)).await;
        cancellation.cancel();
    });
    let outcome = call(greets(Duration::ZERO), context).await;
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Cancelled);
}
