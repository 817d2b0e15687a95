//! The values of a table, with their places: [`TableEntry`].

use std::{borrow::Cow, ops::Range, path::Path, path::PathBuf};

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::{
    config_fault::ConfigFault,
    failure::Failure,
    secret::{of_file, of_variable},
};

/// A text that stands in the file, or is read from where the file says.
#[derive(Debug, Clone)]
pub(crate) enum SecretText {
    Plain(String),
    Variable(String),
    File(PathBuf),
}

impl SecretText {
    /// Reads the text.
    pub(crate) fn read(&self) -> Result<String, Failure> {
        match self {
            SecretText::Plain(text) => Ok(text.clone()),
            SecretText::Variable(name) => of_variable(name)
                .ok_or_else(|| Failure::usage(format!("the variable {name} of the environment is not set"))),
            SecretText::File(file) => of_file(file),
        }
    }

    /// The file that it stands in.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            SecretText::File(file) => Some(file),
            SecretText::Plain(_) | SecretText::Variable(_) => None,
        }
    }
}

/// The entry of a table.
#[derive(Clone, Copy)]
pub(crate) struct TableEntry<'a> {
    pub(crate) key: &'a Spanned<DeString<'a>>,
    pub(crate) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> TableEntry<'a> {
    pub(crate) fn name(&self) -> &'a str {
        self.key.get_ref()
    }

    /// What is wrong with the value.
    pub(crate) fn fault(&self, message: impl Into<String>) -> ConfigFault {
        ConfigFault::new(self.value.span(), message)
    }

    /// What is wrong with the key.
    pub(crate) fn key_fault(&self, message: impl Into<String>) -> ConfigFault {
        ConfigFault::new(self.key.span(), message)
    }

    /// Another type of value is needed.
    pub(crate) fn wanted(&self, what: &str) -> ConfigFault {
        if let (DeValue::Float(number), "a number") = (self.value.get_ref(), what) {
            return self.fault(format!("`{}` must be a whole number, not {number}", self.name()));
        }
        self.fault(format!("`{}` must be {what}, not {}", self.name(), type_of(self.value.get_ref())))
    }

    pub(crate) fn text(&self) -> Result<String, ConfigFault> {
        self.value.get_ref().as_str().map(str::to_owned).ok_or_else(|| self.wanted("a text"))
    }

    pub(crate) fn flag(&self) -> Result<bool, ConfigFault> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wanted("true or false"))
    }

    pub(crate) fn texts(&self) -> Result<Vec<String>, ConfigFault> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(vec![text.to_string()]),
            DeValue::Array(values) => values
                .iter()
                .map(|value| {
                    let text = value.get_ref().as_str().map(str::to_owned);
                    text.ok_or_else(|| {
                        ConfigFault::new(value.span(), format!("`{}` must be a list of texts", self.name()))
                    })
                })
                .collect(),
            _ => Err(self.wanted("a text or a list of texts")),
        }
    }

    /// Where the value stands, or each one of a list.
    pub(crate) fn value_spans(&self) -> Vec<Range<usize>> {
        match self.value.get_ref() {
            DeValue::Array(values) => values.iter().map(Spanned::span).collect(),
            _ => vec![self.value.span()],
        }
    }

    /// The texts of an option of the command line.
    pub(crate) fn option_values(&self) -> Result<Vec<String>, ConfigFault> {
        let scalar = |value: &DeValue<'_>| match value {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Boolean(answer) => Some(answer.to_string()),
            _ => None,
        };
        let values = match self.value.get_ref() {
            DeValue::Array(values) => values.iter().map(|value| scalar(value.get_ref())).collect(),
            value => scalar(value).map(|text| vec![text]),
        };
        values.ok_or_else(|| self.wanted("a value or a list of values"))
    }

    /// The entries of a table.
    pub(crate) fn entries(&self) -> Result<Vec<TableEntry<'a>>, ConfigFault> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(entries(table)),
            _ => Err(self.wanted("a table, such as { NAME = \"value\" }")),
        }
    }

    /// An address of HTTP.
    pub(crate) fn http_url(&self) -> Result<String, ConfigFault> {
        let url = self.text()?;
        let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https") => Ok(url),
            _ => Err(self.fault(format!("`{}` must begin with http:// or https://", self.name()))),
        }
    }

    /// Texts that must not stand in the file itself.
    pub(crate) fn secrets(&self, folder: &Path) -> Result<Vec<SecretText>, ConfigFault> {
        match self.value.get_ref() {
            DeValue::Array(values) => {
                values.iter().map(|value| TableEntry { key: self.key, value }.secret(folder)).collect()
            }
            _ => Ok(vec![self.secret(folder)?]),
        }
    }

    /// A text that must not stand in the file itself.
    pub(crate) fn secret(&self, folder: &Path) -> Result<SecretText, ConfigFault> {
        let how = format!("write `{0} = {{ env = \"VARIABLE\" }}` or `{0} = {{ file = \"FILE\" }}`", self.name());
        let DeValue::Table(table) = self.value.get_ref() else {
            let message = format!("`{}` is secret and must not stand in the file", self.name());
            return Err(self.fault(message).with_help(how));
        };
        let [place] = *entries(table) else { return Err(self.fault("a secret has one place").with_help(how)) };
        match place.name() {
            "env" => Ok(SecretText::Variable(place.text()?)),
            "file" => Ok(SecretText::File(folder.join(place.text()?))),
            other => {
                let message = format!("there is no place `{other}` for a secret");
                Err(place.key_fault(message).with_help(how))
            }
        }
    }

    /// A text that may stand in the file unless its name says that it is secret.
    pub(crate) fn text_or_secret(&self, folder: &Path) -> Result<SecretText, ConfigFault> {
        match self.value.get_ref() {
            DeValue::String(text) if !is_secret(self.name()) => Ok(SecretText::Plain(text.to_string())),
            DeValue::String(_) | DeValue::Table(_) => self.secret(folder),
            _ => Err(self.wanted("a text, { env = \"VARIABLE\" } or { file = \"FILE\" }")),
        }
    }
}

/// Whether what has this name is most likely a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    const ENDS: [&str; 9] =
        ["key", "token", "secret", "password", "passwd", "authorization", "cookie", "credential", "credentials"];
    let name = name.to_ascii_lowercase();
    ENDS.iter().any(|end| name.ends_with(end))
}

/// Reads the TOML of a file.
pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, ConfigFault> {
    DeTable::parse(text).map_err(|error| ConfigFault::new(error.span().unwrap_or_default(), error.message()))
}

/// The entries of a table, in the order of the file.
pub(crate) fn entries<'a>(table: &'a DeTable<'a>) -> Vec<TableEntry<'a>> {
    let mut entries: Vec<_> = table.iter().map(|(key, value)| TableEntry { key, value }).collect();
    entries.sort_by_key(|entry| entry.key.span().start);
    entries
}

fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A value in TOML, on one line.
pub(crate) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(answer) => answer.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(values) => {
            format!("[{}]", values.iter().map(|value| shown(value.get_ref())).collect::<Vec<_>>().join(", "))
        }
        DeValue::Table(table) => {
            let entry = |entry: TableEntry<'_>| format!("{} = {}", bare(entry.name()), shown(entry.value.get_ref()));
            format!("{{ {} }}", entries(table).into_iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

fn bare(key: &str) -> Cow<'_, str> {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { key.into() } else { format!("{key:?}").into() }
}

/// The line of a place.
pub(crate) fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.get(..span.start).map_or(1, |before| before.matches('\n').count() + 1)
}
