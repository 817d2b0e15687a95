//! Runs that can wait and go on: [`RunJournal`] on SQLite.

use std::sync::{Arc, Mutex, PoisonError};

use opentool_core::{
    Arguments, BoxFuture, Journal, OwnedRun, RunCall, RunError, RunJournal, RunLog, RunStatus, RunStep,
};

use crate::error::JournalError;
use crate::journal::SqliteJournal;
use crate::run::Run;

impl RunJournal for SqliteJournal {
    fn begin_run<'a>(&'a self, kind: &'a str, title: &'a str) -> BoxFuture<'a, Result<Arc<dyn OwnedRun>, RunError>> {
        Box::pin(async move {
            let run = self.start_run(kind, title).await?;
            let active = ActiveRun::enter(self, run.id())?;
            Ok(Arc::new(ActiveOwnedRun::new(run, active)) as Arc<dyn OwnedRun>)
        })
    }

    fn claim_run<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<Arc<dyn OwnedRun>, RunError>> {
        Box::pin(async move {
            // Entered first: a part of this process that has the run must not lose it to another one.
            let active = ActiveRun::enter(self, run)?;
            let run = self.claim_as(run, true).await?;
            Ok(Arc::new(ActiveOwnedRun::new(run, active)) as Arc<dyn OwnedRun>)
        })
    }

    fn run_log<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<RunLog, RunError>> {
        Box::pin(async move { Ok(log(self, run).await?) })
    }
}

async fn log(journal: &SqliteJournal, run: &str) -> Result<RunLog, JournalError> {
    let record = journal.run(run).await?;
    let steps = record.steps.into_iter().map(|step| RunStep::new(step.kind, step.body.get())).collect();
    let calls = record.calls.into_iter().map(|call| {
        let arguments = Arguments::from(call.arguments.get());
        RunCall::new(call.place, call.tool, arguments).with_outcome(call.outcome)
    });
    Ok(RunLog::new(steps, calls.collect()))
}

/// A run among those that a part of this process works on, until this is dropped.
struct ActiveRun {
    journal: SqliteJournal,
    id: Arc<str>,
}

impl ActiveRun {
    fn enter(journal: &SqliteJournal, run: &str) -> Result<Self, RunError> {
        let id: Arc<str> = run.into();
        let mut active = journal.0.active.lock().unwrap_or_else(PoisonError::into_inner);
        if !active.insert(id.clone()) {
            return Err(RunError::Owned { run: run.to_owned(), process: i64::from(std::process::id()) });
        }
        drop(active);
        Ok(Self { journal: journal.clone(), id })
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        self.journal.0.active.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// A run that a part of this process works on.
struct ActiveOwnedRun {
    run: Run,
    id: Arc<str>,
    /// None once it is given back. Contexts that tools keep may outlive that.
    active: Mutex<Option<ActiveRun>>,
}

impl ActiveOwnedRun {
    fn new(run: Run, active: ActiveRun) -> Self {
        Self { id: active.id.clone(), run, active: Mutex::new(Some(active)) }
    }

    fn leave(&self) -> Option<ActiveRun> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl OwnedRun for ActiveOwnedRun {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::new(self.run.journal().clone())
    }

    fn note<'a>(&'a self, kind: &'a str, body: String) -> BoxFuture<'a, Result<(), RunError>> {
        Box::pin(async move {
            self.run.add_text(kind, body).await?;
            Ok(())
        })
    }

    fn log(&self) -> BoxFuture<'_, Result<RunLog, RunError>> {
        Box::pin(async move { Ok(log(self.run.journal(), &self.id).await?) })
    }

    fn end(&self, status: RunStatus, last: Option<RunStep>) -> BoxFuture<'_, Result<(), RunError>> {
        Box::pin(async move {
            self.run.finish_with(status, last).await?;
            self.leave();
            Ok(())
        })
    }

    fn give_back(&self) {
        if self.leave().is_some() {
            self.run.give_back();
        }
    }
}

impl Drop for ActiveOwnedRun {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl From<JournalError> for RunError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::UnknownRun { run } => Self::Unknown { run },
            JournalError::Owned { run, pid } => Self::Owned { run, process: pid },
            JournalError::Lost { run } => Self::Lost { run },
            error => Self::Journal(Box::new(error)),
        }
    }
}
