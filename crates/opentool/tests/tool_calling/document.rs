//! Every sample of the document is code that compiles.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the samples of the document come from: these tests, and the declarations themselves.
const SOURCES: [&str; 3] = ["tests/tool_calling", "../opentool-core/src", "../opentool-chat/src/manager"];

/// A sample: the line where it begins, and its lines without their indentation.
struct Sample {
    line: usize,
    code: Vec<String>,
}

impl Sample {
    /// What a sample imports is for a file of its own, which the test of a new crate makes of it.
    fn without_imports(mut self) -> Self {
        let is_import = |line: &&String| line.starts_with("use ") || line.is_empty();
        let imports = self.code.iter().take_while(is_import).count();
        self.code.drain(..imports);
        self
    }
}

fn samples(text: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut open: Option<Sample> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            None if line == "```rust" || line == "```rust,ignore" => {
                open = Some(Sample { line: number + 1, code: Vec::new() })
            }
            Some(_) if line == "```" => samples.extend(open.take().map(Sample::without_imports)),
            Some(sample) => sample.code.push(line.trim().to_owned()),
            None => {}
        }
    }
    assert!(open.is_none(), "the last sample does not end");
    samples
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn every_sample_of_the_document_is_code_that_compiles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../../docs/tool-calling.md")).unwrap();
    let samples = samples(&text);
    assert!(samples.len() >= 50, "there are {} samples", samples.len());
    let mut paths = Vec::new();
    SOURCES.iter().for_each(|folder| files(&root.join(folder), &mut paths));
    let sources: Vec<Vec<String>> = paths
        .iter()
        .map(|path| fs::read_to_string(path).unwrap().lines().map(|line| line.trim().to_owned()).collect())
        .collect();
    for Sample { line, code } in samples {
        let found = sources.iter().any(|source| source.windows(code.len()).any(|window| window == code));
        assert!(found, "the sample in line {line} is not in the sources:\n{}", code.join("\n"));
    }
}
