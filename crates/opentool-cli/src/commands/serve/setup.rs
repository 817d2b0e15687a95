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
        tool_set_options::ToolSetOptions,
    },
    address::check_source,
    file::{FileContent, SettingsUsed},
    fingerprints::Fingerprints,
    options::Options,
    places::FilePlaces,
};
use crate::{
    config_file::ConfigFile,
    failure::Failure,
    secret::Secret,
    setting::{CONFIG_FILE, Setting},
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

/// What `opentool mcp` offers where no source is named.
pub(in crate::commands) struct OpenedSet {
    pub(in crate::commands) options: ToolSetOptions,
    pub(in crate::commands) sources: Vec<SourceEntry>,
}

impl OpenedSet {
    /// Opens what a configuration file describes, where there is one.
    pub(in crate::commands) fn from_file(config: Option<&Path>, given: &ArgMatches) -> Result<Option<Self>, Failure> {
        let Some((file, content, used)) = read_for_mcp(config)? else { return Ok(None) };
        used.announce(&file);
        let mut options = content.options.set;
        options.update_from_arg_matches(given).map_err(|error| Failure::usage(error.to_string()))?;
        let places = content.places.without_given(given);
        let sources = open_sources(&options, &content.sources, &mut Fingerprints::default(), &HashSet::new())
            .map_err(|failure| places.locate_source(&content.sources, failure))?;
        Ok(Some(OpenedSet { options, sources }))
    }

    /// The path of that file.
    pub(in crate::commands) fn file(config: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
        Ok(read_for_mcp(config)?.map(|(file, ..)| file.path().to_owned()))
    }
}

/// Reads what a file says about sources and how they are used.
fn read_for_mcp(config: Option<&Path>) -> Result<Option<(ConfigFile, FileContent, SettingsUsed)>, Failure> {
    let Some(file) = ConfigFile::given_or_found(config)? else { return Ok(None) };
    let (content, used) = FileContent::from_file_for_mcp(&file)?;
    Ok(Some((file, content, used)))
}

/// The options of a server, and its sources.
pub(super) struct Opened {
    pub(super) options: Options,
    pub(super) sources: Vec<SourceEntry>,
    pub(super) model: Option<(ModelName, ChatModel)>,
    pub(super) file: Option<ConfigFile>,
    pub(super) places: FilePlaces,
    /// What stands in the file.
    pub(super) settings: Vec<Setting>,
}

/// A source of a server.
pub(in crate::commands) enum SourceEntry {
    /// One that is the same as before, by its signature.
    Kept(String),
    Opened(Box<OpenedSource>),
}

/// A source that was opened, with the key of its server.
pub(in crate::commands) struct OpenedSource {
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
        let options = &options.set;
        let sources = if options.is_nothing_named() { &demo[..] } else { &options.sources };
        RunDetails::for_page(&StartedWith {
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
    /// no change is missed. `in_use` is what the file had when it was last read; none where that was never done.
    pub(super) fn open(
        &self,
        seen: &mut Fingerprints,
        known: &HashSet<String>,
        in_use: Option<&[Setting]>,
    ) -> Result<Opened, Failure> {
        let path = self.config.as_deref().unwrap_or(Path::new(CONFIG_FILE));
        seen.add(path);
        if let Ok(record) = TrustedFiles::for_user().and_then(|trusted| trusted.record(path)) {
            // A file takes effect once trust is given.
            seen.add(&record);
        }
        let file = ConfigFile::given_or_found(self.config.as_deref())?;
        let mut settings = Vec::new();
        let FileContent { mut options, sources: named, model, places, .. } = match &file {
            Some(file) => {
                let (mut content, used) = FileContent::from_file(file, in_use)?;
                content.read_keys(seen)?;
                if in_use.is_none() {
                    used.announce(file);
                }
                settings = used.settings;
                content
            }
            None if in_use.is_none() => FileContent::none(),
            None => return Err(Failure::usage(format!("{} is gone", path.display()))),
        };
        prefer_environment(&mut options);
        let given = options.update_from_arg_matches(&self.given);
        given.map_err(|error| Failure::usage(error.to_string()))?;
        let places = places.without_given(&self.given);
        if let Some(key) = model.as_ref().and_then(ModelTable::key_file) {
            seen.add(key);
        }
        let model = options.model.chat_model(model.as_ref())?;
        let mut sources =
            open_sources(&options.set, &named, seen, known).map_err(|failure| places.locate_source(&named, failure))?;
        if options.set.is_nothing_named() {
            sources.extend(demo_library(known));
        }
        // Before any is connected to, since one may be this server, which does not listen yet.
        for entry in &sources {
            if let SourceEntry::Opened(opened) = entry {
                check_source(&options, &opened.source)?;
            }
        }
        Ok(Opened { options, sources, model, file, places, settings })
    }
}

/// The key of the environment goes before those of the file, and after those of the command line.
pub(super) fn prefer_environment(options: &mut Options) {
    if env::var_os(API_KEY_VARIABLE).is_some() {
        options.api_key.clear();
    }
}

fn open_sources(
    options: &ToolSetOptions,
    named: &NamedSources,
    seen: &mut Fingerprints,
    known: &HashSet<String>,
) -> Result<Vec<SourceEntry>, Failure> {
    for file in options.source_keys.files() {
        seen.add(file);
    }
    let read_keys = options.source_keys.read()?;
    let keys: Vec<_> = options.source_api_key.iter().chain(&read_keys).map(Secret::expose).collect();
    let mut signatures = Vec::new();
    for word in &options.sources {
        signatures.push(signature(word, options, named, seen)?);
    }
    signatures.extend(options.mcp.iter().map(|command| format!("mcp {command} {}", shared(options))));
    if options.is_nothing_named() {
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
        // The key of the environment is that of the callers, or of a source that stands on the command line.
        sources::open_all(words, named, keys.iter().copied(), &options.libraries, |_| None)?
    }
    .into_iter();
    let entry = |signature: String| match is_kept(&signature) {
        true => Some(SourceEntry::Kept(signature)),
        false => opened.next().map(|(source, key)| SourceEntry::Opened(OpenedSource { source, key, signature }.into())),
    };
    Ok(signatures.into_iter().filter_map(entry).collect())
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
fn shared(options: &ToolSetOptions) -> String {
    let ToolSetOptions { libraries, known, certificates, max_result, tools, .. } = options;
    format!("{libraries:?} {known:?} {certificates:?} {max_result:?} {tools:?}")
}

/// A text that differs where anything about a source differs: its table, the files that it names, the options.
fn signature(
    word: &str,
    options: &ToolSetOptions,
    named: &NamedSources,
    seen: &mut Fingerprints,
) -> Result<String, Failure> {
    let mut signature = format!("{word} {}", shared(options));
    let mut add = |files: Vec<PathBuf>| files.iter().for_each(|file| signature.push_str(&seen.add(file)));
    match named.find(word)? {
        Some(table) if table.is_workflow() => {
            // Its steps may use any of the others.
            for table in named.tables()? {
                add(table.files());
            }
            named.tables()?.iter().for_each(|table| signature.push_str(&table.signature()));
        }
        Some(table) => {
            add(table.files());
            signature.push_str(&table.signature());
        }
        None => add([PathBuf::from(word)].into_iter().filter(|file| file.is_file()).collect()),
    }
    Ok(signature)
}
