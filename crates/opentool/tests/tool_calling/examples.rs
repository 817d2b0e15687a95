//! Every example runs to its end by itself, and prints what its comments promise.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The examples that need neither a key nor a network, and what they print.
const EXAMPLES: [(&str, &str); 9] = [
    (
        "own_loop",
        "tools: stock, order, count
call_1 stock: 2
call_2 order: 3 of 9 for acme
call_3 order: error: invalid arguments: /article: expected integer, got string \"nine\"
call_4 ordr: error: there is no tool named `ordr`; did you mean `order`?
call_5 count: error: the tool did not answer within 50ms
",
    ),
    ("typed_answer", "2026-17 over 117.00 EUR, due 2026-12-01\n"),
    ("http_server", "OpenTool: 2\nMCP: 3\nrefused: the server refused the API key\nstopped\n"),
    ("axum_app", "OpenTool: 2\nMCP: 42\npage: the counter is at 42\n"),
    (
        "two_servers",
        "tools: paris_stock, oslo_stock, ping
paris_stock: 102
oslo_stock: 202
paris_stock: 102
oslo_stock: Unavailable
",
    ),
    (
        "mcp_gateway",
        "offered: files_read
the content of a.txt
there is no tool named `files_delete`
without a key: no tools
",
    ),
    (
        "c_library",
        "pow: {\"power\":1024.0}
crc32: {\"checksum\":3421780262}
invalid arguments: /base: expected number, got string \"two\"
",
    ),
    (
        "refund",
        "the first process died
after the crash the ledger has 1 refund
the same call again: paid
the ledger has 1 refund
",
    ),
    (
        "approval",
        "delete {\"path\":\"draft.txt\"}? [y/N] 
delete {\"path\":\"thesis.txt\"}? [y/N] 
I deleted what you allowed.
left: thesis.txt
",
    ),
];

/// What a person types.
const TYPED: &str = "y\nn\n";

/// Where cargo puts examples: beside the folder of the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is not built: `cargo test` without `--test` builds it", path.display());
    path
}

#[test]
fn every_example_prints_what_it_promises() {
    for (name, expected) in EXAMPLES {
        let mut command = Command::new(example(name));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(TYPED.as_bytes()).unwrap_or_default();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {errors}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{name}: {errors}");
    }
}

#[test]
fn every_example_is_run_or_needs_a_model() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let names = files.filter(|path| path.is_file()).map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let run: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    let mut others: Vec<String> = names.filter(|name| !run.contains(&name.as_str())).collect();
    others.sort();
    assert_eq!(others, ["alarm", "real_model"]);
}
