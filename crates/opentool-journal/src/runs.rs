//! The runs of a journal: list them, look into them, decide about their calls, fork and delete them.

use opentool_core::{CallEffect, Decision, UncertainDecision};
use serde_json::value::RawValue;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, Row as _, SqliteConnection};

use crate::clock::unix_ms;
use crate::error::JournalError;
use crate::export::RunExport;
use crate::form;
use crate::id::new_id;
use crate::journal::SqliteJournal;
use crate::retention::{self, forget_blobs};
use crate::row::{CallRecord, CallStatus, RunRecord, RunSummary, StepRecord, run_status};
use crate::store::{Durability, WriteError};

/// The columns of a list, as one JSON array: rows that are sent one by one cost more than they hold (`scripts/bench journal`).
const LIST: &str = "
    SELECT json_group_array(json_array(
        id, kind, state, title, caller, created, updated, parent, forked_at,
        (SELECT count(*) FROM calls WHERE run = r.id),
        (SELECT count(*) FROM calls WHERE run = r.id AND state = 'uncertain' AND state <> 'done'),
        (SELECT count(*) FROM calls WHERE run = r.id AND state = 'started' AND state <> 'done'),
        (SELECT pid FROM owners WHERE id = r.owner AND boot = ?2 AND lease_until > ?3)))
    FROM (SELECT * FROM runs WHERE (?4 IS NULL OR id = ?4) ORDER BY created DESC, id DESC LIMIT ?1) AS r";

type ListRow =
    (String, String, String, String, Option<String>, i64, i64, Option<String>, Option<i64>, u64, u64, u64, Option<i64>);

impl SqliteJournal {
    /// Lists the newest runs, at most so many.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read.
    pub async fn runs(&self, limit: usize) -> Result<Vec<RunSummary>, JournalError> {
        self.list(limit, None).await
    }

    async fn list(&self, limit: usize, run: Option<&str>) -> Result<Vec<RunSummary>, JournalError> {
        let store = &self.0.store;
        let listed: String = sqlx::query_scalar(LIST)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .bind(store.owner.boot())
            .bind(store.owner.now())
            .bind(run)
            .fetch_one(store.readers())
            .await
            .map_err(|error| store.sqlite(&error))?;
        let rows: Vec<ListRow> = serde_json::from_str(&listed)?;
        Ok(rows.into_iter().map(summary).collect())
    }

    /// Returns a run with its steps and calls.
    ///
    /// # Errors
    ///
    /// Where there is no such run, or it cannot be read.
    pub async fn run(&self, run: &str) -> Result<RunRecord, JournalError> {
        let summary = self.list(1, Some(run)).await?.pop();
        let summary = summary.ok_or_else(|| JournalError::UnknownRun { run: run.to_owned() })?;
        let store = &self.0.store;
        let failed = |error: sqlx::Error| store.sqlite(&error);
        let steps = sqlx::query(
            "SELECT number, kind, at, coalesce(body, (SELECT body FROM blobs WHERE hash = body_blob)) AS body
             FROM steps WHERE run = ? ORDER BY number",
        )
        .bind(run)
        .fetch_all(store.readers())
        .await
        .map_err(failed)?;
        let calls = sqlx::query(
            "SELECT place, call_id, tool, effect, state, attempt, arguments_hash,
                    coalesce(arguments, (SELECT body FROM blobs WHERE hash = arguments_blob)) AS arguments,
                    begun, ended, coalesce(outcome, (SELECT body FROM blobs WHERE hash = outcome_blob)) AS outcome, decision
             FROM calls WHERE run = ? ORDER BY rowid",
        )
        .bind(run)
        .fetch_all(store.readers())
        .await
        .map_err(failed)?;
        Ok(RunRecord {
            summary,
            steps: steps.iter().map(step).collect::<sqlx::Result<_>>().map_err(failed)?,
            calls: calls.iter().map(call).collect::<sqlx::Result<_>>().map_err(failed)?,
        })
    }

    /// Exports a run.
    ///
    /// # Errors
    ///
    /// Where there is no such run, or it cannot be read.
    pub async fn export(&self, run: &str) -> Result<RunExport, JournalError> {
        Ok(RunExport { record: self.run(run).await? })
    }

    /// Decides about a call of which it is not known whether it had its effect. The decision is on the disk when this is done.
    ///
    /// # Errors
    ///
    /// Where there is no such call, or it is not uncertain.
    pub async fn decide_call(&self, run: &str, place: &str, decision: UncertainDecision) -> Result<(), JournalError> {
        self.0.decide_call(run, place, decision).await
    }

    /// Decides about a call that waits for approval; its run acts on that when it is resumed. The decision is on the disk when this is
    /// done.
    ///
    /// # Errors
    ///
    /// Where there is no such run, it belongs to a process that is alive, or no such call of it waits for approval.
    pub async fn decide_approval(&self, run: &str, place: &str, decision: Decision) -> Result<(), JournalError> {
        self.0.decide_approval(run, place, decision).await
    }

    /// Makes a new run of the first steps of another one, and returns its id. Its calls have new keys: those of later steps run again.
    ///
    /// # Errors
    ///
    /// Where there is no such run or step.
    pub async fn fork(&self, run: &str, step: i64) -> Result<String, JournalError> {
        let id = new_id('r');
        let (fork, run) = (id.clone(), run.to_owned());
        self.0
            .store
            .write(Durability::Normal, move |connection, _| {
                Box::pin(async move { fork_at(connection, &run, step, &fork).await })
            })
            .await?;
        Ok(id)
    }

    /// Deletes a run with everything in it.
    ///
    /// # Errors
    ///
    /// Where there is no such run, or a process that is alive has it.
    pub async fn delete(&self, run: &str) -> Result<(), JournalError> {
        let run = run.to_owned();
        self.0
            .store
            .write(Durability::Normal, move |connection, store| {
                Box::pin(async move {
                    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
                    let owner: Option<(Option<String>, String)> =
                        sqlx::query_as("SELECT owner, state FROM runs WHERE id = ?")
                            .bind(&run)
                            .fetch_optional(&mut *transaction)
                            .await?;
                    let Some((owner, _)) = owner else { return Err(JournalError::UnknownRun { run }.into()) };
                    let open: i64 = sqlx::query_scalar(
                        "SELECT count(*) FROM calls WHERE run = ? AND state = 'started' AND owner IS NOT NULL",
                    )
                    .bind(&run)
                    .fetch_one(&mut *transaction)
                    .await?;
                    let is_finished_call = run.starts_with("key-") && open == 0;
                    if let Some(owner) = owner.filter(|_| !is_finished_call)
                        && let Some(pid) = store.owner.live_process(&mut transaction, &owner).await?
                    {
                        return Err(JournalError::Owned { run, pid }.into());
                    }
                    sqlx::query("DELETE FROM runs WHERE id = ?").bind(&run).execute(&mut *transaction).await?;
                    forget_blobs(&mut transaction).await?;
                    Ok(transaction.commit().await?)
                })
            })
            .await
    }

    /// Deletes what was kept long enough, as it is done every hour while a journal is open; returns how many runs.
    ///
    /// # Errors
    ///
    /// Where the file cannot be written.
    pub async fn forget_old_runs(&self) -> Result<u64, JournalError> {
        retention::forget_old(&self.0.store, self.0.options.retention()).await
    }
}

fn summary(row: ListRow) -> RunSummary {
    let (id, kind, state, title, caller, created_ms, updated_ms, parent, forked_at, calls, uncertain, started, process) =
        row;
    let state = run_status(&state);
    RunSummary {
        id,
        kind,
        state,
        title,
        caller,
        created_ms,
        updated_ms,
        parent,
        forked_at,
        calls,
        uncertain,
        started,
        process,
    }
}

fn step(row: &SqliteRow) -> sqlx::Result<StepRecord> {
    Ok(StepRecord {
        number: row.try_get("number")?,
        kind: row.try_get("kind")?,
        at_ms: row.try_get("at")?,
        body: json(row, "body")?,
    })
}

fn call(row: &SqliteRow) -> sqlx::Result<CallRecord> {
    let outcome: Option<String> = row.try_get("outcome")?;
    Ok(CallRecord {
        place: row.try_get("place")?,
        call_id: row.try_get("call_id")?,
        tool: row.try_get("tool")?,
        effect: effect(row.try_get("effect")?),
        state: CallStatus::parse(row.try_get("state")?),
        attempt: row.try_get("attempt")?,
        arguments_hash: row.try_get("arguments_hash")?,
        arguments: json(row, "arguments")?,
        begun_ms: row.try_get("begun")?,
        ended_ms: row.try_get("ended")?,
        outcome: outcome.as_deref().map(form::read).transpose().map_err(unreadable)?,
        decision: row.try_get("decision")?,
    })
}

fn json(row: &SqliteRow, column: &str) -> sqlx::Result<Box<RawValue>> {
    let text: Option<String> = row.try_get(column)?;
    RawValue::from_string(text.unwrap_or_else(|| "null".to_owned())).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Decode(error.into())
}

pub(crate) fn effect(word: &str) -> CallEffect {
    [CallEffect::ReadOnly, CallEffect::Idempotent, CallEffect::Composite]
        .into_iter()
        .find(|effect| effect.as_str() == word)
        .unwrap_or(CallEffect::Other)
}

async fn fork_at(connection: &mut SqliteConnection, run: &str, step: i64, fork: &str) -> Result<(), WriteError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let made = sqlx::query(
        "INSERT INTO runs (id, kind, state, title, caller, created, updated, generation, parent, forked_at)
         SELECT ?1, kind, 'waiting', title, caller, ?2, ?2, 0, id, ?3 FROM runs WHERE id = ?4",
    )
    .bind(fork)
    .bind(unix_ms())
    .bind(step)
    .bind(run)
    .execute(&mut *transaction)
    .await?;
    if made.rows_affected() == 0 {
        return Err(JournalError::UnknownRun { run: run.to_owned() }.into());
    }
    let copied = sqlx::query(
        "INSERT INTO steps (run, number, kind, at, body, body_blob)
         SELECT ?1, number, kind, at, body, body_blob FROM steps WHERE run = ?2 AND number <= ?3",
    )
    .bind(fork)
    .bind(run)
    .bind(step)
    .execute(&mut *transaction)
    .await?;
    if step < 0 || copied.rows_affected() != step as u64 {
        return Err(JournalError::UnknownStep { run: run.to_owned(), step }.into());
    }
    Ok(transaction.commit().await?)
}
