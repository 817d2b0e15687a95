//! For any batch, every call has exactly one outcome or is pending, in call order, and nothing outlives it.

use std::time::Duration;

use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{
    Ask, Concurrency, Decision, ErrorKind, Executor, Limits, ToolCall, ToolContext, ToolError, ToolMetadata,
    ToolOutput, Toolbox, Turn,
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
}

const KINDS: [Kind; 15] = [
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

fn tools() -> (Toolbox, Vec<(Kind, CallLog)>) {
    let mut logs = Vec::new();
    let mut tools = Toolbox::new();
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
            Kind::Good | Kind::Malformed | Kind::Invalid => (tool.answers("x"), metadata),
        };
        let tool = tool.with_metadata(metadata);
        logs.push((kind, tool.log()));
        tools.add(tool).unwrap();
    }
    (tools, logs)
}

fn executor() -> Executor {
    Executor::builder()
        .limits(Limits::none())
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

fn block_on<T>(future: impl Future<Output = T>) -> (T, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let result = runtime.block_on(future);
    (result, runtime.metrics().num_alive_tasks())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_exactly_one_outcome_or_is_pending_in_call_order(kinds in batches(), watched in any::<bool>()) {
        quiet();
        let (tools, logs) = tools();
        let (executor, mut turn, context) = (executor(), Turn::new(), ToolContext::new());
        let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n)).collect();
        let (outcomes, alive) = block_on(async {
            use futures_util::StreamExt;
            let mut batch = executor.run(&tools, calls.clone(), &mut turn, &context);
            let mut ends = vec![0; calls.len()];
            if watched {
                while let Some(event) = batch.next().await {
                    use opentool_core::ToolEvent::{Failed, Finished, Suspended};
                    if let Finished(call, _) | Failed(call, _) | Suspended(call) = &event {
                        ends[call.index] += 1;
                    }
                }
                assert!(ends.iter().all(|ends| *ends == 1), "each call ends once: {ends:?}");
            }
            batch.finish().await
        });
        prop_assert_eq!(alive, 0, "no task outlives the batch");

        let (mut answered, mut pending) = (outcomes.iter(), outcomes.pending().iter());
        for (kind, call) in kinds.iter().zip(&calls) {
            if *kind == Kind::Suspended {
                prop_assert_eq!(pending.next(), Some(call));
            } else {
                let outcome = answered.next().unwrap();
                prop_assert_eq!((&outcome.call_id, &outcome.tool), (&call.id, &call.name));
                prop_assert_eq!(outcome.error().map(ToolError::kind), kind.expected());
            }
        }
        prop_assert!(answered.next().is_none() && pending.next().is_none());
        for (kind, log) in &logs {
            let called = kinds.iter().filter(|called| *called == kind).count();
            let expected = if kind.may_run() { called } else { 0 };
            prop_assert_eq!((log.count(), log.running()), (expected, 0), "{:?}", kind);
            prop_assert!(*kind != Kind::Serial || log.most_at_once() <= 1);
        }
        prop_assert_eq!(turn.pending().count(), kinds.iter().filter(|kind| **kind == Kind::Suspended).count());
    }

    #[test]
    fn cancelled_half_way_every_call_still_has_exactly_one_outcome(kinds in batches(), after in 0_u64..60) {
        quiet();
        let (tools, logs) = tools();
        let (executor, mut turn, context) = (executor(), Turn::new(), ToolContext::new());
        let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n)).collect();
        let (outcomes, alive) = block_on(async {
            let batch = executor.run(&tools, calls.clone(), &mut turn, &context);
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
        for (kind, call) in kinds.iter().zip(&calls) {
            if *kind == Kind::Suspended && pending.next_if(|pending| *pending == call).is_some() {
                continue;
            }
            let outcome = answered.next().unwrap();
            prop_assert_eq!((&outcome.call_id, &outcome.tool), (&call.id, &call.name));
            let error = outcome.error().map(ToolError::kind);
            prop_assert!(error == kind.expected() || error == Some(ErrorKind::Cancelled), "{:?}: {:?}", kind, error);
        }
        for (kind, log) in &logs {
            prop_assert_eq!(log.running(), 0);
            prop_assert!(kind.may_run() || log.count() == 0, "{:?} ran", kind);
        }
    }

    #[test]
    fn dropped_half_way_nothing_runs_on_and_nothing_is_recorded(kinds in batches(), after in 0_u64..60) {
        quiet();
        let (tools, logs) = tools();
        let (executor, mut turn, context) = (executor(), Turn::new(), ToolContext::new());
        let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n)).collect();
        let ((finished, started), alive) = block_on(async {
            let batch = executor.run(&tools, calls.clone(), &mut turn, &context);
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

#[test]
fn a_resumed_turn_answers_every_call_of_its_round() {
    let (tools, _) = tools();
    let kinds = [Kind::Suspended, Kind::Good, Kind::Suspended, Kind::Fails, Kind::Suspended];
    let calls: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| kind.call(n + 1)).collect();
    let (executor, mut turn, context) = (executor(), Turn::new(), ToolContext::new());
    let (outcomes, _) = block_on(async {
        executor.run(&tools, calls.clone(), &mut turn, &context).finish().await;
        let waiting: Vec<_> = turn.pending().map(|call| call.id.clone()).collect();
        for id in waiting {
            turn.decide(&id, Decision::Approve).unwrap();
        }
        executor.resume(&tools, &mut turn, &context).finish().await
    });
    assert_eq!(outcomes.pending().len(), 0);
    let ids: Vec<_> = outcomes.iter().map(|outcome| outcome.call_id.clone()).collect();
    assert_eq!(ids, calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>());
    assert!(matches!(outcomes[0].result, Ok(ToolOutput::Empty)));
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
