//! Which keys a configuration file may have, and what may stand behind them: [`ConfigTable`].
//!
//! The reader and the JSON Schema for editors are both made of these tables, so that they cannot differ.

use std::{any::TypeId, num::NonZeroUsize, path::PathBuf, time::Duration};

use opentool_dyn::MemorySize;
use opentool_spec::json::near;
use toml::de::DeValue;

use crate::{
    config_fault::{ConfigFault, Faults},
    config_value::{TableEntry, entries},
    time::duration,
};

/// The keys of a table.
#[derive(Debug, Clone)]
pub(crate) struct ConfigTable {
    /// What it is called in messages.
    what: String,
    pub(crate) keys: Vec<ConfigKey>,
    /// Words that are no keys, and what to write instead.
    instead: Vec<(String, String)>,
}

/// A key of a table.
#[derive(Debug, Clone)]
pub(crate) struct ConfigKey {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) form: ValueForm,
    pub(crate) is_required: bool,
    /// Whether its value is the path of a file.
    pub(crate) is_path: bool,
    /// The option of a command line that must take the value.
    option: Option<clap::Command>,
}

/// What may stand behind a key.
#[derive(Debug, Clone)]
pub(crate) enum ValueForm {
    Text,
    /// A text, or a list of texts.
    Texts,
    Flag,
    Number,
    /// A number that is not zero.
    Count,
    /// Seconds, or a text such as `500ms`.
    Time,
    /// Bytes, or a text such as `16M`.
    Size,
    Choice(Vec<String>),
    /// An address of HTTP.
    Url,
    /// A text that stands in the environment or in a file of its own.
    Secret,
    /// One or several of those.
    Secrets,
    /// A table of texts; what has the name of a secret stands in the environment or a file.
    Pairs,
    Table(ConfigTable),
    /// Tables by names of the user's choice.
    Named(ConfigTable),
    /// Tables by names of the user's choice, whose keys depend on what stands behind this key of theirs.
    ByKind(&'static str, Vec<(String, ConfigTable)>),
    Either(Vec<ValueForm>),
}

impl ConfigKey {
    pub(crate) fn new(name: &str, form: ValueForm, doc: &str) -> Self {
        ConfigKey { name: name.to_owned(), doc: doc.to_owned(), form, is_required: false, is_path: false, option: None }
    }

    pub(crate) fn required(self) -> Self {
        ConfigKey { is_required: true, ..self }
    }

    /// Takes an option of a command line, which has the key's name.
    fn from_option(option: &clap::Arg) -> Option<Self> {
        let name = option.get_long()?;
        let doc = option.get_help().map(ToString::to_string).unwrap_or_default();
        // A list stands in its place.
        let doc = doc.trim_end_matches("repeatable").trim_end_matches([';', ',', ' ']).to_owned();
        let command = clap::Command::new("option").no_binary_name(true).disable_help_flag(true).arg(option.clone());
        let is_path = option.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let form = ValueForm::from_option(option);
        Some(ConfigKey { option: Some(command), is_path, ..ConfigKey::new(name, form, &doc) })
    }

    /// Checks a value.
    fn check(&self, entry: &TableEntry<'_>) -> Result<(), ConfigFault> {
        self.form.check(entry)?;
        let Some(option) = &self.option else { return Ok(()) };
        if matches!(self.form, ValueForm::Flag) {
            return Ok(());
        }
        // One by one, so that the fault has its place.
        for value in entry.option_values()? {
            let given = option.clone().try_get_matches_from([format!("--{}={value}", self.name)]);
            given.map_err(|error| entry.fault(refusal(&self.name, &value, &error)))?;
        }
        Ok(())
    }
}

/// Says why an option cannot have a value.
fn refusal(name: &str, value: &str, error: &clap::Error) -> String {
    match std::error::Error::source(error) {
        Some(reason) => format!("`{name}` cannot be `{value}`: {reason}"),
        None => format!("`{name}` cannot be `{value}`"),
    }
}

impl ValueForm {
    fn from_option(option: &clap::Arg) -> Self {
        let parser = option.get_value_parser();
        let is = |id: TypeId| parser.type_id() == id;
        let is_list = matches!(option.get_action(), clap::ArgAction::Append);
        let choices: Vec<_> = option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        if is(TypeId::of::<bool>()) {
            ValueForm::Flag
        } else if !choices.is_empty() {
            ValueForm::Choice(choices)
        } else if is(TypeId::of::<Duration>()) {
            ValueForm::Time
        } else if is(TypeId::of::<usize>()) || is(TypeId::of::<MemorySize>()) {
            ValueForm::Size
        } else if is(TypeId::of::<NonZeroUsize>()) {
            ValueForm::Count
        } else if is(TypeId::of::<u16>()) || is(TypeId::of::<u32>()) {
            ValueForm::Number
        } else if is_list {
            ValueForm::Texts
        } else {
            ValueForm::Text
        }
    }

    /// Checks a value; tables within it are checked by what reads them.
    fn check(&self, entry: &TableEntry<'_>) -> Result<(), ConfigFault> {
        let value = entry.value.get_ref();
        match self {
            ValueForm::Text => entry.text().map(drop),
            ValueForm::Texts => entry.texts().map(drop),
            ValueForm::Flag => entry.flag().map(drop),
            ValueForm::Number => match value {
                DeValue::Integer(_) => Ok(()),
                _ => Err(entry.wanted("a number")),
            },
            ValueForm::Count => entry.count().map(drop),
            ValueForm::Time => entry.time().map(drop),
            ValueForm::Size => match value {
                DeValue::Integer(_) | DeValue::String(_) => Ok(()),
                _ => Err(entry.wanted("a size such as \"512k\", \"16M\" or \"1G\"")),
            },
            ValueForm::Choice(choices) => {
                let text = entry.text()?;
                if choices.contains(&text) {
                    return Ok(());
                }
                let fault = entry.fault(format!("`{}` cannot be `{text}`", entry.name()));
                let near = near::names(&text, choices.iter().map(String::as_str), 1).first().copied();
                Err(fault.with_help(match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("there are {}", quoted(choices)),
                }))
            }
            ValueForm::Url => entry.http_url().map(drop),
            ValueForm::Secret => entry.secret("".as_ref()).map(drop),
            ValueForm::Secrets => entry.secrets("".as_ref()).map(drop),
            ValueForm::Pairs => {
                for pair in entry.entries()? {
                    pair.text_or_secret("".as_ref())?;
                }
                Ok(())
            }
            ValueForm::Table(_) | ValueForm::Named(_) | ValueForm::ByKind(..) => match value {
                DeValue::Table(_) => Ok(()),
                _ => Err(entry
                    .key_fault(format!("`{}` must be a table", entry.name()))
                    .with_help(format!("write `[{}]`, and its keys below it", entry.name()))),
            },
            ValueForm::Either(forms) => {
                let is_table = matches!(value, DeValue::Table(_));
                let of_tables = |form: &&ValueForm| {
                    matches!(form, ValueForm::Table(_) | ValueForm::Named(_) | ValueForm::ByKind(..))
                };
                let fitting = forms.iter().find(|form| of_tables(form) == is_table);
                fitting.map_or(Ok(()), |form| form.check(entry))
            }
        }
    }
}

/// The words of a choice, for a message.
pub(crate) fn quoted(words: &[impl AsRef<str>]) -> String {
    words.iter().map(|word| format!("\"{}\"", word.as_ref())).collect::<Vec<_>>().join(", ")
}

impl ConfigTable {
    pub(crate) fn new(what: impl Into<String>, keys: Vec<ConfigKey>) -> Self {
        ConfigTable { what: what.into(), keys, instead: Vec::new() }
    }

    /// The keys of the options of a command line that are shown in its help.
    pub(crate) fn keys_from_options(command: &clap::Command) -> Vec<ConfigKey> {
        let shown = command.get_arguments().filter(|option| !option.is_hide_set());
        shown.filter_map(ConfigKey::from_option).collect()
    }

    /// Says what to write in place of a word that is no key.
    pub(crate) fn with_instead(mut self, word: &str, help: impl Into<String>) -> Self {
        self.instead.push((word.to_owned(), help.into()));
        self
    }

    pub(crate) fn find(&self, name: &str) -> Option<&ConfigKey> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Checks the keys of a table and their values, and returns those without a fault. `place` is where the table is named.
    pub(crate) fn check<'a>(
        &self,
        place: Option<&TableEntry<'a>>,
        given: &[TableEntry<'a>],
        faults: &mut Faults,
    ) -> Vec<TableEntry<'a>> {
        let mut sound = Vec::with_capacity(given.len());
        for entry in given {
            match self.find(entry.name()) {
                None => faults.add(self.unknown(entry)),
                Some(key) => {
                    if faults.take(key.check(entry)).is_some() {
                        sound.push(*entry);
                    }
                }
            }
        }
        for key in self.keys.iter().filter(|key| key.is_required) {
            if let (false, Some(place)) = (given.iter().any(|entry| entry.name() == key.name), place) {
                faults.add(place.key_fault(format!("{} needs `{}`", self.what, key.name)));
            }
        }
        sound
    }

    /// Checks a table that stands behind a key.
    pub(crate) fn check_table<'a>(&self, table: &TableEntry<'a>, faults: &mut Faults) -> Vec<TableEntry<'a>> {
        match table.value.get_ref() {
            DeValue::Table(inner) => self.check(Some(table), &entries(inner), faults),
            _ => Vec::new(),
        }
    }

    fn unknown(&self, entry: &TableEntry<'_>) -> ConfigFault {
        let name = entry.name();
        let fault = entry.key_fault(format!("{} has no key `{name}`", self.what));
        if let Some((_, help)) = self.instead.iter().find(|(word, _)| word == name) {
            return fault.with_help(help.clone());
        }
        let known: Vec<_> = self.keys.iter().map(|key| key.name.as_str()).collect();
        fault.with_help(match near::names(name, known.iter().copied(), 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        })
    }
}

/// Reads numbers and times as they stand in a file.
impl TableEntry<'_> {
    pub(crate) fn count(&self) -> Result<u32, ConfigFault> {
        let DeValue::Integer(_) = self.value.get_ref() else { return Err(self.wanted("a number")) };
        let number = self.option_values()?.concat().parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| self.fault(format!("`{}` must be 1 or more, and at most {}", self.name(), u32::MAX)))
    }

    pub(crate) fn time(&self) -> Result<Duration, ConfigFault> {
        let wanted = || self.wanted("a time such as \"500ms\", \"35s\" or \"2m\"");
        match self.value.get_ref() {
            DeValue::String(_) | DeValue::Integer(_) => {}
            _ => return Err(wanted()),
        }
        let values = self.option_values()?;
        let text = values.first().ok_or_else(wanted)?;
        duration(text).map_err(|problem| self.fault(format!("`{}`: {problem}", self.name())))
    }
}
