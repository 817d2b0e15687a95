//! What a server is set up from, at its start and when its file changes: [`Setup`].

use std::{
    collections::HashSet,
    env,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, FromArgMatches as _};
use opentool_chat::ChatModel;
use serde_json::Value;

use super::{
    super::{
        access::API_KEY_VARIABLE,
        chat::{RunDetails, StartedWith},
        model::{ModelName, ModelTable},
    },
    file::FileContent,
    fingerprints::Fingerprints,
    options::Options,
};
use crate::{
    config_file::{ConfigFile, DEFAULT},
    failure::Failure,
    secret::Secret,
    source::Source,
    source_tables::NamedSources,
    sources::{self, SourceWords},
    trusted::TrustedFiles,
};

/// The command line and the configuration file of a server.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    config: Option<PathBuf>,
    given: ArgMatches,
}

/// The options of a server, and its sources.
pub(super) struct Opened {
    pub(super) options: Options,
    pub(super) sources: Vec<SourceEntry>,
    pub(super) model: Option<(ModelName, ChatModel)>,
    pub(super) file: Option<ConfigFile>,
}

/// A source of a server.
pub(super) enum SourceEntry {
    /// One that is the same as before, by its signature.
    Kept(String),
    Opened(Box<OpenedSource>),
}

/// A source that was opened, with the key of its server.
pub(super) struct OpenedSource {
    pub(super) source: Source,
    pub(super) key: Option<String>,
    /// Equal to another one where nothing about the source differs.
    pub(super) signature: String,
}

impl Setup {
    pub(super) fn new(config: Option<&Path>, given: &ArgMatches) -> Self {
        Setup { config: config.map(Path::to_owned), given: given.clone() }
    }

    /// What is stored with a turn of a chat on the page, so that `opentool runs resume` can go on with it.
    pub(super) fn run_details(&self, options: &Options, model: &ModelName) -> Value {
        // A file that was found is found, and judged, again.
        let config = self.config.as_deref();
        let demo = ["demo".to_owned()];
        let is_nothing_named = options.sources.is_empty() && options.mcp.is_empty();
        let sources = if is_nothing_named { &demo[..] } else { &options.sources };
        RunDetails::of_page(&StartedWith {
            model,
            sources,
            tools: &options.tools,
            has_mcp: !options.mcp.is_empty(),
            has_library: options.libraries.is_given(),
            read_only: &options.known.read_only,
            destructive: &options.known.destructive,
            idempotent: &options.known.idempotent,
            config,
        })
        .to_value()
    }

    /// Reads the file and opens the sources, except those whose signature is known. Every file is looked at before it is read, so that
    /// no change is missed.
    pub(super) fn open(
        &self,
        seen: &mut Fingerprints,
        known: &HashSet<String>,
        is_first: bool,
    ) -> Result<Opened, Failure> {
        let path = self.config.as_deref().unwrap_or(Path::new(DEFAULT));
        seen.add(path);
        if let Ok(record) = TrustedFiles::of_user().and_then(|trusted| trusted.record(path)) {
            // A file takes effect once trust is given.
            seen.add(&record);
        }
        let file = ConfigFile::given_or_found(self.config.as_deref())?;
        let FileContent { mut options, sources: named, model, .. } = match &file {
            Some(file) => {
                let (content, used) = FileContent::of_file(file, seen)?;
                if is_first {
                    used.announce(file);
                }
                content
            }
            None if is_first => FileContent::none(),
            None => return Err(Failure::usage(format!("{} is gone", path.display()))),
        };
        prefer_environment(&mut options);
        let given = options.update_from_arg_matches(&self.given);
        given.map_err(|error| Failure::usage(error.to_string()))?;
        if let Some(key) = model.as_ref().and_then(ModelTable::key_file) {
            seen.add(key);
        }
        let model = options.model.chat_model(model.as_ref())?;
        let sources = open_sources(&options, &named, seen, known)?;
        Ok(Opened { options, sources, model, file })
    }
}

/// The key of the environment goes before those of the file, and after those of the command line.
fn prefer_environment(options: &mut Options) {
    if env::var_os(API_KEY_VARIABLE).is_some() {
        options.api_key.clear();
    }
}

fn open_sources(
    options: &Options,
    named: &NamedSources,
    seen: &mut Fingerprints,
    known: &HashSet<String>,
) -> Result<Vec<SourceEntry>, Failure> {
    for file in options.source_keys.files() {
        seen.add(file);
    }
    let read_keys = options.source_keys.read()?;
    let keys: Vec<_> = options.source_api_key.iter().chain(&read_keys).map(Secret::expose).collect();
    let is_nothing_named = options.sources.is_empty() && options.mcp.is_empty();
    let mut signatures = Vec::new();
    for word in &options.sources {
        signatures.push(signature(word, options, named, seen)?);
    }
    signatures.extend(options.mcp.iter().map(|command| format!("mcp {command} {}", shared(options))));
    if is_nothing_named {
        signatures.push(format!("demo {}", shared(options)));
    }
    // Whose key one of the command line is depends on all sources.
    let is_kept = |signature: &String| keys.is_empty() && known.contains(signature);
    let left = |words: &[String], signatures: &[String]| -> Vec<String> {
        let opened = words.iter().zip(signatures).filter(|(_, signature)| !is_kept(signature));
        opened.map(|(word, _)| word.clone()).collect()
    };
    let (of_words, of_commands) = signatures.split_at(options.sources.len());
    let (words, commands) = (left(&options.sources, of_words), left(&options.mcp, of_commands));
    let is_all_kept = signatures.iter().all(is_kept);
    let mut opened = if is_all_kept {
        Vec::new()
    } else {
        let words = SourceWords { sources: &words, mcp: &commands, tools: &options.tools };
        // The key of the environment is that of the callers.
        sources::open_all(words, named, keys.iter().copied(), &options.libraries, |_| None)?
    }
    .into_iter();
    let entry = |signature: String| match is_kept(&signature) {
        true => Some(SourceEntry::Kept(signature)),
        false => opened.next().map(|(source, key)| SourceEntry::Opened(OpenedSource { source, key, signature }.into())),
    };
    let mut entries: Vec<_> = signatures.into_iter().filter_map(entry).collect();
    if is_nothing_named {
        entries.extend(demo_library(known));
    }
    Ok(entries)
}

/// The C library of the demo, where the system has it.
fn demo_library(known: &HashSet<String>) -> Option<SourceEntry> {
    let signature = "the C library of the demo".to_owned();
    if known.contains(&signature) {
        return Some(SourceEntry::Kept(signature));
    }
    let source = Source::demo_library()?;
    Some(SourceEntry::Opened(OpenedSource { source, key: None, signature }.into()))
}

/// What all sources depend on.
fn shared(options: &Options) -> String {
    let Options { libraries, known, certificates, max_result, tools, .. } = options;
    format!("{libraries:?} {known:?} {certificates:?} {max_result:?} {tools:?}")
}

/// A text that differs where anything about a source differs: its table, the files that it names, the options.
fn signature(word: &str, options: &Options, named: &NamedSources, seen: &mut Fingerprints) -> Result<String, Failure> {
    let mut signature = format!("{word} {}", shared(options));
    let mut add = |files: Vec<PathBuf>| files.iter().for_each(|file| signature.push_str(&seen.add(file)));
    match named.find(word)? {
        Some(table) if table.is_workflow() => {
            // Its steps may use any of the others.
            for table in named.tables()? {
                add(table.files());
            }
            signature.push_str(&format!("{:?}", named.tables()?));
        }
        Some(table) => {
            add(table.files());
            signature.push_str(&format!("{table:?}"));
        }
        None => add([PathBuf::from(word)].into_iter().filter(|file| file.is_file()).collect()),
    }
    Ok(signature)
}
