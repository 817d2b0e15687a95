//! Reads `[sources.NAME]`: [`read`].

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args as _, FromArgMatches as _, ValueEnum as _};
use opentool_spec::json::near;
use toml::de::{DeTable, DeValue};

use super::{
    call_gate::CallGate,
    rules::{Approver, CallLimits, ToolRule, ToolRules},
    table::{McpOrigin, SourceOrigin, SourceTable, TablePlaces},
};
use crate::{
    config_fault::{ConfigFault, Faults, option_problem},
    config_keys::{ConfigKey, ConfigTable, ValueForm, quoted},
    config_value::{SecretText, TableEntry, entries, line_of, shown},
    libraries::{LibraryOptions, TIMEOUT},
    setting::{SOURCES, Setting},
    size::size,
    time::some_time,
};

/// The key that says what a source is.
const SOURCE_KIND: &str = "kind";

/// The key that says what a C library may do.
const ALLOW: &str = "allow";

/// What a source can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceKind {
    Mcp,
    OpenTool,
    Library,
    Workflow,
    Demo,
}

impl SourceKind {
    const ALL: [(&str, SourceKind); 5] = [
        ("mcp", SourceKind::Mcp),
        ("opentool", SourceKind::OpenTool),
        ("library", SourceKind::Library),
        ("workflow", SourceKind::Workflow),
        ("demo", SourceKind::Demo),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// The keys that a source of this kind may have.
    fn table(self) -> ConfigTable {
        let kinds = Self::ALL.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut keys = vec![ConfigKey::new(SOURCE_KIND, ValueForm::Choice(kinds), "What the source is").required()];
        keys.extend(self.own_keys());
        let rules = rule_keys(self).into_iter().filter(|rule| !keys.iter().any(|key| key.name == rule.name));
        let rules: Vec<_> = rules.collect();
        keys.extend(rules);
        ConfigTable::new(format!("a source of the kind `{}`", self.name()), keys)
    }

    /// The keys that only this kind has.
    fn own_keys(self) -> Vec<ConfigKey> {
        let key = ConfigKey::new;
        match self {
            SourceKind::Mcp => vec![
                key("command", ValueForm::Text, "The program that is the server; started when its tools are needed"),
                key("args", ValueForm::Texts, "The arguments of the program"),
                key(
                    "env",
                    ValueForm::Pairs,
                    "Variables of the program's environment, besides a few that every program gets",
                ),
                key("cwd", ValueForm::Text, "The folder that the program is started in [default: that of the file]"),
                key("url", ValueForm::Url, "The URL of a server that runs already"),
                key("key", ValueForm::Secret, "The key of that server, sent as a bearer token"),
                key("headers", ValueForm::Pairs, "Headers of every request to that server"),
            ],
            SourceKind::OpenTool => vec![
                key("url", ValueForm::Url, "The base URL of an OpenTool server"),
                key("document", ValueForm::Text, "An OpenTool document, which names its server"),
                key("key", ValueForm::Secret, "The API key of the server"),
            ],
            SourceKind::Library => {
                let document = key("document", ValueForm::Text, "The OpenDyn document that describes the C library");
                let mut keys = vec![document.required()];
                keys.extend(ConfigTable::keys_from_options(&library_command()));
                keys
            }
            SourceKind::Workflow => vec![
                key("document", ValueForm::Text, "The OpenWorkflow document").required(),
                key(
                    "tools",
                    ValueForm::Texts,
                    "The sources of the functions that its steps call: names of this file, URLs, documents or `demo`",
                ),
            ],
            SourceKind::Demo => Vec::new(),
        }
    }
}

/// The keys of every kind.
fn rule_keys(kind: SourceKind) -> Vec<ConfigKey> {
    let key = ConfigKey::new;
    vec![
        key("prefix", ValueForm::Text, "What the names of its tools begin with here"),
        key(
            "only",
            ValueForm::Texts,
            "The tools that there are, by the names that the source itself has [default: all]",
        ),
        key("except", ValueForm::Texts, "Tools that are left out"),
        key("timeout", ValueForm::Time, "How long a call may run"),
        key("max-result", ValueForm::Size, "How large the result of a call may be"),
        key(
            "max-calls",
            ValueForm::Count,
            "How many calls of its tools may run at once; further ones wait, which counts as running",
        ),
        key(
            "max-calls-per-turn",
            ValueForm::Count,
            "How often a model may call each of its tools in one turn of a chat",
        ),
        key("read-only", ValueForm::Texts, "Tools that only read; the word of a server is not taken for it"),
        key("destructive", ValueForm::Texts, "Tools that destroy something"),
        key("idempotent", ValueForm::Texts, "Tools whose call may be sent again where its server was in trouble"),
        key("needs-approval", ValueForm::Texts, "Tools whose calls need approval"),
        key(
            "approval",
            approver_form(),
            "Who approves calls that need it: no one (deny), or the caller's side, which is then asked also about tools that destroy something",
        ),
        key("tool", ValueForm::Named(tool_table(kind)), "What is known about one tool: `[sources.NAME.tool.TOOL]`"),
    ]
}

/// What can be said about one tool.
fn tool_table(kind: SourceKind) -> ConfigTable {
    let key = ConfigKey::new;
    let keys = vec![
        key("timeout", ValueForm::Time, "How long a call may run"),
        key("max-result", ValueForm::Size, "How large the result of a call may be"),
        key(
            "max-calls",
            ValueForm::Count,
            "How many of its calls may run at once; further ones wait, which counts as running",
        ),
        key("max-calls-per-turn", ValueForm::Count, "How often a model may call it in one turn of a chat"),
        key("read-only", ValueForm::Flag, "Whether it only reads"),
        key("destructive", ValueForm::Flag, "Whether it destroys something"),
        key("idempotent", ValueForm::Flag, "Whether its call may be sent again where its server was in trouble"),
        key("needs-approval", ValueForm::Flag, "Whether its calls need approval"),
        key("approval", approver_form(), "Who approves its calls, which then need approval"),
    ];
    match kind {
        SourceKind::Library => ConfigTable::new("a tool", keys.into_iter().chain(library_grants()).collect()),
        _ => ConfigTable::new("a tool", keys)
            .with_instead(ALLOW, "it is for the functions of a C library: `kind = \"library\"`"),
    }
}

fn approver_form() -> ValueForm {
    let names =
        Approver::value_variants().iter().filter_map(|who| Some(who.to_possible_value()?.get_name().to_owned()));
    ValueForm::Choice(names.collect())
}

/// What `sources` may be where it is no list.
pub(crate) fn source_form() -> ValueForm {
    let tables = SourceKind::ALL.iter().map(|(name, kind)| ((*name).to_owned(), kind.table()));
    ValueForm::ByKind(SOURCE_KIND, tables.collect())
}

/// What a function may do in place of what its library may, as the option of a command line has it.
fn library_grants() -> Option<ConfigKey> {
    let mut key = ConfigTable::keys_from_options(&library_command()).into_iter().find(|key| key.name == ALLOW)?;
    key.doc =
        "What the function may do, in place of what the library may; it then runs in another process than the others"
            .to_owned();
    Some(key)
}

fn library_command() -> clap::Command {
    let command = clap::Command::new("library").no_binary_name(true).disable_help_flag(true);
    LibraryOptions::augment_args(command)
}

/// Reads the tables of a file; none where its `sources` is a list.
pub(crate) fn read(file: &DeTable<'_>, text: &str, folder: &Path, faults: &mut Faults) -> Vec<SourceTable> {
    let found = entries(file).into_iter().find(|entry| entry.name() == SOURCES);
    let Some(DeValue::Table(tables)) = found.as_ref().map(|entry| entry.value.get_ref()) else {
        return Vec::new();
    };
    let read = |entry| {
        let reader = faults.take(TableReader::new(text, folder, entry))?;
        reader.read(faults)
    };
    entries(tables).into_iter().filter_map(read).collect()
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
            return Err(table.key_fault(message).with_help("give the source another name"));
        }
        Ok(TableReader { text, folder, table, entries, kind })
    }

    /// Checks everything that stands in the table, and reads it where all of that is right.
    fn read(&self, faults: &mut Faults) -> Option<SourceTable> {
        let before = faults.len();
        self.kind.table().check(Some(&self.table), &self.entries, faults);
        let tools = self.get("tool").map(|tools| self.tools(tools, faults)).unwrap_or_default();
        if self.kind == SourceKind::Library {
            self.check_functions(&tools, faults);
        }
        if faults.len() > before {
            return None;
        }
        faults.take(self.read_sound(tools))
    }

    fn read_sound(&self, tools: Vec<(String, ToolRule)>) -> Result<SourceTable, ConfigFault> {
        let origin = match self.kind {
            SourceKind::Demo => SourceOrigin::Demo,
            SourceKind::OpenTool => self.opentool()?,
            SourceKind::Library => self.library()?,
            SourceKind::Workflow => self.workflow()?,
            SourceKind::Mcp => SourceOrigin::Mcp(self.mcp()?),
        };
        let rules = ToolRules { tools, ..self.rules()? };
        let (name, settings, places) = (self.table.name().to_owned(), self.settings(), self.places());
        Ok(SourceTable { name, origin, rules, settings, places })
    }

    /// What is said about single tools.
    fn tools(&self, tools: &TableEntry<'a>, faults: &mut Faults) -> Vec<(String, ToolRule)> {
        let table = tool_table(self.kind);
        let read = |tool: TableEntry<'a>| {
            if !matches!(tool.value.get_ref(), DeValue::Table(_)) {
                let help =
                    format!("write `[{SOURCES}.{}.tool.{}]`, and its keys below it", self.table.name(), tool.name());
                faults.add(tool.key_fault(format!("`{}` must be a table", tool.name())).with_help(help));
                return None;
            }
            let sound = table.check_table(&tool, faults);
            faults.take(tool_rule(&sound)).map(|rule| (tool.name().to_owned(), rule))
        };
        tools.entries().unwrap_or_default().into_iter().filter_map(read).collect()
    }

    /// Finds what the process of a library cannot enforce for one of its functions.
    fn check_functions(&self, tools: &[(String, ToolRule)], faults: &mut Faults) {
        let is_in_process = self.get("isolation").and_then(|entry| entry.text().ok()).as_deref() == Some("none");
        let timeout = self.get("timeout").map_or(Ok(TIMEOUT), some_time_of).unwrap_or(TIMEOUT);
        let given = self.get("tool").and_then(|tools| tools.entries().ok()).unwrap_or_default();
        for tool in &given {
            let rule = tools.iter().find(|(name, _)| name == tool.name()).map(|(_, rule)| rule);
            let entries = tool.entries().unwrap_or_default();
            let entry = |key: &str| entries.iter().find(|entry| entry.name() == key);
            if let (true, Some(entry)) = (is_in_process, entry(ALLOW)) {
                let fault = entry.key_fault("`allow` has no effect with `isolation = \"none\"`");
                faults.add(fault.with_help("in this process nothing limits a library; leave one of them out"));
            }
            let own = rule.and_then(|rule| rule.timeout).filter(|own| !is_in_process && *own > timeout);
            if let (Some(entry), Some(own)) = (entry("timeout"), own) {
                let message = format!("the process of the library is ended after {timeout:?}, before {own:?} are over");
                let help = format!("set `timeout` of `[{SOURCES}.{}]` to at least that", self.table.name());
                faults.add(entry.fault(message).with_help(help));
            }
        }
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

    fn opentool(&self) -> Result<SourceOrigin, ConfigFault> {
        let key = self.key()?;
        match (self.text_of("url")?, self.text_of("document")?) {
            (Some(_), None) => Ok(SourceOrigin::Url { url: self.url()?, key }),
            (None, Some(document)) => Ok(SourceOrigin::Document { document: self.folder.join(document), key }),
            _ => Err(self.fault("a source of the kind `opentool` needs either `url` or `document`")),
        }
    }

    fn library(&self) -> Result<SourceOrigin, ConfigFault> {
        let document = self.folder.join(self.text_of("document")?.unwrap_or_default());
        let command = library_command();
        let mut arguments = Vec::new();
        let names: Vec<_> = command.get_arguments().filter_map(|option| option.get_long().map(str::to_owned)).collect();
        for entry in self.entries.iter().filter(|entry| names.iter().any(|name| name == entry.name())) {
            for value in entry.option_values()? {
                let value = if entry.name() == "library" { self.path(&value) } else { value };
                arguments.push(format!("--{}={value}", entry.name()));
            }
        }
        let options =
            command.try_get_matches_from(arguments).and_then(|given| LibraryOptions::from_arg_matches(&given));
        let options = options.map_err(|error| self.fault(option_problem(&error)))?;
        Ok(SourceOrigin::Library { document, options: Box::new(options) })
    }

    fn workflow(&self) -> Result<SourceOrigin, ConfigFault> {
        let document = self.folder.join(self.text_of("document")?.unwrap_or_default());
        Ok(SourceOrigin::Workflow { document, tools: self.texts_of("tools")? })
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
        let timeout = self.get("timeout").map(some_time_of).transpose()?;
        let approval = self.get("approval").map(approver).transpose()?;
        Ok(ToolRules {
            prefix: self.text_of("prefix")?.unwrap_or_default(),
            only: self.get("only").map(TableEntry::texts).transpose()?,
            except: self.texts_of("except")?,
            timeout,
            limits: call_limits(|key| self.get(key))?,
            read_only: self.texts_of("read-only")?,
            destructive: self.texts_of("destructive")?,
            idempotent: self.texts_of("idempotent")?,
            needs_approval: self.texts_of("needs-approval")?,
            approval,
            tools: Vec::new(),
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

    fn places(&self) -> TablePlaces {
        let own = self.entries.iter().map(|entry| (entry.name().to_owned(), entry.value.span()));
        let tools = self.get("tool").and_then(|tools| tools.entries().ok()).unwrap_or_default();
        let tools = tools.iter().map(|tool| (format!("tool.{}", tool.name()), tool.key.span()));
        TablePlaces { header: self.table.key.span(), keys: own.chain(tools).collect() }
    }

    /// A path from the folder of the file; a name without a folder is looked up by the system.
    fn path(&self, name: &str) -> String {
        if name.contains('/') { self.folder.join(name).to_string_lossy().into_owned() } else { name.to_owned() }
    }
}

fn some_time_of(entry: &TableEntry<'_>) -> Result<Duration, ConfigFault> {
    let text = entry.option_values()?.concat();
    some_time(&text).map_err(|problem| entry.fault(format!("`{}`: {problem}", entry.name())))
}

fn call_limits<'a, 'b: 'a>(get: impl Fn(&str) -> Option<&'a TableEntry<'b>>) -> Result<CallLimits, ConfigFault> {
    Ok(CallLimits {
        max_result: get("max-result").map(size_of).transpose()?,
        max_calls: get("max-calls").map(TableEntry::count).transpose()?.map(CallGate::new),
        max_calls_per_turn: get("max-calls-per-turn").map(TableEntry::count).transpose()?,
    })
}

fn size_of(entry: &TableEntry<'_>) -> Result<usize, ConfigFault> {
    let text = entry.option_values()?.concat();
    size(&text).map_err(|problem| entry.fault(format!("`{}`: {problem}", entry.name())))
}

fn approver(entry: &TableEntry<'_>) -> Result<Approver, ConfigFault> {
    Approver::from_str(&entry.text()?, false).map_err(|problem| entry.fault(problem))
}

fn tool_rule(entries: &[TableEntry<'_>]) -> Result<ToolRule, ConfigFault> {
    let get = |key: &str| entries.iter().find(|entry| entry.name() == key);
    let flag = |key: &str| get(key).map(TableEntry::flag).transpose();
    Ok(ToolRule {
        timeout: get("timeout").map(some_time_of).transpose()?,
        limits: call_limits(get)?,
        allow: get(ALLOW).map(TableEntry::texts).transpose()?,
        read_only: flag("read-only")?,
        destructive: flag("destructive")?,
        idempotent: flag("idempotent")?,
        needs_approval: flag("needs-approval")?,
        approval: get("approval").map(approver).transpose()?,
    })
}

/// What others call a kind, or what they would look for.
const OTHER_WORDS: [(&str, &str); 5] = [
    ("document", "opentool"),
    ("http", "opentool"),
    ("dyn", "library"),
    ("opendyn", "library"),
    ("openworkflow", "workflow"),
];

fn kind(table: TableEntry<'_>, entries: &[TableEntry<'_>]) -> Result<SourceKind, ConfigFault> {
    let listed = quoted(&SourceKind::ALL.map(|(name, _)| name));
    let Some(entry) = entries.iter().find(|entry| entry.name() == SOURCE_KIND) else {
        let message = format!("the source `{}` has no `{SOURCE_KIND}`", table.name());
        return Err(table.key_fault(message).with_help(format!("write `{SOURCE_KIND} = …`, one of {listed}")));
    };
    let text = entry.text()?;
    if let Some((_, kind)) = SourceKind::ALL.iter().find(|(name, _)| *name == text) {
        return Ok(*kind);
    }
    let fault = entry.fault(format!("there is no kind of sources `{text}`"));
    let other = OTHER_WORDS.iter().find(|(word, _)| *word == text).map(|(_, kind)| *kind);
    let near = near::names(&text, SourceKind::ALL.iter().map(|(name, _)| *name), 1).first().copied();
    Err(fault.with_help(match other.or(near) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("there are {listed}"),
    }))
}
