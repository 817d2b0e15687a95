//! The start of a call: recorded, or answered by what is known of it.

use std::sync::Arc;

use opentool_core::{Begun, CallEffect, CallKey, CallStart};
use rusqlite::params;
use rusqlite::types::Null;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, FromRow, Row as _, SqliteConnection};

use crate::clock::unix_ms;
use crate::error::JournalError;
use crate::form;
use crate::inline::SHORT;
use crate::store::{Durability, LARGE, Store, WriteError, store_text};

/// A call that begins, with everything that its row needs.
pub(super) struct Beginning {
    key: CallKey,
    effect: CallEffect,
    call_id: String,
    arguments: String,
    caller: Option<String>,
    is_keyed: bool,
    /// The ownership of the run, for a call that belongs to one.
    generation: Option<i64>,
}

impl Beginning {
    pub(super) fn new(call: &CallStart<'_>, generation: Option<i64>) -> Self {
        Self {
            key: call.key.clone(),
            effect: call.effect,
            call_id: call.call_id.to_owned(),
            arguments: call.arguments.as_str().to_owned(),
            caller: call.caller.map(str::to_owned),
            is_keyed: call.is_keyed,
            generation,
        }
    }

    /// The start of what may not run twice must be on the disk before it runs.
    fn durability(&self) -> Durability {
        if self.effect.is_repeatable() { Durability::Normal } else { Durability::Full }
    }
}

pub(super) async fn begin(store: &Arc<Store>, call: Beginning) -> Result<Begun, JournalError> {
    if !call.is_keyed && call.generation.is_none() {
        return Err(JournalError::Lost { run: call.key.run.to_string() });
    }
    store
        .write(call.durability(), |connection, store| {
            Box::pin(async move {
                if insert_inline(store, &call) || insert(connection, store, &call).await? {
                    return Ok(Begun::Run { attempt: 1 });
                }
                continued(connection, store, &call).await
            })
        })
        .await
}

/// The columns of a call that begins, for a run of this process.
const INSERT_IN_RUN: &str = "
    INSERT INTO calls (run, place, call_id, tool, effect, arguments_hash, arguments, arguments_blob, state, attempt, owner, begun)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'started', 1, ?9, ?10
    WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND owner = ?9 AND generation = ?11)
    ON CONFLICT (run, place) DO NOTHING
    RETURNING attempt";

const INSERT_RUN: &str = "
    INSERT INTO runs (id, kind, state, title, caller, created, updated, owner, generation)
    VALUES (?1, 'call', 'running', ?4, ?11, ?10, ?10, ?9, 1)
    ON CONFLICT (id) DO NOTHING";

const INSERT_KEYED: &str = "
    INSERT INTO calls (run, place, call_id, tool, effect, arguments_hash, arguments, arguments_blob, state, attempt, owner, begun)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'started', 1, ?9, ?10)
    ON CONFLICT (run, place) DO NOTHING
    RETURNING attempt";

/// Both in one text: every statement that is sent by itself costs a change of threads (`scripts/bench journal`).
const INSERT_RUN_AND_CALL: &str = "
    BEGIN IMMEDIATE;
    INSERT INTO runs (id, kind, state, title, caller, created, updated, owner, generation)
    VALUES (?1, 'call', 'running', ?4, ?11, ?10, ?10, ?9, 1)
    ON CONFLICT (id) DO NOTHING;
    INSERT INTO calls (run, place, call_id, tool, effect, arguments_hash, arguments, arguments_blob, state, attempt, owner, begun)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'started', 1, ?9, ?10)
    ON CONFLICT (run, place) DO NOTHING
    RETURNING attempt;
    COMMIT";

/// Records the first start of a call on this thread. Where it is false, [`insert`] says why, or does it.
fn insert_inline(store: &Store, call: &Beginning) -> bool {
    // The start of a call with a key is two statements, and the sync of a start waits for the disk.
    let is_short = !call.is_keyed && call.durability() == Durability::Normal && call.arguments.len() <= SHORT;
    let (key, effect, owner) = (&call.key, call.effect.as_str(), &store.owner.id);
    is_short
        && store.inline.changes_row(
            INSERT_IN_RUN,
            params![
                &*key.run,
                &*key.place,
                call.call_id,
                &*key.tool,
                effect,
                &*key.arguments_hash,
                call.arguments,
                Null,
                owner,
                unix_ms(),
                call.generation,
            ],
        )
}

/// Records the first start of a call; false where there is a row already, or the run is not this process's any more.
async fn insert(connection: &mut SqliteConnection, store: &Store, call: &Beginning) -> Result<bool, WriteError> {
    if call.arguments.len() > LARGE {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let stored = store_text(&mut transaction, call.arguments.clone()).await?;
        if call.is_keyed {
            insert_with(&mut transaction, store, call, INSERT_RUN, None, None).await?;
        }
        let statement = if call.is_keyed { INSERT_KEYED } else { INSERT_IN_RUN };
        let inserted = insert_with(&mut transaction, store, call, statement, stored.text, stored.hash).await?;
        transaction.commit().await?;
        return Ok(inserted);
    }
    let statement = if call.is_keyed { INSERT_RUN_AND_CALL } else { INSERT_IN_RUN };
    Ok(insert_with(connection, store, call, statement, Some(call.arguments.clone()), None).await?)
}

async fn insert_with(
    connection: &mut SqliteConnection,
    store: &Store,
    call: &Beginning,
    statement: &'static str,
    arguments: Option<String>,
    blob: Option<Vec<u8>>,
) -> sqlx::Result<bool> {
    let query = sqlx::query(statement)
        .bind(&*call.key.run)
        .bind(&*call.key.place)
        .bind(&call.call_id)
        .bind(&*call.key.tool)
        .bind(call.effect.as_str())
        .bind(&*call.key.arguments_hash)
        .bind(arguments)
        .bind(blob)
        .bind(&store.owner.id)
        .bind(unix_ms());
    let query = if call.is_keyed { query.bind(&call.caller) } else { query.bind(call.generation) };
    Ok(!query.fetch_all(connection).await?.is_empty())
}

/// What is known of a call.
struct Known {
    tool: String,
    arguments_hash: String,
    effect: String,
    state: String,
    owner: Option<String>,
    decision: Option<String>,
    outcome: Option<String>,
}

impl<'r> FromRow<'r, SqliteRow> for Known {
    fn from_row(row: &'r SqliteRow) -> sqlx::Result<Self> {
        Ok(Self {
            tool: row.try_get("tool")?,
            arguments_hash: row.try_get("arguments_hash")?,
            effect: row.try_get("effect")?,
            state: row.try_get("state")?,
            owner: row.try_get("owner")?,
            decision: row.try_get("decision")?,
            outcome: row.try_get("outcome")?,
        })
    }
}

/// Decides about a call that has a row.
async fn continued(connection: &mut SqliteConnection, store: &Store, call: &Beginning) -> Result<Begun, WriteError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let key = &call.key;
    if !call.is_keyed {
        let owned: Option<i64> = sqlx::query_scalar("SELECT 1 FROM runs WHERE id = ? AND owner = ? AND generation = ?")
            .bind(&*key.run)
            .bind(&store.owner.id)
            .bind(call.generation)
            .fetch_optional(&mut *transaction)
            .await?;
        if owned.is_none() {
            return Err(JournalError::Lost { run: key.run.to_string() }.into());
        }
    }
    let known: Option<Known> = sqlx::query_as(
        "SELECT tool, arguments_hash, effect, state, owner, decision,
                coalesce(outcome, (SELECT body FROM blobs WHERE hash = outcome_blob)) AS outcome
         FROM calls WHERE run = ? AND place = ?",
    )
    .bind(&*key.run)
    .bind(&*key.place)
    .fetch_optional(&mut *transaction)
    .await?;
    // It was not recorded, and yet there is no row: it was deleted in between.
    let Some(known) = known else { return Err(JournalError::Lost { run: key.run.to_string() }.into()) };
    if !key.is_same_call(&known.tool, &known.arguments_hash) {
        return Err(JournalError::KeyReused.into());
    }
    let begun = match known.state.as_str() {
        "done" => Begun::Answer(form::read(known.outcome.as_deref().unwrap_or("{}"))?),
        "uncertain" if known.decision.as_deref() == Some("run_again") => {
            start_again(&mut transaction, store, call).await?
        }
        "uncertain" => Begun::Uncertain,
        _ if is_in_flight(&mut transaction, store, call, known.owner.as_deref()).await? => Begun::InFlight,
        // What was promised about the tool when it began counts, and what is promised now: both must allow it.
        _ if call.effect.is_repeatable() && known.effect != CallEffect::Other.as_str() => {
            start_again(&mut transaction, store, call).await?
        }
        _ => {
            let mark = "UPDATE calls SET state = 'uncertain' WHERE run = ? AND place = ?";
            sqlx::query(mark).bind(&*key.run).bind(&*key.place).execute(&mut *transaction).await?;
            Begun::Uncertain
        }
    };
    transaction.commit().await?;
    Ok(begun)
}

/// Says whether a call that began runs in another process. What this process runs, it knows without the file.
async fn is_in_flight(
    connection: &mut SqliteConnection,
    store: &Store,
    call: &Beginning,
    owner: Option<&str>,
) -> sqlx::Result<bool> {
    match owner {
        // A run has one owner, which is this process: no other one may run its calls.
        Some(owner) if call.is_keyed && owner != store.owner.id => {
            Ok(store.owner.live_process(connection, owner).await?.is_some())
        }
        _ => Ok(false),
    }
}

async fn start_again(connection: &mut SqliteConnection, store: &Store, call: &Beginning) -> sqlx::Result<Begun> {
    let attempt: u32 = sqlx::query_scalar(
        "UPDATE calls SET state = 'started', attempt = attempt + 1, owner = ?, begun = ?, decision = NULL
         WHERE run = ? AND place = ? RETURNING attempt",
    )
    .bind(&store.owner.id)
    .bind(unix_ms())
    .bind(&*call.key.run)
    .bind(&*call.key.place)
    .fetch_one(connection)
    .await?;
    Ok(Begun::Run { attempt })
}
