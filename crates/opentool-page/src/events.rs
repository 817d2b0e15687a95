//! Server-sent events about what changed.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use opentool_core::ToolChanges;
use opentool_server::{FrontendRequest, FrontendResponse};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::error::ApiError;
use crate::lines::unbuffered;
use crate::sessions::Session;
use crate::state::PageState;

/// How often a stream on which nothing happens shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// How often the journal is asked whether something changed, while a page looks.
#[cfg(feature = "journal")]
const JOURNAL_INTERVAL: Duration = Duration::from_secs(2);

/// Opens a stream, which ends with the session, the page or the server.
pub(crate) fn open(
    state: &Arc<PageState>,
    session: &Arc<Session>,
    request: &FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    let permit = state.listeners.clone().try_acquire_owned();
    let permit = permit.map_err(|_| ApiError::busy("as many pages listen as may: close one"))?;
    let (response, sender) = FrontendResponse::stream(HeaderValue::from_static("text/event-stream"));
    let mut changes = request.host().source().changes();
    let (state, over, stopping) = (state.clone(), session.over.clone(), request.stopping());
    tokio::spawn(async move {
        let _permit = permit;
        let mut alive = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut journal = JournalWatch::new(&state).await;
        let mut event = "retry: 2000\n\n";
        while sender.send(event).await.is_ok() {
            event = tokio::select! {
                biased;
                () = over.cancelled() => return,
                () = sender.closed() => return,
                () = stopping.cancelled() => return,
                changed = next_change(changes.as_mut()) => {
                    if !changed {
                        // The source is gone, and so are its changes.
                        changes = None;
                    }
                    "event: tools\ndata: {}\n\n"
                }
                () = journal.changed() => "event: runs\ndata: {}\n\n",
                _ = alive.tick() => ": alive\n\n",
            };
        }
    });
    Ok(unbuffered(response))
}

async fn next_change(changes: Option<&mut ToolChanges>) -> bool {
    match changes {
        Some(changes) => changes.changed().await,
        None => std::future::pending().await,
    }
}

/// Notices that something changed in the journal, if there is one. Other processes write to it too, so it is asked.
#[cfg(feature = "journal")]
struct JournalWatch<'a> {
    journal: Option<&'a opentool_journal::SqliteJournal>,
    seen: Vec<opentool_journal::RunSummary>,
}

#[cfg(feature = "journal")]
impl<'a> JournalWatch<'a> {
    /// How many of the newest runs are looked at.
    const RUNS: usize = 100;

    async fn new(state: &'a PageState) -> Self {
        let mut watch = Self { journal: state.journal.as_ref(), seen: Vec::new() };
        if let Some(journal) = watch.journal {
            watch.seen = journal.runs(Self::RUNS).await.unwrap_or_default();
        }
        watch
    }

    async fn changed(&mut self) {
        let Some(journal) = self.journal else { return std::future::pending().await };
        loop {
            tokio::time::sleep(JOURNAL_INTERVAL).await;
            // A journal that cannot be read now is read the next time.
            let Ok(runs) = journal.runs(Self::RUNS).await else { continue };
            if runs != self.seen {
                self.seen = runs;
                return;
            }
        }
    }
}

#[cfg(not(feature = "journal"))]
struct JournalWatch;

#[cfg(not(feature = "journal"))]
impl JournalWatch {
    async fn new(_: &PageState) -> Self {
        Self
    }

    async fn changed(&mut self) {
        std::future::pending().await
    }
}
