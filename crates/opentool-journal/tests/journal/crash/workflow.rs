//! A workflow of two payments: it is entered again after a kill, and the records of its steps decide.

use std::sync::Arc;

use opentool_core::spec::OpenWorkflow;
use opentool_core::{ErrorKind, Executor, Outcome, ToolCall, ToolContext, Workflow};
use opentool_journal::{Run, RunStatus, SqliteJournal};
use serde_json::json;

use super::child::Gate;
use super::{Files, Order, Tally, cell, give_up, left, open, pay, take_over};

/// Runs the workflow, or goes on with it.
async fn flow(run: &Run, files: &Files, kind: &str, gate: Option<&Arc<Gate>>, number: usize) -> Outcome {
    let step = |round: usize, next: &str| json!({"function": "pay", "arguments": {"run": number, "round": round}, "results": {}, "next": next});
    let steps = json!({"start": step(1, "second"), "second": step(2, "null")});
    let document = json!({"openworkflow": "1.0.0", "info": {"title": "Flow", "version": "1"}, "workflow": steps});
    let document: OpenWorkflow = document.to_string().parse().unwrap();
    let workflow = Workflow::new(&document, pay(files, kind, gate)).unwrap();
    let context = run.context(&ToolContext::new()).with_place("1.0");
    Executor::new().host(workflow).run(ToolCall::new("1", "flow", "{}"), &context).await
}

pub(super) async fn run(journal: &SqliteJournal, files: &Files, kind: &str, gate: &Arc<Gate>, number: usize) {
    let run = journal.start_run("workflow", &number.to_string()).await.unwrap();
    flow(&run, files, kind, Some(gate), number).await;
    run.finish(RunStatus::Done).await.unwrap();
}

/// What must be after a kill: whether the workflow has an answer, and how often each payment was made.
///
/// The first start and the last outcome are those of the workflow; the others are those of its steps.
fn expected(point: &str, arrival: usize, kind: &str) -> (bool, [usize; 2]) {
    // The step that began and has no outcome, and whether it had its effect.
    let open = match (point, arrival) {
        ("after-start", 2 | 3) => Some((arrival - 1, false)),
        ("before-effect", step) => Some((step, false)),
        ("after-effect", step) | ("before-outcome", step @ (1 | 2)) => Some((step, true)),
        _ => None,
    };
    match open {
        None => (true, [1, 1]),
        Some((1, paid)) if kind == "other" => (false, [usize::from(paid), 0]),
        Some((_, paid)) if kind == "other" => (false, [1, usize::from(paid)]),
        Some((1, paid)) => (true, [1 + usize::from(paid), 1]),
        Some((_, paid)) => (true, [1, 1 + usize::from(paid)]),
    }
}

async fn check(files: &Files, order: &Order<'_>, tally: &mut Tally, batch: usize) {
    let Order { kind, point, arrival, .. } = *order;
    let journal = open(files, None).await;
    let ids = left(&journal).await;
    assert_eq!(ids.len(), batch);
    tally.runs += batch;
    let (has_answer, counts) = expected(point, arrival, kind);
    for (number, id) in ids {
        let at = format!("{kind} {point} {arrival} {number} {}", files.0.display());
        let run = take_over(&journal, &id).await;
        let outcome = flow(&run, files, kind, None, number).await;
        assert_eq!(outcome.output().is_some(), has_answer, "{at} {outcome:?}");
        if has_answer {
            tally.answered += 1;
        } else {
            tally.uncertain += 1;
            assert_eq!(outcome.error().unwrap().kind(), ErrorKind::Uncertain, "{at}");
            assert!(give_up(&journal, &id).await, "{at}");
            let outcome = flow(&run, files, kind, None, number).await;
            assert!(outcome.error().unwrap().message().contains("given up"), "{at} {outcome:?}");
        }
        run.finish(RunStatus::Done).await.unwrap();
    }
    let effects = files.effects();
    for number in 0..batch {
        let count = |round| effects.get(&(number, round)).copied().unwrap_or(0);
        assert_eq!([count(1), count(2)], counts, "{kind} {point} {arrival} {number}");
    }
    tally.effects += effects.values().sum::<usize>();
    journal.close().await;
}

async fn cells(kind: &str) {
    for (point, arrivals) in [
        ("before-start", 3),
        ("after-start", 3),
        ("before-effect", 2),
        ("after-effect", 2),
        ("before-outcome", 3),
        ("after-outcome", 3),
    ] {
        for arrival in 1..=arrivals {
            let order = Order { task: "flow", kind, act: "kill", point, arrival, batch: 0 };
            let checked = async |files: &Files, tally: &mut Tally, batch| check(files, &order, tally, batch).await;
            let tally = cell(&order, checked).await;
            tally.print(&format!("workflow, {kind}"), &format!("{point} {arrival}"));
        }
    }
}

#[tokio::test]
async fn a_workflow_pays_at_most_once_after_a_kill_at_every_point() {
    cells("other").await;
}

#[tokio::test]
async fn an_idempotent_workflow_ends_after_a_kill_at_every_point() {
    cells("idempotent").await;
}
