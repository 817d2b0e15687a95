//! Decisions about calls: what a person says of one that is uncertain, or that waits for approval.

use opentool_core::{
    ApprovalDecision, CallEffect, Decision, RunStep, ToolError, UncertainDecision, WaitingCall, WaitsFor,
};
use serde::Deserialize;
use sqlx::{Connection as _, SqliteConnection};

use crate::clock::unix_ms;
use crate::error::JournalError;
use crate::form;
use crate::row::CallStatus;
use crate::store::{Store, WriteError, store_text};

/// Decides about a call of which it is not known whether it had its effect.
pub(super) async fn decide_call(
    connection: &mut SqliteConnection,
    store: &Store,
    run: &str,
    place: &str,
    decision: UncertainDecision,
) -> Result<(), WriteError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let call: Option<(String, String, Option<String>)> =
        sqlx::query_as("SELECT state, effect, owner FROM calls WHERE run = ? AND place = ?")
            .bind(run)
            .bind(place)
            .fetch_optional(&mut *transaction)
            .await?;
    let Some((state, effect, owner)) = call else {
        return Err(JournalError::UnknownCall { run: run.to_owned(), place: place.to_owned() }.into());
    };
    let is_uncertain = match state.as_str() {
        "uncertain" => true,
        // Its process may have ended, and no other one has looked at it since.
        "started" if effect == CallEffect::Other.as_str() => match owner {
            None => true,
            Some(owner) => store.owner.live_process(&mut transaction, &owner).await?.is_none(),
        },
        _ => false,
    };
    if !is_uncertain {
        let state = CallStatus::parse(&state).as_str();
        return Err(JournalError::NotUncertain { run: run.to_owned(), place: place.to_owned(), state }.into());
    }
    let (state, word, outcome) = match decision {
        UncertainDecision::Happened(output) => ("done", "happened", Some(form::write(&Ok(output), false)?)),
        UncertainDecision::GiveUp(reason) => {
            ("done", "gave_up", Some(form::write(&Err(ToolError::given_up(&reason)), false)?))
        }
        _ => ("uncertain", "run_again", None),
    };
    let (text, hash) = match outcome {
        None => (None, None),
        Some(outcome) => {
            let stored = store_text(&mut transaction, outcome).await?;
            (stored.text, stored.hash)
        }
    };
    sqlx::query(
        "UPDATE calls SET state = ?1, decision = ?2, outcome = ?3, outcome_blob = ?4,
                          ended = CASE ?1 WHEN 'done' THEN ?5 END
         WHERE run = ?6 AND place = ?7",
    )
    .bind(state)
    .bind(word)
    .bind(text)
    .bind(hash)
    .bind(unix_ms())
    .bind(run)
    .bind(place)
    .execute(&mut *transaction)
    .await?;
    Ok(transaction.commit().await?)
}

/// What a step says that calls wait for.
#[derive(Deserialize)]
struct WaitingCalls {
    calls: Vec<WaitingCall>,
}

/// Decides about a call that waits for approval.
pub(super) async fn decide_approval(
    connection: &mut SqliteConnection,
    store: &Store,
    run: &str,
    place: &str,
    decision: Decision,
) -> Result<(), WriteError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let owner: Option<Option<String>> =
        sqlx::query_scalar("SELECT owner FROM runs WHERE id = ?").bind(run).fetch_optional(&mut *transaction).await?;
    let Some(owner) = owner else { return Err(JournalError::UnknownRun { run: run.to_owned() }.into()) };
    if let Some(owner) = owner
        && let Some(pid) = store.owner.live_process(&mut transaction, &owner).await?
    {
        return Err(JournalError::Owned { run: run.to_owned(), pid }.into());
    }
    let steps: Vec<(String, Option<String>)> = sqlx::query_as(
        "SELECT kind, coalesce(body, (SELECT body FROM blobs WHERE hash = body_blob))
         FROM steps WHERE run = ? AND kind IN (?, ?) ORDER BY number",
    )
    .bind(run)
    .bind(RunStep::SUSPENDED)
    .bind(RunStep::DECISION)
    .fetch_all(&mut *transaction)
    .await?;
    let mut waits_for = None;
    for (kind, body) in &steps {
        let body = body.as_deref().unwrap_or("null");
        if kind == RunStep::SUSPENDED {
            let waiting: WaitingCalls = serde_json::from_str(body)?;
            let found = waiting.calls.iter().find(|call| call.place == place).map(|call| call.waits_for);
            waits_for = found.or(waits_for);
        } else if serde_json::from_str::<ApprovalDecision>(body)?.place == place {
            waits_for = None;
        }
    }
    // One that began was approved.
    let began: Option<i64> = sqlx::query_scalar("SELECT 1 FROM calls WHERE run = ? AND place = ?")
        .bind(run)
        .bind(place)
        .fetch_optional(&mut *transaction)
        .await?;
    if waits_for != Some(WaitsFor::Approval) || began.is_some() {
        return Err(JournalError::NotWaiting { run: run.to_owned(), place: place.to_owned() }.into());
    }
    let body = serde_json::to_string(&ApprovalDecision::new(place, decision))?;
    let stored = store_text(&mut transaction, body).await?;
    sqlx::query(
        "INSERT INTO steps (run, number, kind, at, body, body_blob)
         SELECT ?1, (SELECT coalesce(max(number), 0) + 1 FROM steps WHERE run = ?1), ?2, ?3, ?4, ?5",
    )
    .bind(run)
    .bind(RunStep::DECISION)
    .bind(unix_ms())
    .bind(stored.text)
    .bind(stored.hash)
    .execute(&mut *transaction)
    .await?;
    Ok(transaction.commit().await?)
}
