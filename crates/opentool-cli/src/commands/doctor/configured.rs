//! What is configured here: `opentool.toml`, its sources, the model.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    super::{
        model::{MODEL_VARIABLE, ModelOptions},
        provider_name::ProviderName,
        serve,
    },
    diagnosis::Diagnosis,
};
use crate::{
    config_file::ConfigFile,
    failure::Failure,
    limits::ConnectOptions,
    next_step, programs,
    report::counted,
    runtime::block_on,
    secret::of_variable,
    source::Source,
    source_tables::{McpOrigin, NamedSources, SourceOrigin, SourceTable},
};

const CONFIGURATION: &str = "configuration";
const MODEL: &str = "model";

/// What to do about a file with a fault.
const CORRECT: &str = "correct the file, or name another with --config";

/// How long a source may take to tell its tools, and a provider its models.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What `opentool serve` would listen on and write to.
#[derive(Debug)]
pub(super) struct ServeSettings {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) journal: Option<PathBuf>,
}

impl Default for ServeSettings {
    fn default() -> Self {
        ServeSettings { host: serve::DEFAULT_HOST.to_owned(), port: serve::DEFAULT_PORT, journal: None }
    }
}

impl ServeSettings {
    fn read(file: &ConfigFile) -> Self {
        let mut settings = ServeSettings::default();
        // A file that cannot be read is a finding of its own.
        let Ok(table) = file.text.parse::<toml::Table>() else { return settings };
        // They stand at the top, or in `[server]`.
        let server = table.get("server").and_then(toml::Value::as_table);
        let value = |key: &str| table.get(key).or_else(|| server?.get(key));
        if let Some(port) = value("port").and_then(toml::Value::as_integer).and_then(|port| u16::try_from(port).ok()) {
            settings.port = port;
        }
        if let Some(host) = value("host").and_then(toml::Value::as_str) {
            settings.host = host.to_owned();
        }
        settings.journal = value("journal").and_then(toml::Value::as_str).map(|path| file.folder().join(path));
        settings
    }
}

/// Looks at the configuration file, and what it names.
pub(super) fn look(named: Option<&Path>, start: bool) -> Result<(ServeSettings, Vec<Diagnosis>), Failure> {
    let file = match ConfigFile::given_or_found(named) {
        Ok(Some(file)) => file,
        Ok(None) => {
            let found =
                Diagnosis::ok(CONFIGURATION, "opentool.toml", "none here: `opentool serve` serves the demo tools");
            return Ok((ServeSettings::default(), vec![found]));
        }
        Err(failure) => {
            let found = Diagnosis::failure(CONFIGURATION, "opentool.toml", &failure, CORRECT);
            return Ok((ServeSettings::default(), vec![found]));
        }
    };
    let server = ServeSettings::read(&file);
    let settings = match serve::settings(&file) {
        Ok(settings) => settings,
        Err(failure) => {
            return Ok((server, vec![Diagnosis::failure(CONFIGURATION, "opentool.toml", &failure, CORRECT)]));
        }
    };
    let text = format!("{}: {}", file.name(), counted(settings.len(), "setting"));
    let mut all = vec![Diagnosis::ok(CONFIGURATION, "opentool.toml", text)];
    let (is_trusted, trust) = match file.check_trust(settings.iter(), "serve") {
        Ok(true) => (true, Diagnosis::ok(CONFIGURATION, "trust", "you trust the file as it stands")),
        Ok(false) if file.is_named() => (true, Diagnosis::ok(CONFIGURATION, "trust", "the file is named by --config")),
        Ok(false) => (true, Diagnosis::ok(CONFIGURATION, "trust", "nothing in the file needs it")),
        Err(failure @ Failure::Untrusted { .. }) => {
            (false, Diagnosis::failed(CONFIGURATION, "trust", failure.to_string(), Some("opentool trust".to_owned())))
        }
        Err(failure) => (false, Diagnosis::failure(CONFIGURATION, "trust", &failure, CORRECT)),
    };
    all.push(trust);
    // A file that is not trusted starts nothing, and what it names is nothing to look for.
    if is_trusted {
        let named = NamedSources::new(named, "doctor");
        for table in named.tables()? {
            all.push(source(table, &named, start)?);
        }
    }
    Ok((server, all))
}

/// Looks for what a source needs; with `start`, asks it for its tools.
fn source(table: &SourceTable, named: &NamedSources, start: bool) -> Result<Diagnosis, Failure> {
    let name = format!("source {}", table.name);
    let correct = format!("correct [sources.{}] of opentool.toml, or what it names", table.name);
    let asked = "opentool doctor --start";
    if !start {
        let found = match &table.origin {
            SourceOrigin::Mcp(McpOrigin::Command { program, folder, .. }) => match programs::find(program, folder) {
                Some(path) => {
                    Diagnosis::ok(CONFIGURATION, name, format!("{} is there; it is not started", path.display()))
                }
                None => {
                    let text = format!("there is no program `{}`", program.display());
                    Diagnosis::failed(CONFIGURATION, name, text, Some(format!("install it, or {correct}")))
                }
            },
            SourceOrigin::Mcp(McpOrigin::Url { .. }) | SourceOrigin::Url { .. } => {
                Diagnosis::ok(CONFIGURATION, name, format!("a server, which is asked by `{asked}`"))
            }
            // A document is read, and a library is opened in its worker.
            _ => match Source::open(&table.name, named) {
                Ok(source) => Diagnosis::ok(CONFIGURATION, name, format!("{source} can be used")),
                Err(failure) => Diagnosis::failure(CONFIGURATION, name, &failure, &correct),
            },
        };
        return Ok(found);
    }
    let source = match Source::open(&table.name, named) {
        Ok(source) => source,
        Err(failure) => return Ok(Diagnosis::failure(CONFIGURATION, name, &failure, &correct)),
    };
    let key = source.own_key().map(|key| key.expose().to_owned());
    let connect = ConnectOptions { timeout: Some(TIMEOUT), ..ConnectOptions::default() };
    block_on(async {
        let known = BTreeMap::new();
        let attaching = source.attach(key.as_deref(), &known, &connect);
        let attached = tokio::time::timeout(TIMEOUT, attaching).await;
        source.close().await;
        Ok(match attached {
            Ok(Ok(attached)) => Diagnosis::ok(CONFIGURATION, name, counted(attached.toolbox.len(), "tool")),
            Ok(Err(failure)) => Diagnosis::failure(CONFIGURATION, name, &failure, &correct),
            Err(_) => {
                let text = format!("it did not tell its tools within {} seconds", TIMEOUT.as_secs());
                Diagnosis::failed(CONFIGURATION, name, text, Some(correct))
            }
        })
    })
}

/// The model of `opentool chat`, and whether its provider answers.
pub(super) fn model(config: Option<&Path>) -> Result<Diagnosis, Failure> {
    let is_of_variable = of_variable(MODEL_VARIABLE).is_some();
    let (origin, correct) = match is_of_variable {
        true => (MODEL_VARIABLE, next_step::help_of("models")),
        false => ("opentool.toml", CORRECT.to_owned()),
    };
    let model = match ModelOptions::default().find(config, "doctor") {
        Ok(Some(model)) => model,
        Ok(None) => {
            let set_up: Vec<_> =
                ProviderName::all().filter(|provider| provider.is_set_up()).map(ProviderName::as_str).collect();
            let text = match set_up.as_slice() {
                [] => format!(
                    "none is set: `opentool chat` takes one with --model, {MODEL_VARIABLE} or [model] of opentool.toml"
                ),
                names => format!("none is set by {MODEL_VARIABLE} or opentool.toml; set up: {}", names.join(", ")),
            };
            return Ok(Diagnosis::missing(MODEL, "chat", text, next_step::help_of("models")));
        }
        Err(failure @ Failure::Untrusted { .. }) => {
            let next = Some("opentool trust".to_owned());
            return Ok(Diagnosis::failed(MODEL, "chat", failure.to_string(), next));
        }
        Err(failure) => return Ok(Diagnosis::failure(MODEL, "chat", &failure, &correct)),
    };
    let [key, address] = model.provider.variables();
    let set = format!("{model} of {origin}");
    block_on(async {
        let asked = tokio::time::timeout(TIMEOUT, model.models()).await;
        let Ok(answer) = asked else {
            let text = format!("{set}: the provider did not answer within {} seconds", TIMEOUT.as_secs());
            let next = match is_of_variable {
                true => format!("set {address} to where it is"),
                false => format!("set `base-url` of [model] in opentool.toml, or {address}, to where it is"),
            };
            return Ok(Diagnosis::failed(MODEL, "chat", text, Some(next)));
        };
        Ok(match answer {
            Ok(models) if models.iter().any(|listed| listed.id == model.name) => {
                Diagnosis::ok(MODEL, "chat", format!("{set}: the provider answers, and has it"))
            }
            Ok(models) => {
                let text =
                    format!("{set}: the provider answers, and lists {} without it", counted(models.len(), "model"));
                Diagnosis::missing(MODEL, "chat", text, format!("opentool models {}", model.provider))
            }
            Err(error) => {
                let help = next_step::help_of("models");
                let next = match is_of_variable {
                    true => format!("set {key} and {address} as the provider needs them; `{help}` says more"),
                    false => format!(
                        "correct [model] of opentool.toml, or set {key} and {address} as the provider needs them; `{help}` says more"
                    ),
                };
                Diagnosis::failed(MODEL, "chat", format!("{set}: {error}"), Some(next))
            }
        })
    })
}
