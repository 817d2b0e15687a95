//! `[model]` of a configuration file: [`ModelTable`].

use std::{ops::Range, path::Path};

use toml::de::{DeTable, DeValue};

use super::super::provider_name::ProviderName;
use crate::{
    config_fault::{ConfigFault, Faults},
    config_file::ConfigFile,
    config_keys::{ConfigKey, ConfigTable, ValueForm},
    config_value::{SecretText, TableEntry, entries, line_of, parse, shown},
    failure::Failure,
    secret::Secret,
    setting::Setting,
};

/// The name of the table.
pub(in crate::commands) const MODEL: &str = "model";

/// The model that a configuration file names.
#[derive(Debug)]
pub(in crate::commands) struct ModelTable {
    pub(super) provider: ProviderName,
    pub(super) name: String,
    pub(super) base_url: Option<String>,
    pub(super) key: Option<SecretText>,
    /// The file, and where the key is named in it.
    key_place: Option<(ConfigFile, Range<usize>)>,
    /// What stands in it, for the question whether the file is trusted.
    pub(in crate::commands) settings: Vec<Setting>,
}

impl ModelTable {
    /// What the table may have.
    pub(in crate::commands) fn keys() -> ConfigTable {
        let key = ConfigKey::new;
        let providers = ProviderName::all().map(|provider| provider.as_str().to_owned()).collect();
        let keys = vec![
            key("provider", ValueForm::Choice(providers), "Whose model it is").required(),
            key("name", ValueForm::Text, "The name that the provider has for the model").required(),
            key(
                "base-url",
                ValueForm::Url,
                "The base URL of its server; it gets a key only where `key` names one [default: that of the environment, otherwise the provider's own]",
            ),
            key("key", ValueForm::Secret, "The key of its server [default: that of the provider's variable]"),
        ];
        ConfigTable::new(format!("`[{MODEL}]`"), keys)
    }

    /// The file of the key, where it stands in one.
    pub(in crate::commands) fn key_file(&self) -> Option<&Path> {
        self.key.as_ref()?.file()
    }

    /// Reads the key of its server.
    pub(super) fn read_key(&self) -> Result<Option<Secret>, Failure> {
        let Some(key) = &self.key else { return Ok(None) };
        key.read().map(|key| Some(Secret::new(key))).map_err(|failure| match &self.key_place {
            Some((file, span)) => {
                let fault = ConfigFault::new(span.clone(), format!("the model: {failure}"));
                Failure::Config { message: fault.render(&file.name(), &file.text), next: None }
            }
            None => failure,
        })
    }

    /// Reads the table of a file, where it has one.
    pub(in crate::commands) fn from_file(file: &ConfigFile) -> Result<Option<Self>, Failure> {
        let mut faults = Faults::default();
        let table = faults.take(parse(&file.text)).and_then(|parsed| {
            let parsed = parsed.get_ref();
            let other = entries(parsed).into_iter().find(|entry| entry.name() == MODEL && entry.entries().is_err());
            if let Some(entry) = other {
                let fault = entry.key_fault(format!("`{MODEL}` must be a table"));
                faults.add(fault.with_help(format!("write `[{MODEL}]`, with `provider` and `name` below it")));
            }
            Self::read(parsed, file, &mut faults)
        });
        faults.check(&file.name(), &file.text)?;
        Ok(table)
    }

    /// Reads the table of a file that is parsed already; that it is a table was checked before.
    pub(in crate::commands) fn read(parsed: &DeTable<'_>, file: &ConfigFile, faults: &mut Faults) -> Option<Self> {
        let table = entries(parsed).into_iter().find(|entry| entry.name() == MODEL)?;
        let DeValue::Table(inner) = table.value.get_ref() else { return None };
        let (before, given) = (faults.len(), entries(inner));
        let sound = Self::keys().check(Some(&table), &given, faults);
        if faults.len() > before {
            return None;
        }
        let get = |key: &str| sound.iter().find(|entry| entry.name() == key);
        let provider = get("provider")?.text().ok()?.parse().ok()?;
        let name = get("name")?.text().ok()?;
        let base_url = get("base-url").and_then(|entry| entry.http_url().ok());
        let key = get("key").and_then(|entry| entry.secret(file.folder()).ok());
        let key_place = get("key").map(|entry| (file.clone(), entry.value.span()));
        let setting = |entry: &TableEntry<'_>| {
            let line = line_of(&file.text, &entry.key.span());
            // What is said to a model and what tools answer would go where the file says.
            Setting::from_table(MODEL, entry.name(), shown(entry.value.get_ref()), line, false)
        };
        let settings = given.iter().map(setting).collect();
        Some(ModelTable { provider, name, base_url, key, key_place, settings })
    }
}
