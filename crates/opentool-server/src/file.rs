//! Files that are read again when they change.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// How often a reader of the content checks whether the files changed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The content of files, read again when they change.
///
/// [`get`](Self::get) checks the files, at most once a second, so no background task is needed. Content that cannot be
/// used is logged, and the old content stays.
pub(crate) struct WatchedFiles<T> {
    paths: Vec<PathBuf>,
    read: Box<ReadFiles<T>>,
    current: RwLock<Arc<T>>,
    stamps: Mutex<Vec<Option<Stamp>>>,
    since: Instant,
    /// When to check next, in milliseconds from `since`.
    next_check: AtomicU64,
}

type ReadFiles<T> = dyn Fn(&[PathBuf]) -> Result<T, FileError> + Send + Sync;

/// Why a file cannot be used. Its content, which may be secret, is never in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("{}: {problem}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: String,
}

impl FileError {
    pub(crate) fn new(path: impl Into<PathBuf>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        Self::new(path, error.to_string())
    }
}

/// What shows that a file changed.
#[derive(PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    inode: u64,
}

impl<T> WatchedFiles<T> {
    pub(crate) fn new(
        paths: Vec<PathBuf>,
        read: impl Fn(&[PathBuf]) -> Result<T, FileError> + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        // Taken before reading: a change in between is noticed at the next check.
        let stamps = paths.iter().map(stamp).collect();
        let current = RwLock::new(Arc::new(read(&paths)?));
        Ok(Self {
            paths,
            read: Box::new(read),
            current,
            stamps: Mutex::new(stamps),
            since: Instant::now(),
            next_check: AtomicU64::new(CHECK_INTERVAL.as_millis() as u64),
        })
    }

    /// Returns the current content.
    pub(crate) fn get(&self) -> Arc<T> {
        let now = self.since.elapsed().as_millis() as u64;
        let due = self.next_check.load(Relaxed);
        if now >= due
            && self.next_check.compare_exchange(due, now + CHECK_INTERVAL.as_millis() as u64, Relaxed, Relaxed).is_ok()
        {
            self.check();
        }
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the files now, whether or not they seem to have changed; where they cannot be used, the old content stays.
    pub(crate) fn reload(&self) -> Result<(), FileError> {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.paths.iter().map(stamp).collect();
        let content = (self.read)(&self.paths)?;
        *stamps = found;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
        tracing::info!(target: "opentool::server", file = %self.paths[0].display(), "file read again");
        Ok(())
    }

    #[cold]
    fn check(&self) {
        let found: Vec<_> = self.paths.iter().map(stamp).collect();
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if *stamps == found {
            return;
        }
        *stamps = found;
        match (self.read)(&self.paths) {
            Ok(content) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
                tracing::info!(target: "opentool::server", file = %self.paths[0].display(), "file read again");
            }
            Err(error) => {
                tracing::warn!(target: "opentool::server", %error, "the file changed and cannot be used; its earlier content stays in use");
            }
        }
    }
}

fn stamp(path: &PathBuf) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        modified: metadata.modified().ok(),
        length: metadata.len(),
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(&metadata),
    })
}
