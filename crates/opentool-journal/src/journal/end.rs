//! The outcome of a call, recorded before it is seen.

use std::sync::Arc;

use opentool_core::{CallEnd, CallKey};
use rusqlite::params;
use rusqlite::types::Null;
use sqlx::{Connection as _, SqliteConnection};

use crate::clock::unix_ms;
use crate::error::JournalError;
use crate::form;
use crate::inline::SHORT;
use crate::store::{Durability, LARGE, Store, StoredText, WriteError, store_text};

/// A call that has its outcome, with everything that its row needs.
pub(super) struct Ending {
    key: CallKey,
    attempt: u32,
    outcome: String,
}

impl Ending {
    pub(super) fn new(call: &CallEnd<'_>) -> Result<Self, serde_json::Error> {
        let outcome = form::write(call.result, call.return_direct)?;
        Ok(Self { key: call.key.clone(), attempt: call.attempt, outcome })
    }
}

/// The outcome of the attempt that runs here.
const OWN: &str = "
    UPDATE calls SET state = 'done', outcome = ?1, outcome_blob = ?2, ended = ?3
    WHERE run = ?4 AND place = ?5 AND attempt = ?6 AND owner = ?7 AND state = 'started'";

/// A late outcome, of an attempt that was given up for lost: it settles what is not decided yet.
const LATE: &str = "
    UPDATE calls SET state = 'done', outcome = ?1, outcome_blob = ?2, ended = ?3
    WHERE run = ?4 AND place = ?5 AND attempt = ?6 AND owner = ?7 AND state = 'uncertain' AND decision IS NULL";

pub(super) async fn end(store: &Arc<Store>, call: Ending) -> Result<(), JournalError> {
    store
        .write(Durability::Normal, |connection, store| {
            Box::pin(async move {
                if settle_inline(store, &call) {
                    return Ok(());
                }
                if call.outcome.len() <= LARGE {
                    let stored = StoredText { text: Some(call.outcome.clone()), hash: None };
                    return settle(connection, store, &call, &stored).await;
                }
                let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
                let stored = store_text(&mut transaction, call.outcome.clone()).await?;
                settle(&mut transaction, store, &call, &stored).await?;
                Ok(transaction.commit().await?)
            })
        })
        .await
}

/// Records a short outcome of the attempt that runs here, on this thread. Where it is false, [`settle`] says why, or does it.
fn settle_inline(store: &Store, call: &Ending) -> bool {
    let key = &call.key;
    let values = params![call.outcome, Null, unix_ms(), &*key.run, &*key.place, call.attempt, store.owner.id];
    call.outcome.len() <= SHORT && store.inline.changes_row(OWN, values)
}

async fn settle(
    connection: &mut SqliteConnection,
    store: &Store,
    call: &Ending,
    stored: &StoredText,
) -> Result<(), WriteError> {
    for statement in [OWN, LATE] {
        let updated = sqlx::query(statement)
            .bind(&stored.text)
            .bind(&stored.hash)
            .bind(unix_ms())
            .bind(&*call.key.run)
            .bind(&*call.key.place)
            .bind(call.attempt)
            .bind(&store.owner.id)
            .execute(&mut *connection)
            .await?;
        if updated.rows_affected() > 0 {
            return Ok(());
        }
    }
    Err(JournalError::Lost { run: call.key.run.to_string() }.into())
}

/// Gives a call that will have no outcome back, so that no process takes it for one that runs.
pub(super) async fn give_back(store: &Arc<Store>, (run, place): (Arc<str>, Arc<str>), attempt: u32) {
    let given = store.write(Durability::Normal, move |connection, store| {
        Box::pin(async move {
            sqlx::query(
                "UPDATE calls SET owner = NULL
                 WHERE run = ? AND place = ? AND attempt = ? AND owner = ? AND state = 'started'",
            )
            .bind(&*run)
            .bind(&*place)
            .bind(attempt)
            .bind(&store.owner.id)
            .execute(connection)
            .await?;
            Ok(())
        })
    });
    if let Err(error) = given.await {
        tracing::debug!(target: "opentool::journal", %error, "a call cannot be given back");
    }
}
