//! A disk that is full: the shell lets a process write no file beyond a size, which is how a full disk looks to it.

use std::env;
use std::path::Path;
use std::process::Command;

use opentool_chat::{ChatMemory as _, Message, SqliteMemory};
use tempfile::TempDir;

/// The variable with the file that a child process of this test writes to.
const FILE: &str = "OPENTOOL_TEST_MEMORY_FULL";

fn turn(number: usize) -> [Message; 2] {
    [Message::user(format!("{number}")), Message::assistant("word ".repeat(800))]
}

/// What the child does: writes until it cannot, and says how far it came and why it stopped.
async fn fill(path: &Path) {
    let memory = SqliteMemory::open(path).await.unwrap();
    let mut number = 0;
    let error = loop {
        assert!(number < 10_000, "the disk is never full");
        match memory.add("ann", &turn(number)).await {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    println!("kept {number} turns: {error}");
    assert!(memory.add("ann", &turn(number)).await.is_err(), "it is still full");
    assert!(!memory.get("ann").await.unwrap().is_empty(), "what is there can be read");
}

#[test]
fn a_full_disk_is_an_error_and_loses_no_acknowledged_turn() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Ok(file) = env::var(FILE) {
        return runtime.block_on(fill(Path::new(&file)));
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("memory.sqlite");
    let limited = r#"ulimit -f 600 && trap '' XFSZ && exec "$0" "$@""#;
    let mut child = Command::new("sh");
    child.args(["-c", limited]).arg(env::current_exe().unwrap()).env(FILE, &path);
    child.args(["--exact", "full::a_full_disk_is_an_error_and_loses_no_acknowledged_turn", "--nocapture"]);
    let output = child.output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{seen}{}", String::from_utf8_lossy(&output.stderr));
    let line = seen.lines().find_map(|line| Some(line.split_once("kept ")?.1)).unwrap_or_else(|| panic!("{seen}"));
    let (kept, error) = line.split_once(" turns: ").unwrap();
    let kept: usize = kept.parse().unwrap();
    assert!(error.starts_with(&format!("the memory {} cannot be used: ", path.display())), "{error}");

    let there = runtime.block_on(async {
        let memory = SqliteMemory::open(&path).await.unwrap().with_window(usize::MAX);
        let there = memory.get("ann").await.unwrap();
        memory.add("ann", &turn(kept)).await.unwrap();
        memory.close().await;
        there
    });
    let expected: Vec<_> = (0..kept).flat_map(turn).collect();
    assert_eq!(there, expected, "all that was acknowledged, and no half turn");
}
