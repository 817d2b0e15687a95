//! The journal in a file: [`SqliteJournal`].

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use opentool_core::{Begun, BoxFuture, CallEnd, CallKey, CallStart, Decision, Journal, ToolError, UncertainDecision};
use sqlx::SqliteConnection;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::begin::{self, Beginning};
use super::decide;
use super::end::{self, Ending};
use crate::error::JournalError;
use crate::file::{self, FileLimits};
use crate::lease::Owner;
use crate::retention::{self, Retention};
use crate::store::{Durability, Store, WriteError};
#[cfg(feature = "testing")]
use crate::testing::{CommitHook, CommitPoint};

/// How often a call that another process runs is looked at again.
const POLL: Duration = Duration::from_millis(50);

/// How often what was kept long enough is deleted.
const CLEANING: Duration = Duration::from_secs(60 * 60);

/// What can be set about a journal.
///
/// ```
/// use std::time::Duration;
/// use opentool_journal::JournalOptions;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("journal.sqlite");
/// let journal = JournalOptions::new().lease(Duration::from_secs(5)).run_retention(None).open(&path).await?;
/// # journal.close().await;
/// # Ok::<(), opentool_journal::JournalError>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
#[must_use = "a journal is opened by `open`"]
pub struct JournalOptions {
    lease: Duration,
    max_wait: Duration,
    key_retention: Duration,
    run_retention: Option<Duration>,
    run_unrecorded: bool,
    #[cfg(feature = "testing")]
    hook: Option<CommitHook>,
    #[cfg(feature = "testing")]
    limits: FileLimits,
}

impl Default for JournalOptions {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            lease: Duration::from_secs(15),
            max_wait: Duration::from_secs(30),
            key_retention: DAY,
            run_retention: Some(30 * DAY),
            run_unrecorded: false,
            #[cfg(feature = "testing")]
            hook: None,
            #[cfg(feature = "testing")]
            limits: FileLimits::default(),
        }
    }
}

impl JournalOptions {
    /// Starts with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long what belongs to a process that ended is not taken over: 15 seconds.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_millis(30));
        self
    }

    /// Sets how long to wait while another program holds the file: 30 seconds.
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    /// Sets how long the outcomes of calls with a caller's key are kept: 24 hours.
    pub fn key_retention(mut self, retention: Duration) -> Self {
        self.key_retention = retention;
        self
    }

    /// Sets how long runs are kept once they are over: 30 days; `None` is for ever. A run with an uncertain call is not over.
    pub fn run_retention(mut self, retention: impl Into<Option<Duration>>) -> Self {
        self.run_retention = retention.into();
        self
    }

    /// Sets whether a call runs whose start cannot be recorded, for instance because the disk is full: false.
    ///
    /// After a crash nothing is then known of it, and a repeated call runs again. Each is logged as a warning.
    pub fn run_unrecorded(mut self, run: bool) -> Self {
        self.run_unrecorded = run;
        self
    }

    /// Sets what is called before and after every commit.
    #[cfg(feature = "testing")]
    pub fn commit_hook(mut self, hook: impl Fn(CommitPoint) + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// Sets how many pages the file may have, so that it is full as on a full disk.
    #[cfg(feature = "testing")]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.limits.max_pages = Some(pages);
        self
    }

    /// Opens the file only to read, as where its rights allow no more.
    #[cfg(feature = "testing")]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.limits.read_only = read_only;
        self
    }

    pub(crate) fn retention(&self) -> Retention {
        Retention { keyed: self.key_retention, runs: self.run_retention }
    }

    #[cfg(feature = "testing")]
    fn limits(&self) -> FileLimits {
        self.limits
    }

    #[cfg(not(feature = "testing"))]
    fn limits(&self) -> FileLimits {
        FileLimits::default()
    }

    /// Opens a file, which is made where there is none.
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened or written, is no journal, is damaged, or is of a newer version of this program.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteJournal, JournalError> {
        let path = path.as_ref();
        let connections = file::open(path, self.max_wait, self.limits()).await?;
        let store = Arc::new(Store::new(path, Owner::new(self.lease), connections));
        store
            .write(Durability::Normal, |connection, store| {
                Box::pin(async move {
                    store.owner.forget_ended(connection).await?;
                    Ok(store.owner.renew(connection).await?)
                })
            })
            .await?;
        let inner = Arc::new(Inner {
            store,
            options: self,
            running: Mutex::default(),
            unrecorded: Mutex::default(),
            owned: Mutex::default(),
            active: Mutex::default(),
        });
        tokio::spawn(maintain(Arc::downgrade(&inner)));
        Ok(SqliteJournal(inner))
    }
}

impl fmt::Debug for JournalOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalOptions")
            .field("lease", &self.lease)
            .field("key_retention", &self.key_retention)
            .field("run_retention", &self.run_retention)
            .field("run_unrecorded", &self.run_unrecorded)
            .finish_non_exhaustive()
    }
}

/// A journal in an SQLite file, which any number of tasks and processes may use. A clone is the same journal.
///
/// While it is open there are two more files beside it (`-wal`, `-shm`), which belong to it; once it is [closed](Self::close) the
/// file alone holds everything.
#[derive(Clone)]
pub struct SqliteJournal(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<Store>,
    pub(crate) options: JournalOptions,
    /// The calls that this process runs, and who waits for them.
    running: Mutex<HashMap<CallPlace, Arc<Notify>>>,
    /// Calls that run although their start is not recorded.
    unrecorded: Mutex<HashSet<CallPlace>>,
    /// The runs of this process, with the generation of their ownership.
    pub(crate) owned: Mutex<HashMap<Arc<str>, i64>>,
    /// The runs that a part of this process works on.
    pub(crate) active: Mutex<HashSet<Arc<str>>>,
}

type CallPlace = (Arc<str>, Arc<str>);

impl SqliteJournal {
    /// Opens a file, which is made where there is none, with the default [options](JournalOptions).
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened or written, is no journal, is damaged, or is of a newer version of this program.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        JournalOptions::new().open(path).await
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.store.path
    }

    /// Returns how many rows were written on the threads of their callers.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn inline_writes(&self) -> u64 {
        self.0.store.inline.count()
    }

    /// Ends the lease of this process and closes the file, so that it alone holds everything. Using the journal afterwards is an error.
    pub async fn close(&self) {
        self.0.store.close().await;
    }
}

impl Inner {
    fn running(&self) -> MutexGuard<'_, HashMap<CallPlace, Arc<Notify>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unrecorded(&self) -> MutexGuard<'_, HashSet<CallPlace>> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the generation of the ownership of a run, if this process has it.
    fn generation(&self, run: &str) -> Option<i64> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner).get(run).copied()
    }

    /// Takes a call out of those that run, and wakes those that wait for it.
    fn leave(&self, place: &CallPlace) {
        let waiting = self.running().remove(place);
        if let Some(waiting) = waiting {
            waiting.notify_waiters();
        }
    }

    #[cfg(feature = "testing")]
    pub(crate) fn reach(&self, point: CommitPoint) {
        if let Some(hook) = &self.options.hook {
            hook(point);
        }
    }

    /// Decides about a call of which it is not known whether it had its effect.
    pub(crate) async fn decide_call(
        &self,
        run: &str,
        place: &str,
        decision: UncertainDecision,
    ) -> Result<(), JournalError> {
        let (run, place) = (run.to_owned(), place.to_owned());
        self.write_decision(move |connection, store| {
            Box::pin(async move { decide::decide_call(connection, store, &run, &place, decision).await })
        })
        .await
    }

    /// Decides about a call that waits for approval.
    pub(crate) async fn decide_approval(&self, run: &str, place: &str, decision: Decision) -> Result<(), JournalError> {
        let (run, place) = (run.to_owned(), place.to_owned());
        self.write_decision(move |connection, store| {
            Box::pin(async move { decide::decide_approval(connection, store, &run, &place, decision).await })
        })
        .await
    }

    /// Writes a decision, which is on the disk when this is done.
    async fn write_decision<W>(&self, write: W) -> Result<(), JournalError>
    where
        W: for<'c> FnOnce(&'c mut SqliteConnection, &'c Store) -> BoxFuture<'c, Result<(), WriteError>>
            + Send
            + 'static,
    {
        #[cfg(feature = "testing")]
        self.reach(CommitPoint::BeforeDecision);
        self.store.write(Durability::Full, write).await?;
        #[cfg(feature = "testing")]
        self.reach(CommitPoint::AfterDecision);
        Ok(())
    }

    async fn begin(self: &Arc<Self>, call: CallStart<'_>) -> Result<Begun, ToolError> {
        let place = (call.key.run.clone(), call.key.place.clone());
        {
            let mut running = self.running();
            if running.contains_key(&place) {
                return Ok(Begun::InFlight);
            }
            running.insert(place.clone(), Arc::default());
        }
        // Taken back unless the call runs, also where the caller does not wait for the record.
        let mut entered = Entered { journal: self, place: Some(&place) };
        let generation = self.generation(&call.key.run);
        let beginning = Beginning::new(&call, generation);
        #[cfg(feature = "testing")]
        self.reach(CommitPoint::BeforeStart);
        let begun = begin::begin(&self.store, beginning).await;
        #[cfg(feature = "testing")]
        self.reach(CommitPoint::AfterStart);
        let begun = match begun {
            Err(error) if self.options.run_unrecorded && is_fault_of_file(&error) => {
                tracing::warn!(target: "opentool::journal", tool = &*call.key.tool, %error, "a call runs unrecorded");
                self.unrecorded().insert(place.clone());
                Ok(Begun::Run { attempt: 1 })
            }
            Err(JournalError::KeyReused) => return Err(ToolError::key_reused()),
            begun => begun,
        };
        if matches!(begun, Ok(Begun::Run { .. })) {
            entered.place = None;
        }
        Ok(begun?)
    }

    async fn end(self: &Arc<Self>, call: CallEnd<'_>) -> Result<(), ToolError> {
        let place = (call.key.run.clone(), call.key.place.clone());
        let _entered = Entered { journal: self, place: Some(&place) };
        if self.unrecorded().remove(&place) {
            return Ok(());
        }
        let ending = Ending::new(&call).map_err(JournalError::from)?;
        #[cfg(feature = "testing")]
        self.reach(CommitPoint::BeforeOutcome);
        match end::end(&self.store, ending).await {
            Err(error) if self.options.run_unrecorded && is_fault_of_file(&error) => {
                tracing::warn!(target: "opentool::journal", tool = &*call.key.tool, %error, "an outcome is not recorded");
            }
            ended => ended?,
        }
        #[cfg(feature = "testing")]
        self.reach(CommitPoint::AfterOutcome);
        Ok(())
    }
}

/// Says whether the file is at fault, and not the call.
fn is_fault_of_file(error: &JournalError) -> bool {
    !matches!(
        error,
        JournalError::KeyReused
            | JournalError::Lost { .. }
            | JournalError::Owned { .. }
            | JournalError::UnknownRun { .. }
    )
}

/// A call among those that run, until this is dropped.
struct Entered<'a> {
    journal: &'a Inner,
    place: Option<&'a CallPlace>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.journal.leave(place);
        }
    }
}

impl Journal for SqliteJournal {
    fn begin<'a>(&'a self, call: CallStart<'a>) -> BoxFuture<'a, Result<Begun, ToolError>> {
        Box::pin(self.0.begin(call))
    }

    fn end<'a>(&'a self, call: CallEnd<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(self.0.end(call))
    }

    fn abandon(&self, key: &CallKey, attempt: u32) {
        let place = (key.run.clone(), key.place.clone());
        self.0.leave(&place);
        if self.0.unrecorded().remove(&place) {
            return;
        }
        // Other processes then need not wait for the end of this one. Without it, they do.
        if let Ok(runtime) = Handle::try_current() {
            let store = self.0.store.clone();
            runtime.spawn(async move { end::give_back(&store, place, attempt).await });
        }
    }

    fn changed<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, ()> {
        let place = (key.run.clone(), key.place.clone());
        // Made while the calls are locked, so that no end comes in between.
        let here = self.0.running().get(&place).map(|waiting| waiting.clone().notified_owned());
        Box::pin(async move {
            match here {
                Some(waiting) => waiting.await,
                None => tokio::time::sleep(POLL).await,
            }
        })
    }

    fn decide<'a>(&'a self, key: &'a CallKey, decision: UncertainDecision) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { Ok(self.0.decide_call(&key.run, &key.place, decision).await?) })
    }
}

/// Renews the lease, and deletes what was kept long enough, as long as the journal is used.
async fn maintain(journal: Weak<Inner>) {
    let mut cleaned: Option<Instant> = None;
    loop {
        let Some(inner) = journal.upgrade() else { return };
        let pause = inner.store.owner.renewal();
        let renewing = inner.store.write(Durability::Normal, |connection, store| {
            Box::pin(async move { Ok(store.owner.renew(connection).await?) })
        });
        match renewing.await {
            Ok(()) => {}
            Err(JournalError::ShuttingDown) => return,
            Err(error) => {
                tracing::warn!(target: "opentool::journal", %error, "the lease of the journal cannot be renewed");
            }
        }
        if cleaned.is_none_or(|cleaned| cleaned.elapsed() > CLEANING) {
            cleaned = Some(Instant::now());
            if let Err(error) = retention::forget_old(&inner.store, inner.options.retention()).await {
                tracing::warn!(target: "opentool::journal", %error, "old runs cannot be deleted");
            }
        }
        drop(inner);
        tokio::time::sleep(pause).await;
    }
}

impl fmt::Debug for SqliteJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteJournal").field("path", &self.path()).finish_non_exhaustive()
    }
}
