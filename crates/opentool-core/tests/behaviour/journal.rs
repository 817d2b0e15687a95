//! Calls of a run or with a key are recorded before they run and before they are seen.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{
    Arguments, Ask, Begun, BoxFuture, CallEnd, CallKey, CallStart, Concurrency, Decision, ErrorKind, Executor, Host,
    IdempotencyKey, Invocation, Journal, MemoryBudget, MemoryJournal, Outcome, Reconcile, Reconciled, Tool, ToolCall,
    ToolContext, ToolDefinition, ToolError, ToolMetadata, ToolOutput, Toolbox, Turn, UncertainDecision,
};
use tokio::time::{sleep, timeout};

use super::toolbox;

fn memory() -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::new(MemoryBudget::new(1 << 20)))
}

fn keyed(journal: &Arc<MemoryJournal>, key: &str) -> ToolContext {
    ToolContext::new().with_idempotency_key(journal.clone(), IdempotencyKey::parse(key).unwrap())
}

/// A tool that answers how often it ran.
fn counter(name: &str) -> FakeTool {
    let count = AtomicU32::new(0);
    FakeTool::new(name).acts(move |_, _| {
        let count = count.fetch_add(1, SeqCst) + 1;
        async move { ToolOutput::json(&count) }
    })
}

fn host(tool: FakeTool) -> (Host, CallLog) {
    let log = tool.log();
    (Executor::new().host(toolbox([tool])), log)
}

async fn call(host: &Host, arguments: &str, context: &ToolContext) -> Outcome {
    host.run(ToolCall::new("1", "pay", arguments), context).await
}

#[tokio::test]
async fn a_repeated_key_has_the_outcome_of_the_first_call() {
    let (host, log) = host(counter("pay"));
    let context = keyed(&memory(), "order-17");
    let first = call(&host, r#"{"to":"ann","cents":100}"#, &context).await;
    let second = call(&host, r#"{ "cents": 100, "to": "ann" }"#, &context).await;
    assert_eq!(first.output(), second.output());
    assert_eq!((log.count(), first.output().unwrap().to_text().as_str()), (1, "1"));
    assert!(second.definition.is_some(), "a frontend words both alike");
}

#[tokio::test]
async fn a_key_with_other_arguments_is_refused() {
    let (host, log) = host(counter("pay"));
    let context = keyed(&memory(), "order-17");
    call(&host, r#"{"cents":100}"#, &context).await;
    let refused = call(&host, r#"{"cents":200}"#, &context).await;
    let error = refused.error().unwrap();
    assert_eq!((error.kind(), error.code(), error.is_retryable()), (ErrorKind::Denied, Some(422), false));
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn keys_of_different_callers_are_apart() {
    let (host, log) = host(counter("pay"));
    let journal = memory();
    for caller in ["ann", "bob", "ann"] {
        call(&host, "{}", &keyed(&journal, "k").with_caller(caller)).await;
    }
    assert_eq!(log.count(), 2);
}

#[tokio::test]
async fn a_duplicate_in_flight_waits_for_the_first() {
    let (host, log) = host(FakeTool::new("pay").answers_after(Duration::from_millis(50), "paid"));
    let context = keyed(&memory(), "order-17");
    let (first, second) = tokio::join!(call(&host, "{}", &context), call(&host, "{}", &context));
    assert_eq!((first.output().unwrap().to_text(), second.output().unwrap().to_text()), ("paid".into(), "paid".into()));
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn a_refusal_before_the_start_is_not_kept() {
    let tool = counter("pay").with_schema(super::pair());
    let (host, log) = host(tool);
    let context = keyed(&memory(), "order-17");
    assert_eq!(call(&host, r#"{"a":"x"}"#, &context).await.error().unwrap().kind(), ErrorKind::InvalidArguments);
    assert!(call(&host, r#"{"a":1}"#, &context).await.output().is_some());
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn an_error_is_an_outcome_like_any_other() {
    let (host, log) = host(FakeTool::new("pay").fails(ToolError::failed("no money").with_code(7)));
    let context = keyed(&memory(), "order-17");
    for _ in 0..2 {
        let outcome = call(&host, "{}", &context).await;
        let error = outcome.error().unwrap();
        assert_eq!((error.message(), error.code()), ("no money", Some(7)));
    }
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn a_dropped_call_with_an_effect_is_uncertain_and_never_runs_again() {
    let (host, log) = host(FakeTool::new("pay").hangs());
    let journal = memory();
    let context = keyed(&journal, "order-17");
    assert!(timeout(Duration::from_millis(20), call(&host, "{}", &context)).await.is_err());
    for _ in 0..2 {
        let outcome = call(&host, "{}", &context).await;
        let error = outcome.error().unwrap();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Uncertain, false), "{error}");
    }
    assert_eq!(log.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_kept_from_when_there_was_one() {
    let hour = Duration::from_secs(3600);
    let journal = Arc::new(MemoryJournal::new(MemoryBudget::new(1 << 20)).with_retention(24 * hour));
    let tool =
        FakeTool::new("pay").with_metadata(ToolMetadata::new().with_idempotent(true)).acts(|_, context| async move {
            if context.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            Ok(ToolOutput::text("paid"))
        });
    let (host, log) = host(tool);
    let context = keyed(&journal, "order-17");
    assert!(timeout(Duration::from_secs(1), call(&host, "{}", &context)).await.is_err());
    sleep(23 * hour).await;
    assert!(call(&host, "{}", &context).await.output().is_some());
    sleep(2 * hour).await;
    assert!(call(&host, "{}", &context).await.output().is_some());
    assert_eq!(log.count(), 2, "forgotten 24 hours after the first attempt was given up");
    sleep(24 * hour).await;
    let forgotten = call(&host, "{}", &context);
    assert!(timeout(Duration::from_secs(1), forgotten).await.is_err());
    assert_eq!(log.count(), 3);
}

#[tokio::test]
async fn a_dropped_call_of_an_idempotent_tool_runs_again_with_the_same_key() {
    let seen: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
    let noted = seen.clone();
    let tool = FakeTool::new("pay").with_metadata(ToolMetadata::new().with_idempotent(true)).acts(move |_, context| {
        let (noted, attempt) = (noted.clone(), context.attempt());
        async move {
            noted.lock().unwrap().push((context.call_key().unwrap().to_string(), attempt));
            if attempt == 1 {
                std::future::pending::<()>().await;
            }
            Ok(ToolOutput::text("paid"))
        }
    });
    let (host, _) = host(tool);
    let context = keyed(&memory(), "order-17");
    assert!(timeout(Duration::from_millis(20), call(&host, "{}", &context)).await.is_err());
    assert_eq!(call(&host, "{}", &context).await.output().unwrap().to_text(), "paid");
    let seen = seen.lock().unwrap();
    assert_eq!((seen[0].1, seen[1].1), (1, 2));
    assert_eq!(seen[0].0, seen[1].0, "the key of both attempts is the same");
    assert!(seen[0].0.starts_with("key-") && seen[0].0.contains("/0/pay/"), "{}", seen[0].0);
}

#[tokio::test]
async fn a_timeout_is_recorded_because_the_record_is_outside_the_deadline() {
    let tool = FakeTool::new("pay").with_metadata(ToolMetadata::new().with_timeout(Duration::from_millis(20))).hangs();
    let (host, log) = host(tool);
    let context = keyed(&memory(), "order-17");
    for _ in 0..2 {
        assert_eq!(call(&host, "{}", &context).await.error().unwrap().kind(), ErrorKind::Timeout);
    }
    assert_eq!(log.count(), 1);
}

#[tokio::test]
async fn while_the_budget_is_used_up_a_new_key_is_refused() {
    let (host, log) = host(FakeTool::new("pay").answers("x".repeat(1000)));
    let budget = MemoryBudget::new(2500);
    let journal = Arc::new(MemoryJournal::new(budget.clone()).with_retention(Duration::from_millis(50)));
    assert!(call(&host, "{}", &keyed(&journal, "1")).await.output().is_some());
    let refused = call(&host, "{}", &keyed(&journal, "2")).await;
    let second = refused.error().cloned();
    // The second fits as an entry and not with its result, or not at all; either way nothing is held beyond the budget.
    assert!(budget.held() <= 2500);
    for key in 3..10 {
        let outcome = call(&host, "{}", &keyed(&journal, &key.to_string())).await;
        if let Some(error) = outcome.error() {
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
        }
    }
    assert!(log.count() < 9 && second.is_none());
    sleep(Duration::from_millis(60)).await;
    assert!(
        call(&host, "{}", &keyed(&journal, "later")).await.output().is_some(),
        "what was kept long enough makes room"
    );
}

#[tokio::test]
async fn a_result_that_cannot_be_kept_is_still_answered_and_never_repeated() {
    let (host, log) = host(FakeTool::new("pay").answers("x".repeat(10_000)));
    let journal = Arc::new(MemoryJournal::new(MemoryBudget::new(2000)));
    let context = keyed(&journal, "1");
    assert_eq!(call(&host, "{}", &context).await.output().unwrap().to_text().len(), 10_000);
    assert_eq!(call(&host, "{}", &context).await.error().unwrap().kind(), ErrorKind::Uncertain);
    assert_eq!(log.count(), 1);
}

/// What a tool says about interrupted calls.
struct Says(Reconciled);

impl Reconcile for Says {
    fn reconcile<'a>(
        &'a self,
        key: &'a CallKey,
        _: &'a Arguments,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Reconciled, ToolError>> {
        assert_eq!(&*key.tool, "pay");
        Box::pin(async move { Ok(self.0.clone()) })
    }
}

#[tokio::test]
async fn a_tool_that_can_find_out_settles_an_uncertain_call() {
    for (says, count, answer) in [
        (Reconciled::Happened(ToolOutput::text("paid before")), 1, Ok("paid before")),
        (Reconciled::DidNotHappen, 2, Ok("paid now")),
        (Reconciled::Unknown, 1, Err(ErrorKind::Uncertain)),
    ] {
        let metadata = ToolMetadata::new().with_reconcile(Says(says));
        let tool = FakeTool::new("pay").with_metadata(metadata).acts(|_, context| async move {
            if context.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            Ok(ToolOutput::text("paid now"))
        });
        let (host, log) = host(tool);
        let context = keyed(&memory(), "order-17");
        assert!(timeout(Duration::from_millis(20), call(&host, "{}", &context)).await.is_err());
        let outcome = call(&host, "{}", &context).await;
        let answered = outcome.result.as_ref().map(ToolOutput::to_text).map_err(ToolError::kind);
        assert_eq!(answered, answer.map(str::to_owned));
        assert_eq!(log.count(), count);
    }
}

#[tokio::test]
async fn a_decision_that_cannot_be_kept_changes_nothing() {
    let metadata = ToolMetadata::new().with_reconcile(Says(Reconciled::Happened(ToolOutput::text("x".repeat(10_000)))));
    let (host, log) = host(FakeTool::new("pay").with_metadata(metadata).hangs());
    let budget = MemoryBudget::new(2000);
    let context = keyed(&Arc::new(MemoryJournal::new(budget.clone())), "1");
    assert!(timeout(Duration::from_millis(20), call(&host, "{}", &context)).await.is_err());
    let held = budget.held();
    for _ in 0..2 {
        let outcome = call(&host, "{}", &context).await;
        assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Unavailable);
    }
    assert_eq!((log.count(), budget.held()), (1, held));
}

/// A journal that notes what it is asked, and can fail.
#[derive(Default)]
struct Noting {
    notes: Mutex<Vec<String>>,
    fails_at: Option<&'static str>,
}

impl Noting {
    fn failing(at: &'static str) -> Arc<Self> {
        Arc::new(Self { fails_at: Some(at), ..Self::default() })
    }

    fn note(&self, what: &str, note: String) -> Result<(), ToolError> {
        self.notes.lock().unwrap().push(format!("{what} {note}"));
        if self.fails_at == Some(what) { Err(ToolError::unavailable("the disk is full")) } else { Ok(()) }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }
}

impl Journal for Noting {
    fn begin<'a>(&'a self, call: CallStart<'a>) -> BoxFuture<'a, Result<Begun, ToolError>> {
        Box::pin(async move {
            let CallKey { run, place, tool, .. } = call.key;
            self.note("begin", format!("{run} {place} {tool} {}", call.effect.as_str()))?;
            Ok(Begun::Run { attempt: 1 })
        })
    }

    fn end<'a>(&'a self, call: CallEnd<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { self.note("end", format!("{} {}", call.key.place, call.result.is_ok())) })
    }

    fn abandon(&self, key: &CallKey, _: u32) {
        let _ = self.note("abandon", key.place.to_string());
    }

    fn changed<'a>(&'a self, _: &'a CallKey) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn decide<'a>(&'a self, _: &'a CallKey, _: UncertainDecision) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_call_whose_start_cannot_be_recorded_does_not_run() {
    let (host, log) = host(counter("pay"));
    let journal = Noting::failing("begin");
    let outcome = call(&host, "{}", &ToolContext::new().with_run(journal.clone(), "r1")).await;
    assert_eq!(outcome.error().unwrap().message(), "the disk is full");
    assert_eq!((log.count(), journal.notes()), (0, vec!["begin r1 n1 pay other".to_owned()]));
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_not_seen() {
    for (metadata, kind) in [
        (ToolMetadata::new(), ErrorKind::Uncertain),
        (ToolMetadata::new().with_idempotent(true), ErrorKind::Unavailable),
    ] {
        let (host, log) = host(counter("pay").with_metadata(metadata));
        let outcome = call(&host, "{}", &ToolContext::new().with_run(Noting::failing("end"), "r1")).await;
        let error = outcome.error().unwrap();
        assert_eq!((error.kind(), log.count()), (kind, 1));
        assert!(error.message().contains("cannot be recorded: the disk is full"), "{error}");
    }
}

#[tokio::test]
async fn a_call_without_run_or_key_is_not_recorded() {
    let (host, _) = host(counter("pay"));
    let outcome = call(&host, "{}", &ToolContext::new().with_place("x")).await;
    assert!(outcome.output().is_some());
}

#[tokio::test]
async fn the_place_of_a_call_is_its_round_and_number_also_after_a_suspension() {
    let executor = Executor::builder().approval(Ask::later()).build();
    let asks = counter("asks").with_metadata(ToolMetadata::new().with_approval(true));
    let tools = toolbox([asks, counter("plain").with_metadata(ToolMetadata::new().with_read_only(true))]);
    let journal = Arc::new(Noting::default());
    let context = ToolContext::new().with_run(journal.clone(), "r1");
    let mut turn = Turn::new();
    let calls = |ids: [&str; 2]| vec![ToolCall::new(ids[0], "plain", "{}"), ToolCall::new(ids[1], "asks", "{}")];
    executor.run(&tools, calls(["a", "b"]), &mut turn, &context).finish().await;
    turn.decide("b", Decision::Approve).unwrap();
    executor.resume(&tools, &mut turn, &context).finish().await;
    executor.run(&tools, vec![ToolCall::new("c", "plain", "{}")], &mut turn, &context).finish().await;
    assert_eq!(
        journal.notes(),
        [
            "begin r1 1.0 plain read_only",
            "end 1.0 true",
            "begin r1 1.1 asks other",
            "end 1.1 true",
            "begin r1 2.0 plain read_only",
            "end 2.0 true"
        ]
    );
}

#[tokio::test]
async fn a_dropped_batch_abandons_its_calls() {
    let tools = toolbox([FakeTool::new("pay").hangs()]);
    let journal = Arc::new(Noting::default());
    let context = ToolContext::new().with_run(journal.clone(), "r1");
    let (executor, mut turn) = (Executor::new(), Turn::new());
    let batch = executor.run(&tools, vec![ToolCall::new("a", "pay", "{}")], &mut turn, &context);
    assert!(timeout(Duration::from_millis(20), batch.finish()).await.is_err());
    assert_eq!(journal.notes(), ["begin r1 1.0 pay other", "abandon 1.0"]);
}

/// A tool that consists of two calls of another one.
struct Twice(ToolDefinition, ToolMetadata, Host);

impl Tool for Twice {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn metadata(&self) -> &ToolMetadata {
        &self.1
    }

    fn call<'a>(&'a self, invocation: Invocation<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for step in ["first", "second"] {
                let context = invocation.context.clone().with_place(step);
                self.2.run(ToolCall::new(step, "pay", "{}"), &context).await.result?;
            }
            self.2.run(ToolCall::new("third", "pay", "{}"), invocation.context).await.result
        })
    }
}

#[tokio::test]
async fn the_calls_of_a_composite_tool_are_recorded_within_it() {
    for (is_composite, expected) in [
        (
            true,
            vec![
                "begin r1 n1 twice composite",
                "begin r1 n1>first pay other",
                "end n1>first true",
                "begin r1 n1>second pay other",
                "end n1>second true",
                "begin r1 n1>n1 pay other",
                "end n1>n1 true",
                "end n1 true",
            ],
        ),
        (false, vec!["begin r1 n1 twice other", "end n1 true"]),
    ] {
        let (inner, _) = host(counter("pay"));
        let definition = ToolDefinition::builder("twice").build().unwrap();
        let twice = Twice(definition, ToolMetadata::new().with_composite(is_composite), inner);
        let host = Executor::new().host(Toolbox::new().with(twice).unwrap());
        let journal = Arc::new(Noting::default());
        let context = ToolContext::new().with_run(journal.clone(), "r1");
        host.run(ToolCall::new("1", "twice", "{}"), &context).await.result.unwrap();
        assert_eq!(journal.notes(), expected);
    }
}

#[tokio::test]
async fn a_call_has_no_more_time_than_its_caller() {
    let (host, log) = host(FakeTool::new("pay").hangs());
    let context = ToolContext::new().with_time_limit(Duration::from_millis(30));
    let outcome = timeout(Duration::from_secs(5), call(&host, "{}", &context)).await.unwrap();
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Timeout);
    let outcome = call(&host, "{}", &context).await;
    assert_eq!((outcome.error().unwrap().kind(), log.count()), (ErrorKind::Timeout, 1), "a late call does not run");
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_no_longer_for_a_serial_tool_than_it_said() {
    let tool = FakeTool::new("pay").with_metadata(ToolMetadata::new().with_concurrency(Concurrency::Serial)).hangs();
    let (host, log) = host(tool);
    let first = ToolContext::new();
    let context = ToolContext::new().with_time_limit(Duration::from_secs(2));
    let begun = tokio::time::Instant::now();
    let second = async {
        let outcome = call(&host, "{}", &context).await;
        (outcome, begun.elapsed().as_secs())
    };
    let (_, (outcome, after)) = tokio::join!(call(&host, "{}", &first), second);
    assert_eq!((outcome.error().unwrap().kind(), after, log.count()), (ErrorKind::Timeout, 2, 1));
}
