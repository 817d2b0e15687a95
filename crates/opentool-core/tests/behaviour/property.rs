//! For any batch, every call has exactly one outcome or is pending, in call order, and nothing outlives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{
    Ask, BoxFuture, Concurrency, Decision, ErrorKind, Executor, Invocation, Limits, Middleware, Next, ToolCall,
    ToolContext, ToolError, ToolMetadata, ToolOutput, Toolbox, Turn,
};
use proptest::prelude::*;
use serde_json::json;

use super::pair;

/// What a generated call is up to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Good,
    Serial,
    Exclusive,
    Unknown,
    Malformed,
    Invalid,
    Fails,
    Panics,
    Slow,
    Hangs,
    Huge,
    Denied,
    DeniedByPanic,
    Suspended,
    Limited,
    Blocking,
    Emits,
    Resolved,
}

/// More pieces than may be unread.
const PIECES: usize = 100;

const KINDS: [Kind; 18] = [
    Kind::Good,
    Kind::Serial,
    Kind::Exclusive,
    Kind::Unknown,
    Kind::Malformed,
    Kind::Invalid,
    Kind::Fails,
    Kind::Panics,
    Kind::Slow,
    Kind::Hangs,
    Kind::Huge,
    Kind::Denied,
    Kind::DeniedByPanic,
    Kind::Suspended,
    Kind::Limited,
    Kind::Blocking,
    Kind::Emits,
    Kind::Resolved,
];

impl Kind {
    fn call(self, n: usize) -> ToolCall {
        let arguments = match self {
            Self::Malformed => r#"{"a":"#.to_owned(),
            Self::Invalid => r#"{"a":"x"}"#.to_owned(),
            _ => json!({ "a": n }).to_string(),
        };
        // Ids repeat and may be empty: the executor must not depend on them.
        let id = match n % 5 {
            0 => String::new(),
            m => m.to_string(),
        };
        ToolCall::new(id, format!("{self:?}").to_lowercase(), arguments)
    }

    fn expected(self) -> Option<ErrorKind> {
        match self {
            Self::Good | Self::Serial | Self::Exclusive | Self::Slow | Self::Suspended => None,
            Self::Blocking | Self::Emits | Self::Resolved => None,
            Self::Unknown => Some(ErrorKind::UnknownTool),
            Self::Malformed | Self::Invalid => Some(ErrorKind::InvalidArguments),
            Self::Fails => Some(ErrorKind::Failed),
            Self::Panics | Self::DeniedByPanic => Some(ErrorKind::Panic),
            Self::Hangs => Some(ErrorKind::Timeout),
            Self::Huge => Some(ErrorKind::InvalidResult),
            Self::Denied => Some(ErrorKind::Denied),
            Self::Limited => Some(ErrorKind::Limit),
        }
    }

    fn may_run(self) -> bool {
        !matches!(
            self,
            Self::Unknown
                | Self::Malformed
                | Self::Invalid
                | Self::Denied
                | Self::DeniedByPanic
                | Self::Suspended
                | Self::Limited
        )
    }
}

/// Everything that calls can meet.
struct Setup {
    tools: Toolbox,
    /// What only a resolver finds.
    hidden: Toolbox,
    logs: Vec<(Kind, CallLog)>,
    /// How many calls passed the middleware.
    passed: Arc<AtomicUsize>,
}

/// Counts the calls on their way in, and yields on their way out.
struct Counting(Arc<AtomicUsize>);

impl Middleware for Counting {
    fn call<'a>(&'a self, invocation: Invocation<'a>, next: Next<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.0.fetch_add(1, SeqCst);
            let result = next.run(invocation).await;
            tokio::task::yield_now().await;
            result
        })
    }
}

fn setup() -> Setup {
    let mut logs = Vec::new();
    let (mut tools, mut hidden) = (Toolbox::new(), Toolbox::new());
    for kind in KINDS {
        let name = format!("{kind:?}").to_lowercase();
        let tool = FakeTool::new(&name).with_schema(pair());
        let metadata = ToolMetadata::new();
        let (tool, metadata) = match kind {
            Kind::Unknown => continue,
            Kind::Serial => {
                (tool.answers_after(Duration::from_millis(3), "x"), metadata.with_concurrency(Concurrency::Serial))
            }
            Kind::Exclusive => {
                (tool.answers_after(Duration::from_millis(2), "x"), metadata.with_concurrency(Concurrency::Exclusive))
            }
            Kind::Fails => (tool.fails(ToolError::failed("no")), metadata),
            Kind::Panics => (tool.panics("ouch"), metadata),
            Kind::Slow => (tool.answers_after(Duration::from_millis(10), "x"), metadata),
            Kind::Hangs => (tool.hangs(), metadata.with_timeout(Duration::from_millis(50))),
            Kind::Huge => (tool.answers("x".repeat(65)), metadata.with_max_result_size(64)),
            Kind::Denied | Kind::DeniedByPanic | Kind::Suspended => (tool, metadata.with_approval(true)),
            Kind::Limited => (tool, metadata.with_call_limit(0)),
            Kind::Blocking => {
                (tool.acts(|_, context| async move { context.run_blocking(|| "x".into()).await }), metadata)
            }
            Kind::Emits => {
                let emit = |_, context: ToolContext| async move {
                    for piece in 0..PIECES {
                        context.emit(piece.to_string()).await;
                    }
                    Ok("x".into())
                };
                (tool.acts(emit), metadata)
            }
            Kind::Good | Kind::Malformed | Kind::Invalid | Kind::Resolved => (tool.answers("x"), metadata),
        };
        let tool = tool.with_metadata(metadata);
        logs.push((kind, tool.log()));
        if kind == Kind::Resolved { hidden.add(tool) } else { tools.add(tool) }.unwrap();
    }
    Setup { tools, hidden, logs, passed: Arc::default() }
}

fn executor(setup: &Setup, most: u32) -> Executor {
    Executor::builder()
        .limits(Limits::none().with_total(most))
        .resolver(setup.hidden.clone())
        .middleware(Counting(setup.passed.clone()))
        .approval(Ask::with(|request| {
            let decision = match request.tool.definition().name() {
                "denied" => Some(Decision::Deny("no".into())),
                "suspended" => Some(Decision::Suspend),
                _ => None,
            };
            async move { decision.expect("asked about this one, the approver panics") }
        }))
        .build()
}

fn batches() -> impl Strategy<Value = Vec<Kind>> {
    prop::collection::vec(prop::sample::select(&KINDS[..]), 0..40)
}

/// How many calls a turn may have; often enough for all.
fn limits() -> impl Strategy<Value = u32> {
    prop_oneof![Just(u32::MAX), 0_u32..40]
}

/// Why each call has no result, where a turn may have so many; a suspended call has no result yet.
fn expected(kinds: &[Kind], most: u32) -> Vec<(Kind, Option<ErrorKind>)> {
    let mut left = most;
    let expect = |kind: &Kind| {
        if *kind == Kind::Limited || left == 0 {
            return (*kind, Some(ErrorKind::Limit));
        }
        left -= 1;
        (*kind, kind.expected())
    };
    kinds.iter().map(expect).collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> (T, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let result = runtime.block_on(future);
    (result, runtime.metrics().num_alive_tasks())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_exactly_one_outcome_or_is_pending_in_call_order(
        kinds in batches(),
        most in limits(),
        watched in any::<bool>(),
    ) {
        quiet();
        let setup = setup();
        let (executor, mut turn, context) = (executor(&setup, most), Turn::new(), ToolContext::new());
        let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n)).collect();
        let expected = expected(&kinds, most);
        let runs = |kind: Kind| expected.iter().filter(|(k, e)| *k == kind && k.may_run() && *e == k.expected()).count();
        let ((outcomes, pieces), alive) = block_on(async {
            use futures_util::StreamExt;
            let mut batch = executor.run(&setup.tools, calls.clone(), &mut turn, &context);
            let (mut ends, mut pieces) = (vec![0; calls.len()], 0);
            if watched {
                while let Some(event) = batch.next().await {
                    use opentool_core::ToolEvent::{Failed, Finished, Output, Suspended};
                    match &event {
                        Finished(call, _) | Failed(call, _) | Suspended(call) => ends[call.index] += 1,
                        Output(call, _) => {
                            assert_eq!(ends[call.index], 0, "nothing is streamed after the end");
                            pieces += 1;
                        }
                        _ => {}
                    }
                }
                assert!(ends.iter().all(|ends| *ends == 1), "each call ends once: {ends:?}");
            }
            (batch.finish().await, pieces)
        });
        prop_assert_eq!(alive, 0, "no task outlives the batch");
        prop_assert_eq!(pieces, if watched { runs(Kind::Emits) * PIECES } else { 0 });

        let (mut answered, mut pending) = (outcomes.iter(), outcomes.pending().iter());
        for ((kind, error), call) in expected.iter().zip(&calls) {
            if *kind == Kind::Suspended && error.is_none() {
                prop_assert_eq!(pending.next(), Some(call));
            } else {
                let outcome = answered.next().unwrap();
                prop_assert_eq!((&outcome.call_id, &outcome.tool), (&call.id, &call.name));
                prop_assert_eq!(outcome.error().map(ToolError::kind), *error);
            }
        }
        prop_assert!(answered.next().is_none() && pending.next().is_none());
        for (kind, log) in &setup.logs {
            prop_assert_eq!((log.count(), log.running()), (runs(*kind), 0), "{:?}", kind);
            prop_assert!(*kind != Kind::Serial || log.most_at_once() <= 1);
        }
        prop_assert_eq!(setup.passed.load(SeqCst), KINDS.into_iter().map(runs).sum::<usize>());
        prop_assert_eq!(turn.pending().count(), outcomes.pending().len());
    }

    #[test]
    fn a_resumed_round_answers_every_call_in_call_order(
        kinds in batches(),
        decisions in prop::collection::vec(any::<bool>(), 40),
        watched in any::<bool>(),
    ) {
        quiet();
        let setup = setup();
        let (executor, mut turn, context) = (executor(&setup, u32::MAX), Turn::new(), ToolContext::new());
        let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n)).collect();
        let mut decisions = decisions.into_iter();
        // What becomes of each call that waits, in order: approved, it runs and answers nothing.
        let mut fates = Vec::new();
        let (outcomes, alive) = block_on(async {
            use futures_util::StreamExt;
            executor.run(&setup.tools, calls.clone(), &mut turn, &context).finish().await;
            let waiting: Vec<_> = turn.pending().map(|call| call.id.clone()).collect();
            for id in waiting {
                let approve = decisions.next().unwrap();
                fates.push((!approve).then_some(ErrorKind::Denied));
                turn.decide(&id, if approve { Decision::Approve } else { Decision::Deny("no".into()) }).unwrap();
            }
            let mut batch = executor.resume(&setup.tools, &mut turn, &context);
            if watched {
                while batch.next().await.is_some() {}
            }
            batch.finish().await
        });
        prop_assert_eq!(alive, 0);
        prop_assert_eq!((outcomes.pending().len(), turn.pending().count()), (0, 0));
        let ran = fates.iter().filter(|fate| fate.is_none()).count();
        let suspended = kinds.contains(&Kind::Suspended);
        prop_assert_eq!(outcomes.len(), if suspended { calls.len() } else { 0 }, "a round that is over is not resumed");
        let mut fates = fates.into_iter();
        for ((kind, call), outcome) in kinds.iter().zip(&calls).zip(outcomes.iter()) {
            prop_assert_eq!((&outcome.call_id, &outcome.tool), (&call.id, &call.name));
            let expected = if *kind == Kind::Suspended { fates.next().unwrap() } else { kind.expected() };
            prop_assert_eq!(outcome.error().map(ToolError::kind), expected);
        }
        for (kind, log) in &setup.logs {
            let once = kinds.iter().filter(|called| *called == kind && kind.may_run()).count();
            prop_assert_eq!(log.count(), if *kind == Kind::Suspended { ran } else { once }, "{:?} ran once", kind);
        }
    }

    #[test]
    fn cancelled_half_way_every_call_still_has_exactly_one_outcome(
        kinds in batches(),
        most in limits(),
        after in 0_u64..60,
    ) {
        quiet();
        let setup = setup();
        let (executor, mut turn, context) = (executor(&setup, most), Turn::new(), ToolContext::new());
        let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n)).collect();
        let (outcomes, alive) = block_on(async {
            let batch = executor.run(&setup.tools, calls.clone(), &mut turn, &context);
            let cancellation = batch.cancellation();
            futures_util::future::join(batch.finish(), async move {
                tokio::time::sleep(Duration::from_millis(after)).await;
                cancellation.cancel();
            })
            .await
            .0
        });
        prop_assert_eq!(alive, 0);
        prop_assert_eq!(outcomes.len() + outcomes.pending().len(), calls.len());
        let (mut answered, mut pending) = (outcomes.iter().peekable(), outcomes.pending().iter().peekable());
        for ((kind, expected), call) in expected(&kinds, most).iter().zip(&calls) {
            if *kind == Kind::Suspended && expected.is_none() && pending.next_if(|pending| *pending == call).is_some() {
                continue;
            }
            let outcome = answered.next().unwrap();
            prop_assert_eq!((&outcome.call_id, &outcome.tool), (&call.id, &call.name));
            let error = outcome.error().map(ToolError::kind);
            prop_assert!(error == *expected || error == Some(ErrorKind::Cancelled), "{:?}: {:?}", kind, error);
        }
        for (kind, log) in &setup.logs {
            prop_assert_eq!(log.running(), 0);
            prop_assert!(kind.may_run() || log.count() == 0, "{:?} ran", kind);
        }
    }

    #[test]
    fn dropped_half_way_nothing_runs_on_and_nothing_is_recorded(kinds in batches(), after in 0_u64..60) {
        quiet();
        let setup = setup();
        let logs = &setup.logs;
        let (executor, mut turn, context) = (executor(&setup, u32::MAX), Turn::new(), ToolContext::new());
        let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n)).collect();
        let ((finished, started), alive) = block_on(async {
            let batch = executor.run(&setup.tools, calls.clone(), &mut turn, &context);
            let finished = tokio::time::timeout(Duration::from_millis(after), batch.finish()).await.is_ok();
            let started: usize = logs.iter().map(|(_, log)| log.count()).sum();
            tokio::time::sleep(Duration::from_secs(100)).await;
            (finished, started)
        });
        prop_assert_eq!(alive, 0);
        prop_assert_eq!(logs.iter().map(|(_, log)| log.running()).sum::<usize>(), 0);
        prop_assert_eq!(logs.iter().map(|(_, log)| log.count()).sum::<usize>(), started, "nothing starts afterwards");
        if !finished {
            prop_assert_eq!((turn.calls(), turn.rounds(), turn.pending().count()), (0, 0, 0));
        }
    }
}

/// Keeps the panics that these tests want out of the output.
fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let wanted =
                info.payload_as_str().is_some_and(|text| text.contains("ouch") || text.contains("the approver panics"));
            if !wanted {
                hook(info);
            }
        }));
    });
}
