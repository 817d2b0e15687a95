//! A file that cannot be used is a clear error, and nothing runs without its record.

use std::fs;

use opentool_core::ErrorKind;
use opentool_core::testing::FakeTool;
use opentool_journal::{JournalError, JournalOptions, SqliteJournal};

use super::{SHORT, execute, folder, host, keyed, open, pay};

#[tokio::test]
async fn a_file_that_is_no_journal_is_refused_and_stays_as_it_is() {
    let (_folder, path) = folder();
    let text = "this is a letter and no database, ".repeat(100);
    fs::write(&path, &text).unwrap();
    let error = SqliteJournal::open(&path).await.unwrap_err().to_string();
    assert_eq!(error, format!("{} is no SQLite database: give another file, or move it away", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    fs::write(&path, "").unwrap();
    execute(&path, "CREATE TABLE accounts (name TEXT)").await;
    let error = SqliteJournal::open(&path).await.unwrap_err().to_string();
    assert!(error.contains("is a database of another program"), "{error}");

    let error = SqliteJournal::open(path.parent().unwrap().join("no/such/folder")).await.unwrap_err().to_string();
    assert!(error.contains("cannot be opened: "), "{error}");
}

#[tokio::test]
async fn a_journal_of_a_newer_version_is_refused() {
    let (_folder, path) = folder();
    open(&path).await.close().await;
    execute(&path, "PRAGMA user_version = 7").await;
    let error = SqliteJournal::open(&path).await.unwrap_err().to_string();
    assert!(error.contains("has version 7 and this program knows versions up to 1: use a newer program"), "{error}");
}

#[tokio::test]
async fn a_damaged_journal_is_a_clear_error_and_runs_nothing() {
    let (_folder, path) = folder();
    let journal = open(&path).await;
    let answers = host([FakeTool::new("pay").answers("paid")]);
    for key in 0..200 {
        pay(&answers, &keyed(&journal, &key.to_string())).await;
    }
    journal.close().await;
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let error = match SqliteJournal::open(&path).await {
        Err(error) => error,
        Ok(journal) => {
            let tool = FakeTool::new("pay").answers("paid");
            let log = tool.log();
            let outcome = pay(&host([tool]), &keyed(&journal, "new")).await;
            assert_eq!((outcome.error().unwrap().kind(), log.count()), (ErrorKind::Unavailable, 0));
            journal.runs(10).await.unwrap_err()
        }
    };
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("is damaged (database disk image is malformed): restore it"), "{error}");
}

#[tokio::test]
async fn without_space_nothing_runs_unless_the_operator_said_so() {
    for run_unrecorded in [false, true] {
        // A full file system is more than a test may make: a limit of pages stands for it, with the same code of SQLite.
        let (_folder, path) = folder();
        let options = JournalOptions::new().lease(SHORT).run_unrecorded(run_unrecorded);
        let journal = options.max_pages(60).open(&path).await.unwrap();
        let tool = FakeTool::new("pay").answers("x".repeat(3000));
        let log = tool.log();
        let host = host([tool]);
        let mut errors = Vec::new();
        for key in 0..150 {
            errors.extend(pay(&host, &keyed(&journal, &key.to_string())).await.error().cloned());
        }
        if run_unrecorded {
            assert_eq!((errors.len(), log.count()), (0, 150));
            continue;
        }
        let not_run = errors.iter().filter(|error| error.kind() == ErrorKind::Unavailable).count();
        assert!(not_run > 0 && log.count() == 150 - not_run, "{not_run} {}", log.count());
        for error in &errors {
            assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Uncertain), "{error:?}");
        }
        let refused = errors.iter().find(|error| error.kind() == ErrorKind::Unavailable).unwrap();
        assert_eq!(refused.message(), "the call cannot be recorded, so it does not run");
        assert!(refused.detail().unwrap().contains("is full: free some space"), "{:?}", refused.detail());
        assert!(journal.runs(1000).await.unwrap().len() > 10, "what is there can be read");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, path) = folder();
    let journal = open(&path).await;
    journal.start_run("chat", "hello").await.unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() > 1, "the write-ahead log is there too");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

#[tokio::test]
async fn a_journal_that_can_only_be_read_is_a_clear_error() {
    let (_folder, path) = folder();
    // The tests may run as root, for whom every file can be written.
    let error = JournalOptions::new().lease(SHORT).read_only(true).open(&path).await.unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("can only be read: allow writing to the file and its folder"), "{error}");
}

#[tokio::test]
async fn a_new_file_can_be_opened_by_many_at_once() {
    let (_folder, path) = folder();
    let opening = (0..8).map(|n| {
        let path = path.clone();
        tokio::spawn(async move { open(&path).await.start_run("chat", &n.to_string()).await.unwrap() })
    });
    for opened in opening.collect::<Vec<_>>() {
        opened.await.unwrap();
    }
    assert_eq!(open(&path).await.runs(100).await.unwrap().len(), 8);
}
