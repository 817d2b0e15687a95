//! What was kept long enough, and is deleted.

use std::sync::Arc;
use std::time::Duration;

use sqlx::SqliteConnection;

use crate::clock::unix_ms;
use crate::error::JournalError;
use crate::store::{Durability, Store};

/// How many runs are deleted in one transaction, so that others need not wait long.
const DELETED_AT_ONCE: i64 = 1000;

/// How long what is over is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    pub(crate) keyed: Duration,
    /// For ever where there is none.
    pub(crate) runs: Option<Duration>,
}

/// Deletes runs that were kept long enough, a few at a time.
pub(crate) async fn forget_old(store: &Arc<Store>, retention: Retention) -> Result<u64, JournalError> {
    let before = |kept: Duration| unix_ms().saturating_sub(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX));
    let keyed = before(retention.keyed);
    let others = retention.runs.map(before);
    let mut deleted = 0;
    loop {
        let round = store
            .write(Durability::Normal, move |connection, _| {
                Box::pin(async move {
                    let deleted = sqlx::query(
                        "DELETE FROM runs WHERE id IN (
                             SELECT id FROM runs AS r
                             WHERE created < ?1 AND (kind = 'call' OR (state IN ('done', 'failed') AND updated < ?2))
                               AND NOT EXISTS (SELECT 1 FROM calls WHERE run = r.id AND state <> 'done')
                             LIMIT ?3)",
                    )
                    .bind(keyed)
                    .bind(others)
                    .bind(DELETED_AT_ONCE)
                    .execute(connection)
                    .await?;
                    Ok(deleted.rows_affected())
                })
            })
            .await?;
        deleted += round;
        if round == 0 {
            break;
        }
    }
    if deleted > 0 {
        store
            .write(Durability::Normal, |connection, _| Box::pin(async move { Ok(forget_blobs(connection).await?) }))
            .await?;
    }
    Ok(deleted)
}

/// Deletes large values that no row needs any more.
pub(crate) async fn forget_blobs(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let any: Option<i64> = sqlx::query_scalar("SELECT 1 FROM blobs LIMIT 1").fetch_optional(&mut *connection).await?;
    if any.is_none() {
        return Ok(());
    }
    sqlx::query(
        "DELETE FROM blobs WHERE hash NOT IN (
             SELECT arguments_blob FROM calls WHERE arguments_blob IS NOT NULL
             UNION ALL SELECT outcome_blob FROM calls WHERE outcome_blob IS NOT NULL
             UNION ALL SELECT body_blob FROM steps WHERE body_blob IS NOT NULL)",
    )
    .execute(connection)
    .await
    .map(drop)
}
