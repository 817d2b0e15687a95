use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use opentool_chat::{AssistantMessage, ChatMemory as _, Message, SqliteMemory, ToolAnswer, ToolMessage};
use opentool_core::ToolCall;
use tempfile::TempDir;

/// The variable with the file that a child process of this test writes to, and the name.
const FILE: &str = "OPENTOOL_TEST_MEMORY_FILE";
const WRITER: &str = "OPENTOOL_TEST_MEMORY_WRITER";

const TURNS: usize = 1_000;

fn turn(writer: &str, number: usize) -> Vec<Message> {
    let id = format!("call_{number}");
    let call = ToolCall::new(id.clone(), "look", format!(r#"{{"at":{number}}}"#));
    vec![
        Message::user(format!("{writer} {number}")),
        AssistantMessage::new("").with_tool_calls(vec![call]).into(),
        ToolMessage::new(vec![ToolAnswer::new(id, "look", "seen ".repeat(number % 400))]).into(),
        Message::assistant(format!("{writer} {number}, answered")),
    ]
}

/// The turns of a conversation by writer and number, each of which must be whole.
fn turns(path: &Path) -> Vec<(String, usize)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let messages = runtime.block_on(async {
        let memory = SqliteMemory::open(path).await.unwrap().with_window(usize::MAX);
        let messages = memory.get("shared").await.unwrap();
        memory.close().await;
        messages
    });
    assert_eq!(messages.len() % 4, 0, "half a turn is there");
    let read = messages.chunks(4).map(|chunk| {
        let (writer, number) = chunk[0].text().split_once(' ').unwrap();
        let number = number.parse().unwrap();
        assert_eq!(chunk, turn(writer, number));
        (writer.to_owned(), number)
    });
    read.collect()
}

/// What a child does: continues from the end of the file, and prints every turn that is kept.
fn write(path: &Path, writer: &str) {
    let begun = turns(path).iter().filter(|(who, _)| who == writer).count();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let memory = SqliteMemory::open(path).await.unwrap();
        for number in begun..TURNS {
            memory.add("shared", &turn(writer, number)).await.unwrap();
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "kept {number}").unwrap();
            stdout.flush().unwrap();
        }
    });
}

fn start(path: &Path, writer: &str, test: &str) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(FILE, path).env(WRITER, writer);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// The number of an acknowledged turn.
fn kept(line: &str) -> Option<usize> {
    line.trim().strip_prefix("kept ").map(|number| number.parse().unwrap())
}

#[test]
fn a_killed_process_loses_no_acknowledged_turn() {
    if let (Ok(file), Ok(writer)) = (env::var(FILE), env::var(WRITER)) {
        return write(Path::new(&file), &writer);
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("memory.sqlite");
    let test = "killed::a_killed_process_loses_no_acknowledged_turn";
    let mut acknowledged = 0;
    let mut kills = 0;
    while acknowledged < TURNS {
        let mut child = start(&path, "one", test);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let stop = acknowledged + 70 + 13 * kills;
        let mut line = String::new();
        while acknowledged < stop && lines.read_line(&mut line).unwrap() > 0 {
            acknowledged = kept(&line).map_or(acknowledged, |number| number + 1);
            line.clear();
        }
        if stop <= acknowledged && acknowledged < TURNS {
            // SIGKILL, while it writes the next turns.
            child.kill().unwrap();
            kills += 1;
        }
        let status = child.wait().unwrap();
        assert!(status.success() || stop <= acknowledged, "it ended by itself after {acknowledged} turns");
        // What it said before it died counts.
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        let said = rest.split_inclusive('\n').filter(|line| line.ends_with('\n')).filter_map(kept).next_back();
        acknowledged = said.map_or(acknowledged, |number| number + 1);

        let there = turns(&path);
        assert!(there.len() >= acknowledged, "{acknowledged} were acknowledged and {} are there", there.len());
        let in_order = there.iter().enumerate().all(|(place, (_, number))| place == *number);
        assert!(in_order, "a turn is missing or stands twice: {there:?}");
    }
    assert_eq!(turns(&path).len(), TURNS);
    assert!(kills >= 5, "it was killed {kills} times");
}

#[test]
fn several_processes_write_to_one_file_and_none_loses_a_turn() {
    if let (Ok(file), Ok(writer)) = (env::var(FILE), env::var(WRITER)) {
        return write(Path::new(&file), &writer);
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("memory.sqlite");
    let test = "killed::several_processes_write_to_one_file_and_none_loses_a_turn";
    let mut children: Vec<_> = ["one", "two", "three"].map(|writer| (writer, start(&path, writer, test))).into();
    let mut acknowledged = Vec::new();
    for (writer, child) in &mut children {
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let last = lines.by_ref().map_while(Result::ok).filter_map(|line| kept(&line)).take(60).last();
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged.push((*writer, last.unwrap() + 1));
    }
    let there = turns(&path);
    for (writer, acknowledged) in acknowledged {
        let of_writer: Vec<_> = there.iter().filter(|(who, _)| who == writer).map(|(_, number)| *number).collect();
        assert!(of_writer.len() >= acknowledged.min(60), "{writer}: {} of {acknowledged}", of_writer.len());
        assert!(of_writer.iter().enumerate().all(|(place, number)| place == *number), "{writer}: {of_writer:?}");
    }
}
