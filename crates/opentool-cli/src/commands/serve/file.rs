//! The configuration file: TOML whose keys are the options' names, and tables for what has several parts.

use std::{ops::Range, path::Path};

use clap::{Args as _, FromArgMatches as _};
use toml::de::{DeTable, DeValue};

use super::{
    super::{
        model::{MODEL, ModelTable},
        tool_set_options::ToolSetOptions,
    },
    fingerprints::Fingerprints,
    options::{JournalRetention, Options},
    places::FilePlaces,
};
use crate::{
    config_fault::{ConfigFault, Faults, option_problem},
    config_file::ConfigFile,
    config_keys::{ConfigKey, ConfigTable, ValueForm},
    config_value::{SecretText, TableEntry, entries, line_of, parse, shown},
    failure::Failure,
    secret::Secret,
    setting::{CONFIG_FILE, SOURCES, Setting, TOOLS},
    source_tables::{NamedSources, read_tables, source_form},
    terminal::{note, visible},
};

const API_KEY: &str = "api-key";
const JOURNAL: &str = "journal";
const PAGE: &str = "page";

/// What stands in a file.
pub(super) struct FileContent {
    pub(super) options: Options,
    pub(super) sources: NamedSources,
    pub(super) model: Option<ModelTable>,
    /// Where its values stand.
    pub(super) places: FilePlaces,
    /// Where the keys of callers stand.
    api_keys: Vec<(SecretText, Range<usize>)>,
}

impl FileContent {
    /// Nothing.
    pub(super) fn none() -> Self {
        FileContent {
            options: Options::default(),
            sources: NamedSources::none(),
            model: None,
            places: FilePlaces::default(),
            api_keys: Vec::new(),
        }
    }

    /// Reads what stands in a file. A file that was not named must be trusted, unless nothing in it needs that, and nothing that it has
    /// lost: since it is in use, or else since it was trusted.
    pub(super) fn from_file(file: &ConfigFile, in_use: Option<&[Setting]>) -> Result<(Self, SettingsUsed), Failure> {
        let command = "serve";
        let (content, settings) = parse_file(file, command)?;
        if settings.is_empty() && in_use.is_some_and(|in_use| !in_use.is_empty()) {
            // An editor or a script that fails leaves such a file; no one wants the demo tools by that.
            return Err(Failure::usage(format!(
                "{} is empty now, and had settings before; restart the server if you want the demo tools",
                file.name()
            )));
        }
        let lost = match in_use {
            Some(in_use) => Setting::lost(in_use, &settings).into_iter().map(ToString::to_string).collect(),
            None => file.lost_since_trusted(&settings)?,
        };
        let is_trusted = file.check_change(settings.iter(), &lost, command)?;
        Ok((content, SettingsUsed { settings, is_trusted }))
    }

    /// Reads what a file says for `opentool mcp`: its sources, and how their calls run. Only these need trust.
    pub(super) fn from_file_for_mcp(file: &ConfigFile) -> Result<(Self, SettingsUsed), Failure> {
        let command = "mcp";
        let (content, mut settings) = parse_file(file, command)?;
        settings.retain(|setting| is_of_tool_set(&setting.key));
        let is_trusted = file.check_trust(settings.iter(), command)?;
        Ok((content, SettingsUsed { settings, is_trusted }))
    }

    /// Reads the keys of callers. Their files are looked at before they are read.
    pub(super) fn read_keys(&mut self, seen: &mut Fingerprints) -> Result<(), Failure> {
        for file in self.api_keys.iter().filter_map(|(key, _)| key.file()) {
            seen.add(file);
        }
        let key = |(key, span): &(SecretText, Range<usize>)| {
            key.read().map(Secret::new).map_err(|failure| self.places.at(span, failure))
        };
        self.options.api_key = self.api_keys.iter().map(key).collect::<Result<_, _>>()?;
        Ok(())
    }
}

/// The settings of a file that are used, and why they may be.
pub(super) struct SettingsUsed {
    pub(super) settings: Vec<Setting>,
    is_trusted: bool,
}

impl SettingsUsed {
    /// Says on standard error which they are.
    pub(super) fn announce(&self, file: &ConfigFile) {
        let why = match (file.is_named(), self.is_trusted) {
            (true, _) => " (named by --config)",
            (false, true) => " (trusted)",
            (false, false) => "",
        };
        let mut keys: Vec<_> = self.settings.iter().map(|setting| short(&setting.key)).collect();
        keys.dedup();
        let keys = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
        note(&format_args!("settings from {}{why}: {}", visible(&file.name()), visible(&keys)));
    }
}

/// Whether a setting is one of [`ToolSetOptions`], or of a source.
fn is_of_tool_set(key: &str) -> bool {
    let options = ToolSetOptions::augment_args(clap::Command::new("mcp"));
    let top = key.split('.').next().unwrap_or(key);
    top == SOURCES || options.get_arguments().any(|argument| argument.get_long() == Some(top))
}

/// The table of a key: `sources.NAME` for that of a source, `model` for one of the model.
fn short(key: &str) -> &str {
    let dots = if key.starts_with(SOURCES) { 1 } else { 0 };
    match key.match_indices('.').nth(dots) {
        Some((at, _)) => &key[..at],
        None => key,
    }
}

/// What stands in a file, in its order.
pub(in crate::commands) fn settings(file: &ConfigFile) -> Result<Vec<Setting>, Failure> {
    Ok(parse_file(file, "serve")?.1)
}

/// What may stand in a file.
pub(in crate::commands) fn file_table() -> ConfigTable {
    /// What has another form in a file than on the command line.
    const OTHERS: [&str; 10] = [
        API_KEY,
        "source-api-key",
        JOURNAL,
        "run-unrecorded",
        "model",
        "model-url",
        "model-key-env",
        "model-key-file",
        PAGE,
        "no-page",
    ];
    let command = command();
    let mut keys = ConfigTable::keys_from_options(&command);
    keys.retain(|key| !OTHERS.contains(&key.name.as_str()));
    let key = ConfigKey::new;
    let list = "Where tools come from: documents, URLs, the file of an agent, or `demo`; or tables `[sources.NAME]`";
    keys.insert(0, key(SOURCES, ValueForm::Either(vec![ValueForm::Texts, source_form()]), list));
    keys.push(key(API_KEY, ValueForm::Secrets, "The API keys that callers must have, one of them"));
    let journal = ValueForm::Either(vec![ValueForm::Text, ValueForm::Table(journal_table())]);
    keys.push(key(JOURNAL, journal, "The file in which calls are recorded, or a table `[journal]`"));
    keys.push(key(MODEL, ValueForm::Table(ModelTable::keys()), "The model for chats, also of `opentool chat`"));
    keys.push(key(PAGE, ValueForm::Table(page_table()), "The page in a browser"));
    let by_table = "describe the source as `[sources.NAME]`, with `key = { env = \"VARIABLE\" }`, or name where its key stands with \
                    `source-api-key-env` or `source-api-key-file`";
    let mut table = ConfigTable::new("the file", keys)
        .with_instead("server", "what the server is set to stands at the top of the file, without a table")
        .with_instead("source", format!("did you mean `{SOURCES}`?"))
        .with_instead("source-api-key", by_table)
        .with_instead("run-unrecorded", format!("write it below `[{JOURNAL}]`"))
        .with_instead("no-page", format!("write `enabled = false` below `[{PAGE}]`"));
    for option in command.get_arguments() {
        for (alias, name) in
            option.get_all_aliases().unwrap_or_default().into_iter().zip(std::iter::repeat(option.get_long()))
        {
            table = table.with_instead(alias, format!("did you mean `{}`?", name.unwrap_or_default()));
        }
    }
    for name in ["kind", "document", "url", "command"] {
        table =
            table.with_instead(name, "it belongs below a line `[sources.NAME]`: is that line missing, or a comment?");
    }
    table
}

fn command() -> clap::Command {
    let command = clap::Command::new(CONFIG_FILE).no_binary_name(true).disable_help_flag(true);
    Options::augment_args(command)
}

fn journal_table() -> ConfigTable {
    let key = ConfigKey::new;
    let keys = vec![
        key("file", ValueForm::Text, "The SQLite file").required(),
        key(
            "run-unrecorded",
            ValueForm::Flag,
            "Whether calls run that cannot be recorded, for instance while the disk is full",
        ),
        key(
            "key-retention",
            ValueForm::Time,
            "How long the outcomes of calls with an `Idempotency-Key` are kept [default: 24h]",
        ),
        key("run-retention", ValueForm::Time, "How long runs are kept once they are over [default: 30d]"),
    ];
    ConfigTable::new(format!("`[{JOURNAL}]`"), keys)
}

fn page_table() -> ConfigTable {
    let enabled = "Whether there is one, also where other machines reach the server [default: on this machine only]";
    ConfigTable::new(format!("`[{PAGE}]`"), vec![ConfigKey::new("enabled", ValueForm::Flag, enabled)])
}

pub(super) fn parse_file(file: &ConfigFile, command: &'static str) -> Result<(FileContent, Vec<Setting>), Failure> {
    let mut faults = Faults::default();
    let content = match faults.take(parse(&file.text)) {
        Some(parsed) => FileReader::new(file, command).read(parsed.get_ref(), &mut faults),
        None => None,
    };
    faults.check(&file.name(), &file.text)?;
    // Without a fault there is a content.
    content.ok_or_else(|| Failure::usage(format!("{} cannot be read", file.name())))
}

/// Reads a file. Options are turned into a command line, so that both mean the same to the last check.
struct FileReader<'a> {
    file: &'a ConfigFile,
    /// The command that reads it.
    command: &'static str,
    table: ConfigTable,
    arguments: Vec<String>,
    sources: Vec<String>,
    settings: Vec<Setting>,
    places: FilePlaces,
    api_keys: Vec<(SecretText, Range<usize>)>,
    retention: JournalRetention,
    page: Option<bool>,
}

impl<'a> FileReader<'a> {
    fn new(file: &'a ConfigFile, command: &'static str) -> Self {
        FileReader {
            file,
            command,
            table: file_table(),
            arguments: Vec::new(),
            sources: Vec::new(),
            settings: Vec::new(),
            places: FilePlaces::new(file),
            api_keys: Vec::new(),
            retention: JournalRetention::default(),
            page: None,
        }
    }

    fn read(mut self, parsed: &DeTable<'_>, faults: &mut Faults) -> Option<(FileContent, Vec<Setting>)> {
        for entry in self.table.clone().check(None, &entries(parsed), faults) {
            let read = self.read_entry(&entry, faults);
            faults.take(read);
        }
        let (file, mut settings) = (self.file, self.settings);
        let mut tables = read_tables(parsed, &file.text, file.folder(), faults);
        for table in &mut tables {
            self.sources.push(table.name.clone());
            settings.append(&mut table.settings);
        }
        let mut model = ModelTable::read(parsed, file, faults);
        if let Some(table) = &mut model {
            settings.append(&mut table.settings);
        }
        settings.sort_by_key(|setting| setting.line);
        self.arguments.push("--".to_owned());
        self.arguments.append(&mut self.sources);
        let given = command().try_get_matches_from(self.arguments);
        let options = given.and_then(|given| Options::from_arg_matches(&given));
        // Each option was checked by itself; two of them may not go together.
        let options = faults.take(options.map_err(|error| ConfigFault::new(0..0, option_problem(&error))))?;
        let options = Options { retention: self.retention, page_enabled: self.page, ..options };
        let sources = NamedSources::from_tables(file.clone(), tables, self.command);
        let (places, api_keys) = (self.places, self.api_keys);
        Some((FileContent { options, sources, model, places, api_keys }, settings))
    }

    fn read_entry(&mut self, entry: &TableEntry<'_>, faults: &mut Faults) -> Result<(), ConfigFault> {
        let is_table = matches!(entry.value.get_ref(), DeValue::Table(_));
        match entry.name() {
            MODEL => {}
            SOURCES if is_table => {}
            SOURCES => {
                let values = entry.texts()?;
                self.settings.push(Setting::from_option(SOURCES, &values, self.line(entry)));
                for (value, span) in values.into_iter().zip(entry.value_spans()) {
                    let word = self.source(value);
                    self.places.add(SOURCES, &word, span);
                    self.sources.push(word);
                }
            }
            API_KEY => {
                self.api_keys = entry.secrets(self.file.folder())?.into_iter().zip(entry.value_spans()).collect();
                self.places.add(API_KEY, "", entry.value.span());
                self.add_setting(entry, API_KEY, false);
            }
            JOURNAL if is_table => self.read_journal(entry, faults)?,
            JOURNAL => {
                self.add_path(JOURNAL, &entry.text()?, entry.value.span());
                self.add_setting(entry, JOURNAL, false);
            }
            PAGE => {
                for inner in page_table().check_table(entry, faults) {
                    self.page = Some(inner.flag()?);
                    self.add_setting(&inner, "page.enabled", self.page == Some(false));
                }
            }
            name => self.read_option(name, entry)?,
        }
        Ok(())
    }

    fn read_option(&mut self, name: &str, entry: &TableEntry<'_>) -> Result<(), ConfigFault> {
        let values = entry.option_values()?;
        let is_path = self.table.find(name).is_some_and(|key| key.is_path);
        for (value, span) in values.iter().zip(entry.value_spans()) {
            if is_path {
                self.add_path(name, value, span);
                continue;
            }
            let value = if name == TOOLS { self.source(value.clone()) } else { value.clone() };
            self.places.add(name, &value, span);
            self.arguments.push(format!("--{name}={value}"));
        }
        self.settings.push(Setting::from_option(name, &values, self.line(entry)));
        Ok(())
    }

    fn read_journal(&mut self, table: &TableEntry<'_>, faults: &mut Faults) -> Result<(), ConfigFault> {
        for entry in journal_table().check_table(table, faults) {
            match entry.name() {
                "file" => self.add_path(JOURNAL, &entry.text()?, entry.value.span()),
                "key-retention" => self.retention.keys = Some(entry.time()?),
                "run-retention" => self.retention.runs = Some(entry.time()?),
                name => self.arguments.push(format!("--{name}={}", entry.flag()?)),
            }
            self.add_setting(&entry, &format!("{JOURNAL}.{}", entry.name()), false);
        }
        Ok(())
    }

    fn line(&self, entry: &TableEntry<'_>) -> usize {
        line_of(&self.file.text, &entry.key.span())
    }

    fn add_setting(&mut self, entry: &TableEntry<'_>, key: &str, is_harmless: bool) {
        self.settings.push(Setting::from_value(key, shown(entry.value.get_ref()), self.line(entry), is_harmless));
    }

    /// Adds an option whose value is a file, from the folder of the configuration.
    fn add_path(&mut self, name: &str, path: &str, span: Range<usize>) {
        let path = self.file.folder().join(path).display().to_string();
        self.places.add(name, &path, span);
        self.arguments.push(format!("--{name}={path}"));
    }

    /// The word for a source; one that is a file starts from the folder of the configuration.
    fn source(&self, word: String) -> String {
        let path = self.file.folder().join(&word);
        let is_file = !word.contains("://") && !self.file.folder().as_os_str().is_empty() && Path::new(&path).is_file();
        if is_file { path.to_string_lossy().into_owned() } else { word }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        let file = ConfigFile::from_text(text);
        parse_file(&file, "serve").map(|(content, _)| content.options).map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_kind_of_option_can_stand_in_a_file() {
        let options = parse(
            r#"
            sources = ["a.json", "http://b"]
            port = 8080
            host = "::1"
            enable-stop = true
            cors = false
            drain-timeout = "2m"
            drain-delay = 3
            journal = "calls.sqlite"
            "#,
        )
        .unwrap();
        assert_eq!(options.set.sources, ["a.json", "http://b"]);
        assert_eq!((options.port, options.host.as_deref()), (Some(8080), Some("::1")));
        assert_eq!((options.enable_stop, options.cors, options.insecure_no_auth), (Some(true), Some(false), None));
        assert_eq!(options.drain_timeout, Some(Duration::from_secs(120)));
        assert_eq!(options.drain_delay, Some(Duration::from_secs(3)));
        assert_eq!(options.journal.as_deref(), Some(Path::new("calls.sqlite")));
    }

    #[test]
    fn limits_and_keys_of_sources_can_stand_in_a_file() {
        let options = parse(
            r#"
            max-body = "512k"
            max-result = "4M"
            max-buffered = 1048576
            max-connections = 10
            max-calls = 5
            timeout = "2m"
            half-close-timeout = "0s"
            ca-file = "ca.pem"
            source-api-key-env = ["A", "http://b=B"]
            source-api-key-file = "key"
            "#,
        )
        .unwrap();
        assert_eq!((options.set.max_body, options.set.max_result), (Some(512 << 10), Some(4 << 20)));
        assert_eq!(options.max_buffered, Some(1 << 20));
        assert_eq!(options.max_connections.map(usize::from), Some(10));
        assert_eq!(options.set.max_calls.map(usize::from), Some(5));
        assert_eq!(options.set.libraries.timeout(), Some(Duration::from_secs(120)));
        assert_eq!(options.half_close_timeout, Some(Duration::ZERO));
        assert!(options.set.certificates.read().is_err(), "there is no such file");
        assert!(options.set.source_keys.read().is_err());
    }

    #[test]
    fn tables_say_more_about_the_journal_and_the_page() {
        let options = parse(
            "[journal]\nfile = \"a.sqlite\"\nrun-unrecorded = true\nkey-retention = \"1h\"\n[page]\nenabled = false\n",
        )
        .unwrap();
        assert_eq!(options.journal.as_deref(), Some(Path::new("a.sqlite")));
        assert_eq!((options.run_unrecorded, options.page_enabled), (Some(true), Some(false)));
        assert_eq!(options.retention.keys, Some(Duration::from_secs(3600)));
        assert_eq!(options.retention.runs, None);
    }

    #[test]
    fn errors_name_the_key_and_show_no_secret() {
        for (text, problem, help) in [
            ("prot = 1", "the file has no key `prot`", "did you mean `port`?"),
            ("drain_timeout = 1", "the file has no key `drain_timeout`", "did you mean `drain-timeout`?"),
            ("toolPort = 1", "the file has no key `toolPort`", "did you mean `port`?"),
            ("[server]\nport = 1", "the file has no key `server`", "at the top of the file, without a table"),
            ("kind = \"demo\"", "the file has no key `kind`", "below a line `[sources.NAME]`"),
            ("[port]", "`port` must be a number, not a table", ""),
            ("port = [1]", "`port` must be a number, not a list", ""),
            ("port = 70000", "`port` cannot be `70000`: 70000 is not in 0..=65535", ""),
            ("enable-stop = \"maybe\"", "`enable-stop` must be true or false, not a text", ""),
            ("approval = \"caler\"", "`approval` cannot be `caler`", "did you mean \"caller\"?"),
            ("timeout = \"soon\"", "`timeout`: write a time such as 500ms, 35s or 2m", ""),
            ("max-body = \"much\"", "`max-body` cannot be `much`: write a size such as 512k, 16M or 1G", ""),
            ("allow = \"everything\"", "`allow` cannot be `everything`", ""),
            (
                "api-key = \"planted\"",
                "`api-key` is secret and must not stand in the file",
                "`api-key = { env = \"VARIABLE\" }`",
            ),
            ("api-key = [{ env = \"A\" }, \"planted\"]", "`api-key` is secret", ""),
            ("source-api-key = \"planted\"", "the file has no key `source-api-key`", "`source-api-key-env`"),
            ("[journal]\nfiel = \"a\"", "`[journal]` has no key `fiel`", "did you mean `file`?"),
            ("[page]\nenabled = 1", "`enabled` must be true or false, not a number", ""),
            ("\napi-key = \"planted", "invalid basic string, expected `\"`\n --> opentool.toml:2:19", ""),
        ] {
            let error = parse(text).map(drop).unwrap_err();
            assert!(error.contains(problem) && error.contains(help), "{text}:\n{error}");
            assert!(!error.contains("planted") && error.contains(" --> opentool.toml:"), "{text}:\n{error}");
        }
        assert!(parse("qqq = 1").unwrap_err().contains("there are sources, mcp, tools, "));
    }

    #[test]
    fn all_faults_are_reported_at_once_in_the_order_of_the_file() {
        let error = parse(
            "prot = 1\nhost = 7\n[sources.a]\nkind = \"mpc\"\n[sources.b]\nkind = \"demo\"\nonyl = []\n\
             [sources.b.tool.add]\ntimeout = true\n[model]\nname = 1\n",
        );
        let error = error.map(drop).unwrap_err();
        let places: Vec<_> = error.lines().filter_map(|line| line.trim().strip_prefix("--> opentool.toml:")).collect();
        assert_eq!(places, ["1:1", "2:8", "4:8", "7:1", "9:11", "10:2", "11:8"], "{error}");
    }
}
