//! The guides compile as they stand: each is made into a crate that has only the dependencies it names.
//!
//! A sample is pasted as a reader would paste it. One with a `main` is a program. Any other is a module that begins with
//! `use opentool::prelude::*` and the imports that the sample shows; statements stand in an async function, methods in an impl
//! block. What a sample names and does not define comes from the sample nearest to it that does, or is one of [`GIVEN`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Values that the text around the samples speaks of.
const GIVEN: [(&str, &str); 9] = [
    ("model", "OpenAi"),
    ("provider", "Ollama"),
    ("chat_model", "ChatModel"),
    ("poet", "ChatModel"),
    ("editor", "ChatModel"),
    ("client", "ChatClient"),
    ("tool", "FnTool"),
    ("tools", "Toolbox"),
    ("path", "&'static str"),
];

/// A guide, and the crate that is made of it.
struct Guide {
    file: &'static str,
    name: &'static str,
    /// How many samples it has at least.
    samples: usize,
}

const GUIDES: [Guide; 3] = [
    Guide { file: "docs/tool-calling.md", name: "tool-calling-guide", samples: 60 },
    Guide { file: "docs/coming-from.md", name: "coming-from-guide", samples: 6 },
    Guide { file: "README.md", name: "readme-guide", samples: 4 },
];

/// In the target directory of this test, so that what they need is built once at most.
///
/// Each is checked by itself: members of a workspace that are built together get the features of all of them, so that a guide
/// could do without one that only another guide names.
#[test]
fn every_guide_compiles_in_a_new_crate() {
    let target = target();
    let workspace = target.join("guides");
    GUIDES.iter().for_each(|guide| guide.write(&workspace.join(guide.name)));
    let members = GUIDES.map(|guide| guide.name);
    fs::write(workspace.join("Cargo.toml"), format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n")).unwrap();
    // The versions that everything else is built with, since there may be no network.
    fs::copy(repository().join("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
    for guide in GUIDES {
        let output = Command::new(env!("CARGO"))
            .args(["check", "--offline", "--quiet", "--color=never", "-p", guide.name])
            .current_dir(&workspace)
            .env("CARGO_TARGET_DIR", &target)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{} does not compile (sources: {}):\n{errors}",
            guide.file,
            workspace.join(guide.name).display()
        );
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

impl Guide {
    /// Writes the crate.
    fn write(&self, folder: &Path) {
        let text = fs::read_to_string(repository().join(self.file)).unwrap();
        let samples: Vec<Sample> = samples(&text);
        assert!(samples.len() >= self.samples, "{} has {} samples", self.file, samples.len());
        let _ = fs::remove_dir_all(folder.join("src"));
        fs::create_dir_all(folder.join("src/bin")).unwrap();
        fs::write(folder.join("Cargo.toml"), self.manifest(&text)).unwrap();
        fs::write(folder.join("src/lib.rs"), library(&samples)).unwrap();
        for sample in samples.iter().filter(|sample| sample.kind() == Kind::Program) {
            // Binaries of a workspace share a folder.
            fs::write(folder.join(format!("src/bin/{}_line_{}.rs", self.name, sample.line)), &sample.code).unwrap();
        }
    }

    /// A manifest with the dependencies that the `cargo add` lines of the guide name.
    fn manifest(&self, text: &str) -> String {
        let mut manifest =
            format!("[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n", self.name);
        // A crate may be added again, with more features.
        let mut added: BTreeMap<&str, (Option<String>, Vec<&str>)> = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("cargo add ")) {
            let mut words = line.split_whitespace();
            let (path, features) = added.entry(words.next().unwrap()).or_default();
            while let Some(word) = words.next() {
                match word {
                    "--path" => {
                        *path = words
                            .next()
                            .map(|path| path.replace("PATH/TO/THIS/REPOSITORY", &repository().display().to_string()))
                    }
                    "--features" => features.extend(words.next().unwrap().split(',')),
                    other => panic!("`cargo add {line}`: {other} is not understood here"),
                }
            }
        }
        assert!(!added.is_empty(), "{} says how to add the crates", self.file);
        for (name, (path, features)) in added {
            let from = path.map_or_else(|| "version = \"*\"".to_owned(), |path| format!("path = {path:?}"));
            writeln!(manifest, "{name} = {{ {from}, features = {features:?} }}").unwrap();
        }
        manifest
    }
}

/// The target directory of this very test.
fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().find(|path| path.join("CACHEDIR.TAG").exists() || path.ends_with("target"));
    found.unwrap_or_else(|| panic!("{} is in no target directory", test.display())).to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Program,
    Items,
    Methods,
    Statements,
}

struct Sample {
    line: usize,
    imports: String,
    /// Everything but the imports; of a program, all of it.
    code: String,
}

fn samples(text: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut open: Option<(usize, Vec<&str>)> = None;
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            None if line == "```rust" || line == "```rust,no_run" => open = Some((number + 1, Vec::new())),
            Some(_) if line == "```" => samples.extend(open.take().map(|(line, lines)| Sample::new(line, &lines))),
            Some((_, lines)) => lines.push(line),
            None => {}
        }
    }
    samples
}

impl Sample {
    fn new(line: usize, lines: &[&str]) -> Self {
        let is_program = lines.iter().any(|line| line.contains("fn main()"));
        let is_import = |line: &&&str| line.starts_with("use ") || line.is_empty();
        let imports = if is_program { 0 } else { lines.iter().take_while(is_import).count() };
        Self { line, imports: lines[..imports].join("\n"), code: lines[imports..].join("\n") }
    }

    fn kind(&self) -> Kind {
        if self.code.contains("fn main()") {
            return Kind::Program;
        }
        let first = self.code.lines().find(|line| !line.starts_with("//")).unwrap_or_default();
        let is_item = ["pub ", "struct ", "enum ", "impl ", "fn ", "async fn ", "const ", "#[derive", "#[toolbox"];
        if first.starts_with("#[tool") && !first.starts_with("#[toolbox") {
            if self.code.contains("&self") { Kind::Methods } else { Kind::Items }
        } else if is_item.iter().any(|begin| first.starts_with(begin)) {
            Kind::Items
        } else {
            Kind::Statements
        }
    }

    /// The names of the items that the sample defines.
    fn defines(&self) -> impl Iterator<Item = &str> {
        let is_items = self.kind() == Kind::Items;
        self.code.lines().filter(move |_| is_items).filter_map(defined_in)
    }

    fn names(&self, name: &str) -> bool {
        self.code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    }
}

/// The name of the item that begins in a line.
fn defined_in(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let rest = ["struct ", "enum ", "fn ", "const ", "trait "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The modules of all samples.
fn library(samples: &[Sample]) -> String {
    let mut defined: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for sample in samples {
        sample.defines().for_each(|name| defined.entry(name).or_default().push(sample.line));
    }
    let mut library = "#![allow(unused)]\n".to_owned();
    for sample in samples.iter().filter(|sample| sample.kind() != Kind::Program) {
        let mut module = format!("pub mod line_{} {{\nuse opentool::prelude::*;\n{}\n", sample.line, sample.imports);
        for (name, places) in &defined {
            let own = sample.defines().any(|own| own == *name);
            if sample.names(name) && !own && !sample.imports.contains(name) {
                // The nearest before it, else the nearest after it.
                let before = places.iter().rev().find(|place| **place < sample.line);
                let place = before.or(places.first()).unwrap();
                writeln!(module, "use super::line_{place}::{name};").unwrap();
            }
        }
        match sample.kind() {
            Kind::Methods => {
                writeln!(module, "pub struct Given;\n#[toolbox]\nimpl Given {{\n{}\n}}", sample.code).unwrap()
            }
            Kind::Statements => {
                let is_given = |name: &str| {
                    let bound = [format!("let {name} "), format!("let {name}:"), format!("let mut {name} ")];
                    let first = bound.iter().filter_map(|binding| sample.code.find(binding.as_str())).min();
                    // A binding may use the value that it hides: `let poet = … poet …`.
                    let before = first.map_or(sample.code.as_str(), |at| {
                        let end = sample.code[at..].find(";\n").map_or(sample.code.len(), |end| at + end);
                        sample.code[..end].split_once('=').map_or("", |(_, rest)| rest)
                    });
                    Sample { line: 0, imports: String::new(), code: before.to_owned() }.names(name)
                };
                let given: Vec<_> = GIVEN
                    .iter()
                    .filter(|(name, _)| is_given(name))
                    .map(|(name, kind)| format!("{name}: {kind}"))
                    .collect();
                let (given, code) = (given.join(", "), &sample.code);
                writeln!(
                    module,
                    "pub async fn sample({given}) -> Result<(), Box<dyn std::error::Error>> {{\n{code}\n;Ok(())\n}}"
                )
                .unwrap();
            }
            _ => module.push_str(&sample.code),
        }
        library.push_str(&module);
        library.push_str("\n}\n");
    }
    library
}
