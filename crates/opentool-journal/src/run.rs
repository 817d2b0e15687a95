//! A run that belongs to this process: [`Run`].

use std::sync::{Arc, PoisonError};

use opentool_core::{RunStatus, RunStep, ToolContext};
use serde::Serialize;
use sqlx::{Connection as _, SqliteConnection};
use tokio::runtime::Handle;

use crate::clock::unix_ms;
use crate::error::JournalError;
use crate::id::new_id;
use crate::journal::SqliteJournal;
use crate::store::{Durability, Store, WriteError, store_text};
#[cfg(feature = "testing")]
use crate::testing::CommitPoint;

/// A run that belongs to this process, until it is [finished](Self::finish) or another process takes it over.
///
/// Dropping it changes nothing: the run then belongs to this process as long as its journal is open, and can be
/// [claimed](SqliteJournal::claim) again.
#[derive(Clone, Debug)]
pub struct Run {
    journal: SqliteJournal,
    id: Arc<str>,
    generation: i64,
}

impl SqliteJournal {
    /// Starts a run of a kind, with a title for lists.
    ///
    /// # Errors
    ///
    /// Where it cannot be recorded.
    pub async fn start_run(&self, kind: &str, title: &str) -> Result<Run, JournalError> {
        let id: Arc<str> = new_id('r').into();
        let (kind, title, run) = (kind.to_owned(), title.to_owned(), id.clone());
        #[cfg(feature = "testing")]
        self.0.reach(CommitPoint::BeforeClaim);
        self.0
            .store
            .write(Durability::Normal, move |connection, store| {
                Box::pin(async move {
                    sqlx::query(
                        "INSERT INTO runs (id, kind, state, title, created, updated, owner, generation)
                         VALUES (?1, ?2, 'running', ?3, ?4, ?4, ?5, 1)",
                    )
                    .bind(&*run)
                    .bind(kind)
                    .bind(title)
                    .bind(unix_ms())
                    .bind(&store.owner.id)
                    .execute(connection)
                    .await?;
                    Ok(())
                })
            })
            .await?;
        #[cfg(feature = "testing")]
        self.0.reach(CommitPoint::AfterClaim);
        Ok(self.owned(id, 1))
    }

    /// Takes a run over, whose process has ended or has finished with it.
    ///
    /// # Errors
    ///
    /// Where there is no such run, or a process that is alive has it.
    pub async fn claim(&self, run: &str) -> Result<Run, JournalError> {
        self.claim_as(run, false).await
    }

    /// Claims a run; `even_own` claims it also from another part of this process, whose writes then count no more.
    pub(crate) async fn claim_as(&self, run: &str, even_own: bool) -> Result<Run, JournalError> {
        let id: Arc<str> = run.into();
        let claimed = id.clone();
        #[cfg(feature = "testing")]
        self.0.reach(CommitPoint::BeforeClaim);
        let generation = self
            .0
            .store
            .write(Durability::Normal, move |connection, store| {
                Box::pin(async move { claim(connection, store, &claimed, even_own).await })
            })
            .await?;
        #[cfg(feature = "testing")]
        self.0.reach(CommitPoint::AfterClaim);
        Ok(self.owned(id, generation))
    }

    fn owned(&self, id: Arc<str>, generation: i64) -> Run {
        self.0.owned.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), generation);
        Run { journal: self.clone(), id, generation }
    }
}

async fn claim(connection: &mut SqliteConnection, store: &Store, run: &str, even_own: bool) -> Result<i64, WriteError> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let known: Option<(Option<String>, i64)> = sqlx::query_as("SELECT owner, generation FROM runs WHERE id = ?")
        .bind(run)
        .fetch_optional(&mut *transaction)
        .await?;
    let Some((owner, generation)) = known else { return Err(JournalError::UnknownRun { run: run.to_owned() }.into()) };
    let is_own = owner.as_deref() == Some(&store.owner.id);
    if is_own && !even_own {
        return Ok(generation);
    }
    if let Some(owner) = owner.filter(|_| !is_own)
        && let Some(pid) = store.owner.live_process(&mut transaction, &owner).await?
    {
        return Err(JournalError::Owned { run: run.to_owned(), pid }.into());
    }
    sqlx::query("UPDATE runs SET owner = ?, generation = generation + 1, state = 'running', updated = ? WHERE id = ?")
        .bind(&store.owner.id)
        .bind(unix_ms())
        .bind(run)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(generation + 1)
}

/// Adds a step to a run that belongs to this process, and returns its number.
async fn insert_step(
    transaction: &mut SqliteConnection,
    store: &Store,
    run: &str,
    generation: i64,
    step: RunStep,
) -> Result<i64, WriteError> {
    let stored = store_text(transaction, step.body).await?;
    let number: Option<i64> = sqlx::query_scalar(
        "INSERT INTO steps (run, number, kind, at, body, body_blob)
         SELECT ?1, (SELECT coalesce(max(number), 0) + 1 FROM steps WHERE run = ?1), ?2, ?3, ?4, ?5
         WHERE EXISTS (SELECT 1 FROM runs WHERE id = ?1 AND owner = ?6 AND generation = ?7)
         RETURNING number",
    )
    .bind(run)
    .bind(step.kind)
    .bind(unix_ms())
    .bind(stored.text)
    .bind(stored.hash)
    .bind(&store.owner.id)
    .bind(generation)
    .fetch_optional(transaction)
    .await?;
    number.ok_or_else(|| JournalError::Lost { run: run.to_owned() }.into())
}

impl Run {
    /// Returns the id of the run.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the journal.
    #[must_use]
    pub fn journal(&self) -> &SqliteJournal {
        &self.journal
    }

    /// Returns a context whose calls belong to this run.
    #[must_use]
    pub fn context(&self, context: &ToolContext) -> ToolContext {
        context.clone().with_run(Arc::new(self.journal.clone()), self.id.clone())
    }

    /// Notes a step, and returns its number.
    ///
    /// # Errors
    ///
    /// Where the run does not belong to this process any more, or the step cannot be recorded.
    pub async fn add_step<T: Serialize + ?Sized + Sync>(&self, kind: &str, body: &T) -> Result<i64, JournalError> {
        self.add_text(kind, serde_json::to_string(body)?).await
    }

    pub(crate) async fn add_text(&self, kind: &str, body: String) -> Result<i64, JournalError> {
        let step = RunStep::new(kind, body);
        let (run, generation) = (self.id.clone(), self.generation);
        #[cfg(feature = "testing")]
        self.journal.0.reach(CommitPoint::BeforeStep);
        let number = self
            .journal
            .0
            .store
            .write(Durability::Normal, move |connection, store| {
                Box::pin(async move {
                    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
                    let number = insert_step(&mut transaction, store, &run, generation, step).await?;
                    transaction.commit().await?;
                    Ok(number)
                })
            })
            .await?;
        #[cfg(feature = "testing")]
        self.journal.0.reach(CommitPoint::AfterStep);
        Ok(number)
    }

    /// Says how far the run is, and gives it back: another process may then claim it.
    ///
    /// # Errors
    ///
    /// Where the run does not belong to this process any more.
    pub async fn finish(&self, state: RunStatus) -> Result<(), JournalError> {
        self.finish_with(state, None).await
    }

    /// Notes the last step, where there is one, and says how far the run is: both are recorded, or neither.
    pub(crate) async fn finish_with(&self, state: RunStatus, last: Option<RunStep>) -> Result<(), JournalError> {
        let (run, generation) = (self.id.clone(), self.generation);
        #[cfg(feature = "testing")]
        let has_step = last.is_some();
        #[cfg(feature = "testing")]
        if has_step {
            self.journal.0.reach(CommitPoint::BeforeStep);
        }
        self.journal
            .0
            .store
            .write(Durability::Normal, move |connection, store| {
                Box::pin(async move {
                    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
                    if let Some(step) = last {
                        insert_step(&mut transaction, store, &run, generation, step).await?;
                    }
                    let updated = sqlx::query(
                        "UPDATE runs SET state = ?, updated = ?, owner = NULL
                         WHERE id = ? AND owner = ? AND generation = ?",
                    )
                    .bind(state.as_str())
                    .bind(unix_ms())
                    .bind(&*run)
                    .bind(&store.owner.id)
                    .bind(generation)
                    .execute(&mut *transaction)
                    .await?;
                    if updated.rows_affected() == 0 {
                        return Err(JournalError::Lost { run: run.to_string() }.into());
                    }
                    Ok(transaction.commit().await?)
                })
            })
            .await?;
        #[cfg(feature = "testing")]
        if has_step {
            self.journal.0.reach(CommitPoint::AfterStep);
        }
        self.disown();
        Ok(())
    }

    fn disown(&self) {
        let mut owned = self.journal.0.owned.lock().unwrap_or_else(PoisonError::into_inner);
        if owned.get(&self.id) == Some(&self.generation) {
            owned.remove(&self.id);
        }
    }

    /// Gives the run back as it is, without waiting for that.
    pub(crate) fn give_back(&self) {
        self.disown();
        // Without a runtime other processes wait for the end of this one.
        if let Ok(runtime) = Handle::try_current() {
            let (store, run, generation) = (self.journal.0.store.clone(), self.id.clone(), self.generation);
            runtime.spawn(async move {
                let given = store.write(Durability::Normal, move |connection, store| {
                    Box::pin(async move {
                        sqlx::query("UPDATE runs SET owner = NULL WHERE id = ? AND owner = ? AND generation = ?")
                            .bind(&*run)
                            .bind(&store.owner.id)
                            .bind(generation)
                            .execute(connection)
                            .await?;
                        Ok(())
                    })
                });
                if let Err(error) = given.await {
                    tracing::debug!(target: "opentool::journal", %error, "a run cannot be given back");
                }
            });
        }
    }
}
