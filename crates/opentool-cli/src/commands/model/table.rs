//! `[model]` of a configuration file: [`ModelTable`].

use std::path::Path;

use opentool_spec::json::near;
use toml::de::{DeTable, DeValue};

use super::super::provider_name::{ProviderName, names};
use crate::{
    config_fault::{ConfigFault, Faults},
    config_file::ConfigFile,
    config_value::{SecretText, TableEntry, entries, line_of, shown},
    failure::Failure,
    setting::Setting,
};

/// The name of the table.
pub(in crate::commands) const MODEL: &str = "model";

const KEYS: [&str; 4] = ["provider", "name", "base-url", "key"];

/// The model that a configuration file names.
#[derive(Debug)]
pub(in crate::commands) struct ModelTable {
    pub(super) provider: ProviderName,
    pub(super) name: String,
    pub(super) base_url: Option<String>,
    pub(super) key: Option<SecretText>,
    /// What stands in it, for the question whether the file is trusted.
    pub(in crate::commands) settings: Vec<Setting>,
}

impl ModelTable {
    /// Reads the table of a file, where it has one.
    pub(in crate::commands) fn of_file(file: &ConfigFile) -> Result<Option<Self>, Failure> {
        let mut faults = Faults::default();
        let table = read(&file.text, file.folder(), &mut faults);
        faults.check(file)?;
        Ok(table)
    }
}

fn read(text: &str, folder: &Path, faults: &mut Faults) -> Option<ModelTable> {
    let parsed =
        DeTable::parse(text).map_err(|error| ConfigFault::new(error.span().unwrap_or_default(), error.message()));
    let file = faults.take(parsed)?;
    let table = entries(file.get_ref()).into_iter().find(|entry| entry.name() == MODEL)?;
    let DeValue::Table(inner) = table.value.get_ref() else {
        let fault = ConfigFault::new(table.key.span(), format!("`{MODEL}` must be a table"));
        faults.add(fault.with_help(format!("write `[{MODEL}]`, with `provider` and `name` below it")));
        return None;
    };
    let entries = entries(inner);
    for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.name())) {
        let fault = ConfigFault::new(entry.key.span(), format!("`[{MODEL}]` has no key `{}`", entry.name()));
        faults.add(fault.with_help(match near::names(entry.name(), KEYS, 1).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", KEYS.join(", ")),
        }));
    }
    let get = |key: &str| entries.iter().find(|entry| entry.name() == key);
    let needed = |key: &str, faults: &mut Faults| match get(key) {
        Some(entry) => Some(*entry),
        None => {
            faults.add(ConfigFault::new(table.key.span(), format!("`[{MODEL}]` needs `{key}`")));
            None
        }
    };
    let provider = needed("provider", faults).and_then(|entry| faults.take(provider(&entry)));
    let name = needed("name", faults).and_then(|entry| faults.take(entry.text()));
    let base_url = get("base-url").and_then(|entry| faults.take(entry.http_url()));
    let key = get("key").and_then(|entry| faults.take(entry.secret(folder)));
    let setting = |entry: &TableEntry<'_>| {
        let line = line_of(text, &entry.key.span());
        // What is said to a model and what tools answer would go where the file says.
        Setting::from_table(MODEL, entry.name(), shown(entry.value.get_ref()), line, false)
    };
    let settings = entries.iter().map(setting).collect();
    Some(ModelTable { provider: provider?, name: name?, base_url, key, settings })
}

fn provider(entry: &TableEntry<'_>) -> Result<ProviderName, ConfigFault> {
    let text = entry.text()?;
    text.parse().map_err(|_| {
        let fault = entry.fault(format!("there is no provider of models `{text}`"));
        fault.with_help(match near::names(&text, ProviderName::all().map(ProviderName::as_str), 1).first() {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("there are {}", names()),
        })
    })
}
