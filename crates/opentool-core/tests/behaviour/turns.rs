//! Suspended calls stay in the turn until they are decided.

use opentool_core::testing::{CallLog, FakeTool};
use opentool_core::{
    Arguments, Ask, Decision, ErrorKind, Executor, Outcomes, Part, RichOutput, ToolCall, ToolContext, ToolMetadata,
    ToolOutput, Toolbox, Turn,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::toolbox;

struct Fixture {
    executor: Executor,
    tools: Toolbox,
    turn: Turn,
    guarded: CallLog,
    plain: CallLog,
}

impl Fixture {
    fn new() -> Self {
        let echo =
            |name| FakeTool::new(name).acts(|arguments, _| async move { Ok(ToolOutput::text(arguments.as_str())) });
        let guarded = echo("guarded").with_metadata(ToolMetadata::new().with_approval(true));
        let plain = echo("plain");
        let (guarded_log, plain_log) = (guarded.log(), plain.log());
        Self {
            executor: Executor::builder().approval(Ask::later()).build(),
            tools: toolbox([guarded, plain]),
            turn: Turn::new(),
            guarded: guarded_log,
            plain: plain_log,
        }
    }

    async fn run(&mut self, calls: &[(&str, &str)]) -> Outcomes {
        let calls = calls.iter().map(|(id, name)| ToolCall::new(*id, *name, format!(r#"{{"id":"{id}"}}"#))).collect();
        self.executor.run(&self.tools, calls, &mut self.turn, &ToolContext::new()).finish().await
    }

    async fn resume(&mut self) -> Outcomes {
        // A turn may be read back from a database, by another process.
        self.turn = serde_json::from_str(&serde_json::to_string(&self.turn).unwrap()).unwrap();
        self.executor.resume(&self.tools, &mut self.turn, &ToolContext::new()).finish().await
    }
}

fn ids(outcomes: &Outcomes) -> Vec<&str> {
    outcomes.iter().map(|outcome| &*outcome.call_id).collect()
}

fn pending(outcomes: &Outcomes) -> Vec<&str> {
    outcomes.pending().iter().map(|call| &*call.id).collect()
}

/// A turn beside its kind, as an application may store it.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Stored {
    Waiting { turn: Turn },
}

/// A turn among the columns of its row.
#[derive(Serialize, Deserialize)]
struct Row {
    id: u32,
    #[serde(flatten)]
    turn: Turn,
}

#[tokio::test]
async fn a_turn_is_read_back_wherever_it_was_stored() {
    let digits = || RawValue::from_string("[123456789012345678901234567890, 1.10]".to_owned()).unwrap();
    let outputs = [
        ToolOutput::json(&json!({"a": [1, null]})).unwrap(),
        ToolOutput::Json(digits()),
        ToolOutput::Parts(vec![Part::raw_json(digits())]),
        ToolOutput::from(RichOutput::new().with_structured(digits()).with_part(Part::text("many"))),
    ];
    for output in outputs {
        let tool = FakeTool::new("guarded").with_metadata(ToolMetadata::new().with_approval(true));
        let tools = toolbox([tool, FakeTool::new("plain").answers(output.clone())]);
        let (executor, mut turn) = (Executor::builder().approval(Ask::later()).build(), Turn::new());
        let calls = vec![ToolCall::new("1", "plain", ""), ToolCall::new("2", "guarded", "")];
        executor.run(&tools, calls, &mut turn, &ToolContext::new()).finish().await;

        let text = serde_json::to_string(&Stored::Waiting { turn: turn.clone() }).unwrap();
        let Stored::Waiting { turn: tagged } = serde_json::from_str(&text).unwrap();
        let text = serde_json::to_string(&Row { id: 7, turn: turn.clone() }).unwrap();
        let Row { id, turn: flattened } = serde_json::from_str(&text).unwrap();
        let value: Turn = serde_json::from_value(serde_json::to_value(&turn).unwrap()).unwrap();
        assert_eq!(id, 7);
        for mut read in [tagged, flattened, value] {
            assert_eq!(serde_json::to_string(&read).unwrap(), serde_json::to_string(&turn).unwrap());
            assert_eq!(read.repeats_of(&ToolCall::new("3", "plain", "{}")), 1);
            read.decide("2", Decision::Approve).unwrap();
            let outcomes = executor.resume(&tools, &mut read, &ToolContext::new()).finish().await;
            assert_eq!(outcomes[0].output(), Some(&output));
        }
    }
}

#[tokio::test]
async fn a_decided_call_is_not_pending_but_unfinished() {
    let mut fixture = Fixture::new();
    fixture.run(&[("1", "guarded"), ("2", "guarded")]).await;
    fixture.turn.decide("1", Decision::Approve).unwrap();
    assert_eq!(fixture.turn.pending().map(|call| &*call.id).collect::<Vec<_>>(), ["2"]);
    assert_eq!(fixture.turn.unfinished().map(|call| &*call.id).collect::<Vec<_>>(), ["1", "2"]);
    fixture.turn.decide("2", Decision::Deny("no".into())).unwrap();
    assert_eq!((fixture.turn.pending().count(), fixture.turn.unfinished().count()), (0, 2));
    fixture.resume().await;
    assert_eq!(fixture.turn.unfinished().count(), 0);
}

#[tokio::test]
async fn a_suspended_call_is_pending_while_its_siblings_have_outcomes() {
    let mut fixture = Fixture::new();
    let outcomes = fixture.run(&[("1", "plain"), ("2", "guarded"), ("3", "plain"), ("4", "guarded")]).await;
    assert_eq!((ids(&outcomes), pending(&outcomes)), (vec!["1", "3"], vec!["2", "4"]));
    assert_eq!(fixture.turn.pending().map(|call| &*call.id).collect::<Vec<_>>(), ["2", "4"]);
    assert!(!outcomes.return_direct());
    assert_eq!((fixture.plain.count(), fixture.guarded.count()), (2, 0));
}

#[tokio::test]
async fn after_the_decisions_the_whole_round_is_answered_in_call_order() {
    let mut fixture = Fixture::new();
    fixture.run(&[("1", "guarded"), ("2", "plain"), ("3", "guarded"), ("4", "guarded")]).await;
    fixture.turn.decide("1", Decision::Approve).unwrap();
    fixture.turn.decide("3", Decision::Deny("no".into())).unwrap();
    fixture.turn.decide("4", Decision::Edit(Arguments::from(r#"{"id":"edited"}"#))).unwrap();
    let outcomes = fixture.resume().await;
    assert_eq!((ids(&outcomes), pending(&outcomes)), (vec!["1", "2", "3", "4"], vec![]));
    assert_eq!(outcomes[0].output().unwrap().to_text(), r#"{"id":"1"}"#);
    assert_eq!(outcomes[2].error().unwrap().kind(), ErrorKind::Denied);
    assert_eq!(outcomes[3].output().unwrap().to_text(), r#"{"id":"edited"}"#);
    let edited: Vec<_> = outcomes.iter().map(|outcome| outcome.edited).collect();
    assert_eq!(edited, [false, false, false, true]);
    assert_eq!(outcomes[3].arguments.as_str(), r#"{"id":"edited"}"#);
    assert_eq!((fixture.plain.count(), fixture.guarded.count()), (1, 2), "the sibling did not run twice");
    assert_eq!(fixture.turn.pending().count(), 0);
    assert_eq!(fixture.turn.rounds(), 1, "to resume is no new round");
    assert_eq!(fixture.turn.calls(), 4, "and counts no call twice");
}

#[tokio::test]
async fn approving_one_of_several_calls_does_not_lose_the_others() {
    let mut fixture = Fixture::new();
    fixture.run(&[("1", "guarded"), ("2", "guarded")]).await;
    fixture.turn.decide("2", Decision::Approve).unwrap();
    let outcomes = fixture.resume().await;
    assert_eq!((ids(&outcomes), pending(&outcomes)), (vec!["2"], vec!["1"]));
    fixture.turn.decide("1", Decision::Approve).unwrap();
    let outcomes = fixture.resume().await;
    assert_eq!((ids(&outcomes), pending(&outcomes)), (vec!["1", "2"], vec![]));
    assert_eq!(fixture.guarded.count(), 2);
}

#[tokio::test]
async fn a_decision_is_only_for_a_call_that_waits() {
    let mut fixture = Fixture::new();
    assert!(fixture.turn.decide("1", Decision::Approve).is_err());
    fixture.run(&[("1", "plain"), ("2", "guarded")]).await;
    assert_eq!(
        fixture.turn.decide("1", Decision::Approve).unwrap_err().to_string(),
        "no call `1` waits for a decision"
    );
    fixture.turn.decide("2", Decision::Deny("no".into())).unwrap();
    assert!(fixture.turn.decide("2", Decision::Approve).is_err(), "a decision is made once");
    let outcomes = fixture.resume().await;
    assert_eq!(outcomes[1].error().unwrap().kind(), ErrorKind::Denied);
    assert_eq!(fixture.guarded.count(), 0);
}

#[tokio::test]
async fn an_approval_is_for_one_call_even_where_two_share_an_id() {
    let mut fixture = Fixture::new();
    fixture.run(&[("x", "guarded"), ("x", "guarded")]).await;
    fixture.turn.decide("x", Decision::Approve).unwrap();
    let outcomes = fixture.resume().await;
    assert_eq!((outcomes.len(), outcomes.pending().len(), fixture.guarded.count()), (1, 1, 1));
}

#[tokio::test]
async fn an_approval_does_not_count_for_the_same_id_in_a_later_round() {
    let mut fixture = Fixture::new();
    fixture.run(&[("x", "guarded")]).await;
    fixture.turn.decide("x", Decision::Approve).unwrap();
    fixture.resume().await;
    let outcomes = fixture.run(&[("x", "guarded")]).await;
    assert_eq!((pending(&outcomes), fixture.guarded.count()), (vec!["x"], 1));
}

#[tokio::test]
async fn a_batch_dropped_while_it_resumes_leaves_its_calls_waiting() {
    let mut fixture = Fixture::new();
    fixture.run(&[("1", "guarded")]).await;
    fixture.turn.decide("1", Decision::Approve).unwrap();
    drop(fixture.executor.resume(&fixture.tools, &mut fixture.turn, &ToolContext::new()));
    assert_eq!(fixture.turn.unfinished().count(), 1);
    assert_eq!(ids(&fixture.resume().await), ["1"], "and keeps the decision");
}

#[tokio::test]
async fn a_new_round_does_not_lose_the_calls_that_wait_from_the_one_before() {
    let mut fixture = Fixture::new();
    fixture.run(&[("1", "guarded")]).await;
    let outcomes = fixture.run(&[("2", "plain")]).await;
    assert_eq!((ids(&outcomes), pending(&outcomes)), (vec!["2"], vec![]));
    fixture.turn.decide("1", Decision::Approve).unwrap();
    assert_eq!(ids(&fixture.resume().await), ["1"]);
}
