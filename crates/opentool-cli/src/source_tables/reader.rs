//! Reads `[sources.NAME]`: [`read`].

use std::path::{Path, PathBuf};

use clap::{Args as _, FromArgMatches as _, ValueEnum as _};
use opentool_spec::json::near;
use toml::de::{DeTable, DeValue};

use super::{
    rules::{Approver, ToolRules},
    table::{McpOrigin, SourceOrigin, SourceTable},
};
use crate::{
    config_fault::ConfigFault,
    config_value::{SecretText, TableEntry, entries, line_of, shown},
    libraries::LibraryOptions,
    setting::{SOURCES, Setting},
    time::some_time,
};

const KIND: &str = "kind";

/// What a source can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceKind {
    Mcp,
    OpenTool,
    Library,
    Demo,
}

impl SourceKind {
    const ALL: [(&str, SourceKind); 4] = [
        ("mcp", SourceKind::Mcp),
        ("opentool", SourceKind::OpenTool),
        ("library", SourceKind::Library),
        ("demo", SourceKind::Demo),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The keys that only this kind has.
    fn own_keys(self) -> Vec<String> {
        let keys: &[&str] = match self {
            SourceKind::Mcp => &["command", "args", "env", "cwd", "url", "key", "headers"],
            SourceKind::OpenTool => &["url", "document", "key"],
            SourceKind::Library => &["document"],
            SourceKind::Demo => &[],
        };
        let mut keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
        if self == SourceKind::Library {
            let options = library_command();
            keys.extend(options.get_arguments().filter_map(|option| option.get_long().map(str::to_owned)));
        }
        keys
    }
}

/// The keys of every kind.
const RULES: [&str; 9] =
    ["prefix", "only", "except", "timeout", "read-only", "destructive", "idempotent", "needs-approval", "approval"];

fn library_command() -> clap::Command {
    let command = clap::Command::new("library").no_binary_name(true).disable_help_flag(true);
    LibraryOptions::augment_args(command)
}

/// Reads the tables of a file; none where its `sources` is a list.
pub(super) fn read(text: &str, folder: &Path) -> Result<Vec<SourceTable>, ConfigFault> {
    let file =
        DeTable::parse(text).map_err(|error| ConfigFault::new(error.span().unwrap_or_default(), error.message()))?;
    let found = entries(file.get_ref()).into_iter().find(|entry| entry.name() == SOURCES);
    let Some(DeValue::Table(tables)) = found.as_ref().map(|entry| entry.value.get_ref()) else {
        return Ok(Vec::new());
    };
    entries(tables).into_iter().map(|entry| TableReader::new(text, folder, entry)?.read()).collect()
}

/// Whether a word of the command line can be the name of a table.
pub(super) fn is_table_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// A table that is being read.
struct TableReader<'a> {
    text: &'a str,
    /// The folder that paths start from.
    folder: &'a Path,
    table: TableEntry<'a>,
    entries: Vec<TableEntry<'a>>,
    kind: SourceKind,
}

impl<'a> TableReader<'a> {
    fn new(text: &'a str, folder: &'a Path, table: TableEntry<'a>) -> Result<Self, ConfigFault> {
        let name = table.name();
        if !is_table_name(name) {
            let message = format!("`{name}` cannot be the name of a source");
            return Err(
                ConfigFault::new(table.key.span(), message).with_help("a name has ASCII letters, digits, `-` and `_`")
            );
        }
        let DeValue::Table(inner) = table.value.get_ref() else {
            let message = format!("`{SOURCES}.{name}` must be a table");
            return Err(ConfigFault::new(table.key.span(), message)
                .with_help(format!("write `[{SOURCES}.{name}]`, and its keys below it")));
        };
        let entries = entries(inner);
        let kind = kind(table, &entries)?;
        if name == "demo" && kind != SourceKind::Demo {
            let message = "`demo` is the word for the tools that come with this program";
            return Err(ConfigFault::new(table.key.span(), message).with_help("give the source another name"));
        }
        Ok(TableReader { text, folder, table, entries, kind })
    }

    fn read(&self) -> Result<SourceTable, ConfigFault> {
        self.check_keys()?;
        let origin = match self.kind {
            SourceKind::Demo => SourceOrigin::Demo,
            SourceKind::OpenTool => self.opentool()?,
            SourceKind::Library => self.library()?,
            SourceKind::Mcp => SourceOrigin::Mcp(self.mcp()?),
        };
        let rules = self.rules()?;
        Ok(SourceTable { name: self.table.name().to_owned(), origin, rules, settings: self.settings() })
    }

    fn get(&self, key: &str) -> Option<&TableEntry<'a>> {
        self.entries.iter().find(|entry| entry.name() == key)
    }

    fn text_of(&self, key: &str) -> Result<Option<String>, ConfigFault> {
        self.get(key).map(TableEntry::text).transpose()
    }

    fn texts_of(&self, key: &str) -> Result<Vec<String>, ConfigFault> {
        Ok(self.get(key).map(TableEntry::texts).transpose()?.unwrap_or_default())
    }

    fn url(&self) -> Result<String, ConfigFault> {
        self.get("url").map(TableEntry::http_url).transpose().map(Option::unwrap_or_default)
    }

    fn key(&self) -> Result<Option<SecretText>, ConfigFault> {
        self.get("key").map(|entry| entry.secret(self.folder)).transpose()
    }

    /// A fault of the table as a whole.
    fn fault(&self, message: impl Into<String>) -> ConfigFault {
        ConfigFault::new(self.table.key.span(), message)
    }

    fn check_keys(&self) -> Result<(), ConfigFault> {
        let own = self.kind.own_keys();
        let known: Vec<&str> = [KIND].into_iter().chain(own.iter().map(String::as_str)).chain(RULES).collect();
        let Some(unknown) = self.entries.iter().find(|entry| !known.contains(&entry.name())) else { return Ok(()) };
        let (name, kind) = (unknown.name(), self.kind.name());
        let fault = ConfigFault::new(unknown.key.span(), format!("a source of the kind `{kind}` has no key `{name}`"));
        Err(fault.with_help(match near::names(name, known.iter().copied(), 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        }))
    }

    fn opentool(&self) -> Result<SourceOrigin, ConfigFault> {
        let key = self.key()?;
        match (self.text_of("url")?, self.text_of("document")?) {
            (Some(_), None) => Ok(SourceOrigin::Url { url: self.url()?, key }),
            (None, Some(document)) => Ok(SourceOrigin::Document { document: self.folder.join(document), key }),
            _ => Err(self.fault("a source of the kind `opentool` needs either `url` or `document`")),
        }
    }

    fn library(&self) -> Result<SourceOrigin, ConfigFault> {
        let Some(document) = self.text_of("document")? else {
            return Err(self.fault("a source of the kind `library` needs `document`, which describes the library"));
        };
        let mut command = library_command();
        let mut arguments = Vec::new();
        let names: Vec<_> = command.get_arguments().filter_map(|option| option.get_long().map(str::to_owned)).collect();
        for entry in self.entries.iter().filter(|entry| names.iter().any(|name| name == entry.name())) {
            for value in entry.option_values()? {
                let value = if entry.name() == "library" { self.path(&value) } else { value };
                let argument = format!("--{}={value}", entry.name());
                // One by one, so that a fault has its place.
                command.try_get_matches_from_mut([&argument]).map_err(|error| entry.fault(first_line(&error)))?;
                arguments.push(argument);
            }
        }
        let options =
            command.try_get_matches_from(arguments).and_then(|given| LibraryOptions::from_arg_matches(&given));
        let options = options.map_err(|error| self.fault(first_line(&error)))?;
        Ok(SourceOrigin::Library { document: self.folder.join(document), options: Box::new(options) })
    }

    fn mcp(&self) -> Result<McpOrigin, ConfigFault> {
        let place = match (self.text_of("command")?, self.text_of("url")?) {
            (Some(command), None) => {
                let environment = self.pairs("env")?;
                let folder = self.text_of("cwd")?.map_or_else(|| self.folder.to_owned(), |cwd| self.folder.join(cwd));
                let program = PathBuf::from(self.path(&command));
                McpOrigin::Command { program, arguments: self.texts_of("args")?, environment, folder }
            }
            (None, Some(_)) => McpOrigin::Url { url: self.url()?, key: self.key()?, headers: self.pairs("headers")? },
            _ => return Err(self.fault("a source of the kind `mcp` needs either `command` or `url`")),
        };
        let (others, why) = match place {
            McpOrigin::Command { .. } => (["key", "headers", ""], "goes with `url`, and this source has a `command`"),
            McpOrigin::Url { .. } => (["args", "env", "cwd"], "goes with `command`, and this source has a `url`"),
        };
        match self.entries.iter().find(|entry| others.contains(&entry.name())) {
            Some(entry) => Err(ConfigFault::new(entry.key.span(), format!("`{}` {why}", entry.name()))),
            None => Ok(place),
        }
    }

    fn pairs(&self, key: &str) -> Result<Vec<(String, SecretText)>, ConfigFault> {
        let Some(entry) = self.get(key) else { return Ok(Vec::new()) };
        let pairs = entry.entries()?.into_iter();
        pairs.map(|pair| Ok((pair.name().to_owned(), pair.text_or_secret(self.folder)?))).collect()
    }

    fn rules(&self) -> Result<ToolRules, ConfigFault> {
        let timeout = match self.get("timeout") {
            Some(entry) => {
                let values = entry.option_values()?;
                let time = values.first().map(|text| some_time(text)).transpose();
                time.map_err(|problem| entry.fault(format!("`timeout`: {problem}")))?
            }
            None => None,
        };
        let approval = match self.get("approval") {
            Some(entry) => {
                let text = entry.text()?;
                let approver = Approver::from_str(&text, false);
                Some(approver.map_err(|_| {
                    entry
                        .fault(format!("`approval` cannot be `{text}`"))
                        .with_help("write \"caller\", which asks the caller's side, or \"deny\"")
                })?)
            }
            None => None,
        };
        Ok(ToolRules {
            prefix: self.text_of("prefix")?.unwrap_or_default(),
            only: self.get("only").map(TableEntry::texts).transpose()?,
            except: self.texts_of("except")?,
            timeout,
            read_only: self.texts_of("read-only")?,
            destructive: self.texts_of("destructive")?,
            idempotent: self.texts_of("idempotent")?,
            needs_approval: self.texts_of("needs-approval")?,
            approval,
        })
    }

    fn settings(&self) -> Vec<Setting> {
        let is_harmless = self.kind == SourceKind::Demo && self.get("approval").is_none();
        let setting = |entry: &TableEntry<'_>| {
            let line = line_of(self.text, &entry.key.span());
            let shown = shown(entry.value.get_ref());
            Setting::from_table(&format!("{SOURCES}.{}", self.table.name()), entry.name(), shown, line, is_harmless)
        };
        self.entries.iter().map(setting).collect()
    }

    /// A path from the folder of the file; a name without a folder is looked up by the system.
    fn path(&self, name: &str) -> String {
        if name.contains('/') { self.folder.join(name).to_string_lossy().into_owned() } else { name.to_owned() }
    }
}

fn kind(table: TableEntry<'_>, entries: &[TableEntry<'_>]) -> Result<SourceKind, ConfigFault> {
    let listed = SourceKind::ALL.map(|(name, _)| format!("\"{name}\"")).join(", ");
    let Some(entry) = entries.iter().find(|entry| entry.name() == KIND) else {
        let message = format!("the source `{}` has no `{KIND}`", table.name());
        return Err(
            ConfigFault::new(table.key.span(), message).with_help(format!("write `{KIND} = …`, one of {listed}"))
        );
    };
    let text = entry.text()?;
    if let Some((_, kind)) = SourceKind::ALL.iter().find(|(name, _)| *name == text) {
        return Ok(*kind);
    }
    let fault = entry.fault(format!("there is no kind of sources `{text}`"));
    Err(fault.with_help(match near::names(&text, SourceKind::ALL.iter().map(|(name, _)| *name), 1).first() {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("there are {listed}"),
    }))
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
