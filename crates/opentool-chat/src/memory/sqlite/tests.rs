#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{fs, io};

use opentool_core::ToolCall;
use proptest::prelude::*;
use tempfile::TempDir;
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::{AssistantMessage, ToolAnswer, ToolMessage, window};

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("memory.sqlite");
    (folder, path)
}

fn turn(question: &str) -> Vec<Message> {
    let call = ToolCall::new(format!("{question}-1"), "look", r#"{"at":"it"}"#);
    let answer = ToolAnswer::new(format!("{question}-1"), "look", "seen");
    vec![
        Message::user(question),
        AssistantMessage::new("").with_tool_calls(vec![call]).into(),
        ToolMessage::new(vec![answer]).into(),
        Message::assistant(format!("{question}, answered")),
    ]
}

/// What the log has.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

async fn execute(path: &Path, statement: &'static str) {
    let pool = SqlitePool::connect_with(sqlx::sqlite::SqliteConnectOptions::new().filename(path)).await.unwrap();
    sqlx::raw_sql(statement).execute(&pool).await.unwrap();
    pool.close().await;
}

#[tokio::test]
async fn a_conversation_is_there_after_the_memory_was_opened_again() {
    let (_folder, path) = folder();
    let memory = SqliteMemory::open(&path).await.unwrap();
    memory.add("ann", &turn("one")).await.unwrap();
    memory.add("ann", &[]).await.unwrap();
    memory.add("ann", &turn("two")).await.unwrap();
    memory.add("Ann", &[Message::user("another user")]).await.unwrap();
    memory.close().await;
    assert!(!path.with_extension("sqlite-wal").exists(), "a closed memory is one file");

    let memory = SqliteMemory::open(&path).await.unwrap();
    assert_eq!(memory.get("ann").await.unwrap(), [turn("one"), turn("two")].concat());
    assert_eq!(memory.get("Ann").await.unwrap(), [Message::user("another user")]);
    assert!(memory.get("bob").await.unwrap().is_empty());
    memory.clear("ann").await.unwrap();
    memory.clear("bob").await.unwrap();
    assert!(memory.get("ann").await.unwrap().is_empty());
    assert_eq!(memory.get("Ann").await.unwrap().len(), 1);
}

#[tokio::test]
async fn every_text_comes_back_as_it_was() {
    let (_folder, path) = folder();
    let memory = SqliteMemory::open(&path).await.unwrap();
    for text in ["", "'; DROP TABLE messages; --", "a\u{0}b", "漢字 👍\n\u{1b}[0m", &"long ".repeat(100_000)] {
        memory.add(text, &[Message::user(text)]).await.unwrap();
        assert_eq!(memory.get(text).await.unwrap(), [Message::user(text)]);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, path) = folder();
    let memory = SqliteMemory::open(&path).await.unwrap();
    memory.add("ann", &turn("one")).await.unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() > 1, "the write-ahead log is there too");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

#[tokio::test]
async fn concurrent_writers_mix_no_turns_and_lose_none() {
    let (_folder, path) = folder();
    // Two of them stand for two processes: each has connections of its own.
    let memories: Vec<_> = [SqliteMemory::open(&path).await, SqliteMemory::open(&path).await]
        .into_iter()
        .map(|memory| Arc::new(memory.unwrap().with_window(usize::MAX)))
        .collect();
    let writers = (0..8).map(|writer| {
        let memory = memories[writer % 2].clone();
        tokio::spawn(async move {
            for n in 0..10 {
                memory.add("shared", &turn(&format!("{writer}/{n}"))).await.unwrap();
                memory.get("shared").await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let all = memories[0].get("shared").await.unwrap();
    let turns: HashSet<String> = all.chunks(4).map(|chunk| chunk[0].text().to_owned()).collect();
    assert_eq!((all.len(), turns.len()), (320, 80));
    for chunk in all.chunks(4) {
        assert_eq!(chunk, turn(chunk[0].text()));
    }
}

#[tokio::test]
async fn a_dropped_add_leaves_nothing() {
    let (_folder, path) = folder();
    let memory = SqliteMemory::open(&path).await.unwrap().with_window(usize::MAX);
    let mut kept = 0;
    for n in 0..50_u64 {
        let messages: Vec<_> = (0..10).flat_map(|part| turn(&format!("{n}/{part}"))).collect();
        let add = memory.add("ann", &messages);
        if tokio::time::timeout(std::time::Duration::from_micros(n * 100), add).await.is_ok() {
            kept += 1;
        }
    }
    let all = memory.get("ann").await.unwrap();
    assert_eq!(all.len() % 40, 0, "only whole adds are there");
    // An add that was given up at its very end may be there all the same.
    assert!(all.len() / 40 >= kept, "{kept} were acknowledged");
}

#[tokio::test]
async fn a_turn_with_an_unreadable_row_is_left_out() {
    let (_folder, path) = folder();
    let memory = SqliteMemory::open(&path).await.unwrap().with_window(8);
    memory.add("ann", &[Message::system("Be brief."), Message::system("Be kind.")]).await.unwrap();
    for question in ["one", "two", "three", "four"] {
        memory.add("ann", &turn(question)).await.unwrap();
    }
    memory.close().await;
    execute(&path, "UPDATE messages SET body = '{\"role\":' WHERE position = 13").await;
    execute(&path, "UPDATE messages SET body = CAST(x'ff' AS TEXT) WHERE position = 1").await;

    let memory = SqliteMemory::open(&path).await.unwrap().with_window(9);
    let log = Log::default();
    let logs = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    let _logging = tracing::subscriber::set_default(logs);
    let expected = [vec![Message::system("Be kind.")], turn("two"), turn("four")].concat();
    assert_eq!(memory.get("ann").await.unwrap(), expected, "the second turn takes the place of the third");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for position in ["position=13", "position=1 "] {
        assert!(log.contains(position), "{position} is not in the log: {log}");
    }
    assert!(log.contains(r#"conversation="ann""#) && log.contains("WARN"), "{log}");
}

#[tokio::test]
async fn a_file_that_is_no_memory_is_refused_and_stays_as_it_is() {
    let (_folder, path) = folder();
    let text = "this is a letter and no database, ".repeat(100);
    fs::write(&path, &text).unwrap();
    let error = SqliteMemory::open(&path).await.unwrap_err().to_string();
    assert_eq!(error, format!("{} is no SQLite database: give another file, or move it away", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
    execute(&path, "CREATE TABLE accounts (name TEXT)").await;
    let before = fs::read(&path).unwrap();
    let error = SqliteMemory::open(&path).await.unwrap_err().to_string();
    assert!(error.contains("is a database of another program: give another file"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);

    let error = SqliteMemory::open(path.parent().unwrap().join("no/such/folder.sqlite")).await.unwrap_err().to_string();
    assert!(error.contains("folder.sqlite cannot be opened: "), "{error}");
    let error = SqliteMemory::open(path.parent().unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("cannot be opened: "), "{error}");
}

#[tokio::test]
async fn a_memory_of_a_newer_version_is_refused() {
    let (_folder, path) = folder();
    let memory = SqliteMemory::open(&path).await.unwrap();
    memory.add("ann", &turn("one")).await.unwrap();
    memory.close().await;
    execute(&path, "PRAGMA user_version = 7").await;
    let error = SqliteMemory::open(&path).await.unwrap_err().to_string();
    assert!(error.contains("has version 7 and this program knows versions up to 1: use a newer program"), "{error}");
    execute(&path, "PRAGMA user_version = 1").await;
    assert_eq!(SqliteMemory::open(&path).await.unwrap().get("ann").await.unwrap(), turn("one"));
}

#[tokio::test]
async fn a_new_file_can_be_opened_by_many_at_once() {
    // Several files, since two must meet at the moment when the write-ahead log is turned on.
    for _ in 0..5 {
        let (_folder, path) = folder();
        let opening = (0..8).map(|n| {
            let path = path.clone();
            tokio::spawn(async move {
                let memory = SqliteMemory::open(&path).await.unwrap();
                memory.add("all", &[Message::user(format!("{n}"))]).await.unwrap();
            })
        });
        for opened in opening.collect::<Vec<_>>() {
            opened.await.unwrap();
        }
        assert_eq!(SqliteMemory::open(&path).await.unwrap().get("all").await.unwrap().len(), 8);
    }
}

#[tokio::test]
async fn a_locked_file_can_be_read_but_writing_it_is_an_error() {
    let (_folder, path) = folder();
    // Long enough that a busy machine gets its connections in this time.
    let memory = SqliteMemory::open_within(&path, Duration::from_secs(1)).await.unwrap();
    memory.add("ann", &turn("before")).await.unwrap();
    let other = SqlitePool::connect_with(sqlx::sqlite::SqliteConnectOptions::new().filename(&path)).await.unwrap();
    let held = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let error = memory.add("ann", &turn("meanwhile")).await.unwrap_err().to_string();
    assert!(error.ends_with("memory.sqlite is held by another program: try again when it is done"), "{error}");
    assert_eq!(memory.get("ann").await.unwrap(), turn("before"), "readers do not mind");
    held.rollback().await.unwrap();
    memory.add("ann", &turn("after")).await.unwrap();
    assert_eq!(memory.get("ann").await.unwrap(), [turn("before"), turn("after")].concat());
}

/// A memory without a write-ahead log, as a copy or a restored backup may be, and a program that reads it.
async fn read_without_write_ahead_log(path: &Path) -> (SqlitePool, sqlx::Transaction<'static, sqlx::Sqlite>) {
    let memory = SqliteMemory::open(path).await.unwrap();
    memory.add("ann", &turn("before")).await.unwrap();
    memory.close().await;
    execute(path, "PRAGMA journal_mode = DELETE").await;
    let reader = SqlitePool::connect_with(sqlx::sqlite::SqliteConnectOptions::new().filename(path)).await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM messages").execute(&mut *reading).await.unwrap();
    (reader, reading)
}

#[tokio::test]
async fn a_file_that_another_program_reads_is_opened_once_that_is_done() {
    let (_folder, path) = folder();
    let (_reader, reading) = read_without_write_ahead_log(&path).await;
    let done = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        reading.rollback().await.unwrap();
    });
    let memory = SqliteMemory::open(&path).await.unwrap();
    done.await.unwrap();
    assert_eq!(memory.get("ann").await.unwrap(), turn("before"));
    memory.add("ann", &turn("after")).await.unwrap();
    assert!(path.with_extension("sqlite-wal").exists(), "readers and a writer do not block each other again");
}

#[tokio::test]
async fn a_file_that_another_program_goes_on_reading_is_an_error_in_time() {
    let (_folder, path) = folder();
    let (_reader, reading) = read_without_write_ahead_log(&path).await;
    let opening = SqliteMemory::open_within(&path, Duration::from_millis(100));
    let opened = tokio::time::timeout(Duration::from_secs(20), opening).await.expect("the wait has an end");
    let error = opened.unwrap_err().to_string();
    assert!(error.ends_with("memory.sqlite is held by another program: try again when it is done"), "{error}");
    reading.rollback().await.unwrap();
}

#[tokio::test]
async fn a_closed_memory_says_so() {
    let (_folder, path) = folder();
    let memory = SqliteMemory::open(&path).await.unwrap();
    memory.close().await;
    let error = memory.get("ann").await.unwrap_err().to_string();
    assert!(error.contains("memory.sqlite cannot be used: "), "{error}");
}

/// Messages in any order, as a program may add them.
fn any_message() -> impl Strategy<Value = Message> {
    let call = |id: u8| ToolCall::new(format!("{id}"), "look", "{}");
    let answer = |id: u8| ToolAnswer::new(format!("{id}"), "look", "seen");
    prop_oneof![
        1 => "[ab]".prop_map(Message::system),
        4 => "[a-z]{1,3}".prop_map(Message::user),
        4 => "[a-z]{0,3}".prop_map(Message::assistant),
        3 => prop::collection::vec(0..3_u8, 1..3).prop_map(move |ids| {
            AssistantMessage::new("").with_tool_calls(ids.into_iter().map(call).collect()).into()
        }),
        3 => prop::collection::vec(0..3_u8, 1..3).prop_map(move |ids| {
            ToolMessage::new(ids.into_iter().map(answer).collect()).into()
        }),
    ]
}

#[test]
fn what_is_read_is_the_window_over_everything() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (_folder, path) = folder();
    let conversations = AtomicUsize::new(0);
    proptest!(ProptestConfig::with_cases(100), |(messages in prop::collection::vec(any_message(), 0..60), most in 0..25_usize)| {
        let id = conversations.fetch_add(1, Ordering::Relaxed).to_string();
        let read = runtime.block_on(async {
            let memory = SqliteMemory::open(&path).await.unwrap().with_window(most);
            memory.add(&id, &messages).await.unwrap();
            let read = memory.get(&id).await.unwrap();
            memory.close().await;
            read
        });
        prop_assert_eq!(read, window(messages, most));
    });
}
