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
/// [`get`](Self::get) checks the files, at most once a second, so no background task is needed. What changed is read once it
/// has stayed the same for a check, since a file may be half-written. Content that cannot be used is logged and tried again
/// at every check, and the old content stays.
pub(crate) struct WatchedFiles<T> {
    paths: Vec<PathBuf>,
    read: Box<ReadFiles<T>>,
    /// The content where a file is gone; none where the old content stays.
    if_missing: Option<fn() -> T>,
    current: RwLock<Arc<T>>,
    watch: Mutex<Watch>,
    since: Instant,
    /// When to check next, in milliseconds from `since`.
    next_check: AtomicU64,
}

/// What is known about the files.
struct Watch {
    /// How they were when the current content was read.
    read: Vec<FileState>,
    /// How they were at the last check.
    seen: Vec<FileState>,
    /// The problem that was logged last, so that it is not logged at every check.
    logged: Option<String>,
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
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "no such file or directory".to_owned(),
            _ => error.to_string(),
        };
        Self::new(path, format!("cannot be read: {reason}"))
    }
}

/// How often reading is tried where files change while they are read.
const ATTEMPTS: usize = 10;

/// What is seen of a file without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileState {
    Present(Stamp),
    Missing,
    /// It may be there; reading it says what is wrong.
    Unknown,
}

/// What shows that a file changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    inode: u64,
    /// When the system saw the last change, which no program can set: seconds and nanoseconds.
    #[cfg(unix)]
    changed: (i64, i64),
}

impl<T> WatchedFiles<T> {
    pub(crate) fn new(
        paths: Vec<PathBuf>,
        read: impl Fn(&[PathBuf]) -> Result<T, FileError> + Send + Sync + 'static,
    ) -> Result<Self, FileError> {
        let (content, states) = read_unchanged(&paths, &read)?;
        Ok(Self {
            paths,
            read: Box::new(read),
            if_missing: None,
            current: RwLock::new(Arc::new(content)),
            watch: Mutex::new(Watch { read: states.clone(), seen: states, logged: None }),
            since: Instant::now(),
            next_check: AtomicU64::new(CHECK_INTERVAL.as_millis() as u64),
        })
    }

    /// Sets the content for when a file is gone.
    pub(crate) fn if_missing(mut self, content: fn() -> T) -> Self {
        self.if_missing = Some(content);
        self
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

    /// Reads the files now, whether or not they seem to have changed; where they cannot be used, the old content stays, and
    /// where one is gone, what it permitted.
    pub(crate) fn reload(&self) -> Result<(), FileError> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let found = states(&self.paths);
        if let (Some(content), true) = (self.if_missing, found.contains(&FileState::Missing)) {
            self.set(content());
            *watch = Watch { read: found.clone(), seen: found, logged: None };
            return Ok(());
        }
        let (content, states) = read_unchanged(&self.paths, &*self.read)?;
        self.use_read(&mut watch, content, states);
        Ok(())
    }

    /// Takes what was read. Only now are the states remembered: what cannot be read is tried again.
    fn use_read(&self, watch: &mut Watch, content: T, states: Vec<FileState>) {
        *watch = Watch { read: states.clone(), seen: states, logged: None };
        self.set(content);
        tracing::info!(target: "opentool::server", file = %self.paths[0].display(), "file read again");
    }

    #[cold]
    fn check(&self) {
        let found = states(&self.paths);
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.read == found {
            return;
        }
        if let (Some(content), true) = (self.if_missing, found.contains(&FileState::Missing)) {
            self.set(content());
            *watch = Watch { read: found.clone(), seen: found, logged: None };
            tracing::warn!(target: "opentool::server", file = %self.paths[0].display(), "the file is gone, and so is what it permitted");
            return;
        }
        if watch.seen != found {
            // It may be half-written: wait until it stays as it is.
            watch.seen = found;
            return;
        }
        match read_unchanged(&self.paths, &*self.read) {
            Ok((content, states)) if states == found => self.use_read(&mut watch, content, states),
            // It has changed since it was looked at.
            Ok((_, states)) => watch.seen = states,
            Err(error) => {
                let problem = error.to_string();
                if watch.logged.as_ref() != Some(&problem) {
                    tracing::warn!(target: "opentool::server", error = problem, "the file changed and cannot be used; its earlier content stays in use, and it is tried again");
                    watch.logged = Some(problem);
                }
            }
        }
    }

    fn set(&self, content: T) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
    }
}

/// Reads files that stay as they are meanwhile, and returns how they are.
fn read_unchanged<T>(paths: &[PathBuf], read: &ReadFiles<T>) -> Result<(T, Vec<FileState>), FileError> {
    for _ in 0..ATTEMPTS {
        let before = states(paths);
        let content = read(paths);
        if states(paths) == before {
            return content.map(|content| (content, before));
        }
    }
    Err(FileError::new(paths.first().cloned().unwrap_or_default(), "it changes while it is read"))
}

fn states(paths: &[PathBuf]) -> Vec<FileState> {
    paths.iter().map(state).collect()
}

fn state(path: &PathBuf) -> FileState {
    #[cfg(unix)]
    use std::os::unix::fs::MetadataExt as _;

    match fs::metadata(path) {
        Ok(metadata) => FileState::Present(Stamp {
            modified: metadata.modified().ok(),
            length: metadata.len(),
            #[cfg(unix)]
            inode: metadata.ino(),
            #[cfg(unix)]
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => FileState::Missing,
        Err(_) => FileState::Unknown,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A file of text, and how it is watched.
    fn watched(text: &str) -> (tempfile::TempDir, PathBuf, WatchedFiles<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, text).unwrap();
        let read = |paths: &[PathBuf]| match fs::read_to_string(&paths[0]) {
            Ok(text) if text.ends_with('\n') => Ok(text),
            Ok(_) => Err(FileError::new(&paths[0], "it has no last line")),
            Err(error) => Err(FileError::io(&paths[0], &error)),
        };
        let files = WatchedFiles::new(vec![path.clone()], read).unwrap();
        (folder, path, files)
    }

    fn checked(files: &WatchedFiles<String>) -> String {
        files.check();
        files.current.read().unwrap().to_string()
    }

    fn logged(files: &WatchedFiles<String>) -> Option<String> {
        files.watch.lock().unwrap().logged.clone()
    }

    #[test]
    fn a_half_written_file_is_not_used() {
        let (_folder, path, files) = watched("one\n");
        fs::write(&path, "tw\n").unwrap();
        assert_eq!(checked(&files), "one\n", "it may be half-written");
        fs::write(&path, "two\n").unwrap();
        assert_eq!(checked(&files), "one\n", "it was");
        assert_eq!(checked(&files), "two\n");
    }

    #[test]
    fn readers_in_quick_succession_do_not_use_a_half_written_file() {
        let (_folder, path, files) = watched("one\n");
        fs::write(&path, "tw\n").unwrap();
        std::thread::sleep(CHECK_INTERVAL);
        let begun = Instant::now();
        let read: Vec<_> = (0..5).map(|_| files.get()).collect();
        // A busy machine may take longer than the interval, and then the file has stayed the same for a check.
        if begun.elapsed() < CHECK_INTERVAL {
            assert!(read.iter().all(|text| **text == "one\n"), "{read:?}");
        }
        std::thread::sleep(CHECK_INTERVAL);
        assert_eq!(*files.get(), "tw\n");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_reported_and_tried_again() {
        let (_folder, path, files) = watched("one\n");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        checked(&files);
        assert_eq!(checked(&files), "one\n");
        assert!(logged(&files).unwrap().starts_with(path.to_str().unwrap()), "{:?}", logged(&files));
        fs::remove_dir(&path).unwrap();
        fs::write(&path, "two").unwrap();
        checked(&files);
        assert_eq!(checked(&files), "one\n");
        assert!(logged(&files).unwrap().ends_with("it has no last line"));
        assert_eq!(checked(&files), "one\n", "it is tried again although it did not change");
        fs::write(&path, "three\n").unwrap();
        checked(&files);
        assert_eq!((checked(&files).as_str(), logged(&files)), ("three\n", None));
    }

    #[cfg(unix)]
    #[test]
    fn a_change_that_keeps_length_and_time_is_noticed() {
        let (_folder, path, files) = watched("one\n");
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        // The system's clock for files has steps of some milliseconds.
        let before = state(&path);
        while state(&path) == before {
            fs::write(&path, "two\n").unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        checked(&files);
        assert_eq!(checked(&files), "two\n");
    }

    #[test]
    fn a_file_that_is_gone_keeps_its_content_unless_that_is_set() {
        let (_folder, path, files) = watched("one\n");
        fs::remove_file(&path).unwrap();
        checked(&files);
        assert_eq!(checked(&files), "one\n");
        assert!(logged(&files).is_some());
        fs::write(&path, "one\n").unwrap();
        let files = files.if_missing(String::new);
        checked(&files);
        checked(&files);
        fs::remove_file(&path).unwrap();
        assert_eq!(checked(&files), "", "at once");
        fs::write(&path, "two\n").unwrap();
        checked(&files);
        assert_eq!(checked(&files), "two\n");
    }
}
