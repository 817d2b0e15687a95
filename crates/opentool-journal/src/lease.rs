//! Which process a run belongs to: [`Owner`], and the lease that says it is alive.

use std::time::Duration;

use sqlx::SqliteConnection;

use crate::clock::BootClock;
use crate::id::new_id;

/// This use of a journal by this process.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) id: String,
    clock: BootClock,
    lease: Duration,
}

impl Owner {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { id: new_id('o'), clock: BootClock::new(), lease }
    }

    /// How long to wait between two renewals.
    pub(crate) fn renewal(&self) -> Duration {
        self.lease / 3
    }

    /// Makes the lease last from now on.
    pub(crate) async fn renew(&self, connection: &mut SqliteConnection) -> sqlx::Result<()> {
        let until = self.clock.now().saturating_add(i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX));
        sqlx::query(
            "INSERT INTO owners (id, boot, lease_until, pid) VALUES (?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until",
        )
        .bind(&self.id)
        .bind(self.clock.boot())
        .bind(until)
        .bind(i64::from(std::process::id()))
        .execute(connection)
        .await
        .map(drop)
    }

    /// Ends the lease, so that others need not wait for its end.
    pub(crate) async fn resign(&self, connection: &mut SqliteConnection) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM owners WHERE id = ?").bind(&self.id).execute(connection).await.map(drop)
    }

    /// Forgets owners whose lease has ended.
    pub(crate) async fn forget_ended(&self, connection: &mut SqliteConnection) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM owners WHERE boot <> ? OR lease_until <= ?")
            .bind(self.clock.boot())
            .bind(self.clock.now())
            .execute(connection)
            .await
            .map(drop)
    }

    /// Returns the process of an owner, if its lease has not ended.
    pub(crate) async fn live_process(
        &self,
        connection: &mut SqliteConnection,
        owner: &str,
    ) -> sqlx::Result<Option<i64>> {
        sqlx::query_scalar("SELECT pid FROM owners WHERE id = ? AND boot = ? AND lease_until > ?")
            .bind(owner)
            .bind(self.clock.boot())
            .bind(self.clock.now())
            .fetch_optional(connection)
            .await
    }

    pub(crate) fn boot(&self) -> &str {
        self.clock.boot()
    }

    pub(crate) fn now(&self) -> i64 {
        self.clock.now()
    }
}
