//! What there is in a folder that could be served: [`look`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use opentool::{Tool as _, Toolbox, Workflow};
use opentool_spec::{Document, ForeignFormat};
use serde_json::{Map, Value};
use walkdir::WalkDir;

use crate::source::shown_url;

/// How deep the folder is looked into.
const DEPTH: usize = 3;
/// How many files are looked at, so that a large folder takes no time.
const MOST_FILES: usize = 5000;
/// How large a document may be.
const MAX_SIZE: u64 = 4 << 20;
/// Folders with the files of others.
const SKIPPED: [&str; 6] = ["target", "node_modules", "vendor", "build", "dist", "venv"];
/// Where agents list their MCP servers.
const AGENT_FILES: [&str; 5] = [".mcp.json", "mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", "agent.json"];

/// The function of steps that every workflow has.
const PAUSE: &str = "sleep";

/// Something that was found in a folder; files are named from it.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) file: PathBuf,
    pub(super) what: FolderItem,
}

/// What was found.
#[derive(Debug)]
pub(super) enum FolderItem {
    /// An OpenTool document, and its server.
    OpenTool { functions: Vec<String>, server: Option<String> },
    /// An OpenDyn document, and the library beside it.
    Library { functions: Vec<String>, library: Option<PathBuf>, title: String },
    /// An OpenWorkflow document: the name of its tool, and the functions that its steps call.
    Workflow { name: String, functions: Vec<String> },
    /// A document of another format.
    Foreign(ForeignFormat),
    /// A server that an agent's file lists.
    McpServer { name: String, entry: Map<String, Value> },
    /// A library that no document describes, and a header beside it.
    Undescribed { header: PathBuf },
    /// A file of environment variables, with their names.
    Variables(Vec<String>),
    /// A document with errors.
    Faulty,
}

/// Looks at the files of a folder.
pub(super) fn look(folder: &Path) -> Vec<Finding> {
    let files = files_of(folder);
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| has_extension(file, "json")) {
        findings.extend(document_in(folder, file, &files).map(|what| Finding { file: file.clone(), what }));
    }
    for file in AGENT_FILES {
        for (name, entry) in agent_servers(&folder.join(file)) {
            findings.push(Finding { file: PathBuf::from(file), what: FolderItem::McpServer { name, entry } });
        }
    }
    let described: Vec<_> = findings.iter().filter_map(|finding| library_of(&finding.what)).cloned().collect();
    for file in files.iter().filter(|file| is_library(file) && !described.contains(file)) {
        let name = library_name(file);
        let header = files.iter().find(|header| has_extension(header, "h") && library_name(header) == name);
        findings.extend(
            header
                .map(|header| Finding { file: file.clone(), what: FolderItem::Undescribed { header: header.clone() } }),
        );
    }
    let example = Path::new(".env.example");
    if let Ok(text) = fs::read_to_string(folder.join(example)) {
        let names: Vec<_> = text.lines().filter_map(variable).map(str::to_owned).collect();
        findings.push(Finding { file: example.to_owned(), what: FolderItem::Variables(names) });
    }
    findings
}

/// The files of a folder, in a fixed order, without those that are hidden.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let is_wanted = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || !(name.starts_with('.') || (entry.file_type().is_dir() && SKIPPED.contains(&&*name)))
    };
    let entries = WalkDir::new(folder).max_depth(DEPTH).sort_by_file_name().into_iter().filter_entry(is_wanted);
    let files = entries.flatten().filter(|entry| entry.file_type().is_file()).take(MOST_FILES);
    files.filter_map(|entry| Some(entry.path().strip_prefix(folder).ok()?.to_owned())).collect()
}

fn document_in(folder: &Path, file: &Path, files: &[PathBuf]) -> Option<FolderItem> {
    let path = folder.join(file);
    if fs::metadata(&path).ok()?.len() > MAX_SIZE {
        return None;
    }
    let text = fs::read_to_string(&path).ok()?;
    let root: Value = serde_json::from_str(&text).ok()?;
    if !["opentool", "opendyn", "openworkflow"].iter().any(|word| root.get(*word).is_some()) {
        return foreign(&text).map(FolderItem::Foreign);
    }
    let reading = Document::read(&text);
    let document = reading.document.filter(|_| reading.report.is_usable());
    Some(match document {
        Some(Document::OpenTool(document)) => FolderItem::OpenTool {
            functions: document.functions.iter().map(|function| function.name.clone()).collect(),
            server: document.server.as_ref().map(|server| shown_url(&server.url)),
        },
        Some(Document::OpenWorkflow(document)) => {
            let steps = document.workflow.values().filter(|step| step.function != PAUSE);
            let functions = steps.map(|step| step.function.clone()).collect();
            // The name is made of the title.
            let tool = Workflow::new(&document, Toolbox::new()).ok();
            let name = tool.map(|tool| tool.definition().name().to_owned()).unwrap_or_default();
            FolderItem::Workflow { name, functions }
        }
        Some(Document::OpenDyn(document)) => {
            let name = library_name(file);
            let library = files.iter().find(|library| is_library(library) && library_name(library) == name);
            FolderItem::Library {
                functions: document.functions.iter().map(|function| function.name.clone()).collect(),
                library: library.cloned(),
                title: document.info.title.clone(),
            }
        }
        Some(_) => return None,
        None => FolderItem::Faulty,
    })
}

/// The other format of a document, where that describes what could be called. A JSON Schema describes data.
fn foreign(text: &str) -> Option<ForeignFormat> {
    /// One of these is in each of them; to look for it takes less time than to read the document.
    const WORDS: [&str; 10] = [
        "openapi",
        "swagger",
        "openrpc",
        "asyncapi",
        "openmodbus",
        "inputSchema",
        "input_schema",
        "parameters",
        "functionDeclarations",
        "function_declarations",
    ];
    if !WORDS.iter().any(|word| text.contains(word)) {
        return None;
    }
    let format = Document::read(text).report.foreign?;
    (!matches!(format, ForeignFormat::JsonSchema | ForeignFormat::McpConfiguration)).then_some(format)
}

fn agent_servers(file: &Path) -> Vec<(String, Map<String, Value>)> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let Ok(Value::Object(mut root)) = serde_json::from_str(&text) else { return Vec::new() };
    let Some(Value::Object(listed)) = root.remove("mcpServers").or_else(|| root.remove("servers")) else {
        return Vec::new();
    };
    let servers = listed.into_iter().filter_map(|(name, entry)| match entry {
        Value::Object(entry) if entry.get("disabled") != Some(&Value::Bool(true)) => Some((name, entry)),
        _ => None,
    });
    servers.collect()
}

fn library_of(found: &FolderItem) -> Option<&PathBuf> {
    match found {
        FolderItem::Library { library, .. } => library.as_ref(),
        _ => None,
    }
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

fn is_library(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    ["so", "dylib", "dll"].iter().any(|extension| has_extension(file, extension)) || name.contains(".so.")
}

/// The name of a file up to its first dot.
pub(super) fn stem_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// `foo` for `libfoo.so.1`, its header `foo.h` or `libfoo.h`, and its document `foo.opendyn.json` or `libfoo.opendyn.json`.
fn library_name(file: &Path) -> String {
    let stem = stem_of(file);
    stem.strip_prefix("lib").map(str::to_owned).unwrap_or(stem)
}

/// The variable of a line such as `NAME=value`.
fn variable(line: &str) -> Option<&str> {
    let (name, _) = line.trim().trim_start_matches("export ").split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}
