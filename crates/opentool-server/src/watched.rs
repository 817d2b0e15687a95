//! Files that are read again when they change.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

/// How often somebody who needs the content looks whether it changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What files hold, read again when they change.
///
/// Whoever asks for the content looks at the files, at most once a second, so that it needs no task. Content that
/// cannot be used is reported and the old one stays, except that reading may decide to give something else.
pub(crate) struct Watched<T> {
    paths: Vec<PathBuf>,
    read: Box<Read<T>>,
    current: RwLock<Arc<T>>,
    stamps: Mutex<Vec<Option<Stamp>>>,
    since: Instant,
    /// When to look next, in milliseconds from `since`.
    next_look: AtomicU64,
}

type Read<T> = dyn Fn(&[PathBuf]) -> Result<T, FileError> + Send + Sync;

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

/// By what a change is noticed.
#[derive(PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    inode: u64,
}

impl<T> Watched<T> {
    pub(crate) fn new(
        paths: Vec<PathBuf>,
        read: impl Fn(&[PathBuf]) -> Result<T, FileError> + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        // Taken before reading: a change in between is noticed at the next look.
        let stamps = paths.iter().map(stamp).collect();
        let current = RwLock::new(Arc::new(read(&paths)?));
        Ok(Self {
            paths,
            read: Box::new(read),
            current,
            stamps: Mutex::new(stamps),
            since: Instant::now(),
            next_look: AtomicU64::new(LOOK_EVERY.as_millis() as u64),
        })
    }

    /// Returns the content of now.
    pub(crate) fn get(&self) -> Arc<T> {
        let now = self.since.elapsed().as_millis() as u64;
        let due = self.next_look.load(Relaxed);
        if now >= due
            && self.next_look.compare_exchange(due, now + LOOK_EVERY.as_millis() as u64, Relaxed, Relaxed).is_ok()
        {
            self.look();
        }
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[cold]
    fn look(&self) {
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
                tracing::warn!(target: "opentool::server", %error, "file changed and cannot be used; what it said before still holds");
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
