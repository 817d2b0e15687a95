//! What is configured here: `opentool.toml`, its sources, the model.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    time::Duration,
};

use opentool::Toolbox;

use super::{
    super::{
        model::{MODEL_VARIABLE, ModelOptions},
        provider_name::ProviderName,
        serve::{self, ServeSettings},
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
    let mut server = ServeSettings::default();
    let settings = match serve::settings(&file) {
        Ok(settings) => settings,
        Err(failure) => {
            return Ok((server, vec![Diagnosis::failure(CONFIGURATION, "opentool.toml", &failure, CORRECT)]));
        }
    };
    let text = format!("{}: {}", file.name(), counted(settings.len(), "setting"));
    let mut all = vec![Diagnosis::ok(CONFIGURATION, "opentool.toml", text)];
    let judged = file.lost_since_trusted(&settings).and_then(|lost| file.check_change(settings.iter(), &lost, "serve"));
    let (is_trusted, trust) = match judged {
        Ok(true) => (true, Diagnosis::ok(CONFIGURATION, "trust", "you trust the file as it stands")),
        Ok(false) if file.is_named() => (true, Diagnosis::ok(CONFIGURATION, "trust", "the file is named by --config")),
        Ok(false) => (true, Diagnosis::ok(CONFIGURATION, "trust", "nothing in the file needs it")),
        Err(failure @ Failure::Untrusted { .. }) => {
            (false, Diagnosis::failed(CONFIGURATION, "trust", failure.to_string(), Some("opentool trust".to_owned())))
        }
        Err(failure) => (false, Diagnosis::failure(CONFIGURATION, "trust", &failure, CORRECT)),
    };
    all.push(trust);
    match serve::examine(&file, is_trusted) {
        Ok((settings, faults)) => {
            server = settings;
            all.extend(faults.iter().map(|fault| Diagnosis::failure(CONFIGURATION, "serve", fault, CORRECT)));
        }
        Err(failure) => all.push(Diagnosis::failure(CONFIGURATION, "serve", &failure, CORRECT)),
    }
    // A file that is not trusted starts nothing, and what it names is nothing to look for.
    if is_trusted {
        let named = NamedSources::new(named, "doctor");
        let mut known = Vec::new();
        for table in named.tables()? {
            let (diagnosis, tools) = source(table, &named, start)?;
            all.push(diagnosis);
            known.extend(tools);
        }
        all.extend(clash(&known));
    }
    Ok((server, all))
}

/// A name that tools of two sources have, which keeps `opentool serve` from being started.
fn clash(sources: &[(Source, Toolbox)]) -> Option<Diagnosis> {
    let mut owners: HashMap<&str, &Source> = HashMap::new();
    for (source, toolbox) in sources {
        for name in toolbox.names() {
            if let Some(first) = owners.insert(name, source) {
                let failure = source.duplicate(first, name);
                return Some(Diagnosis::failure(CONFIGURATION, "tools", &failure, CORRECT));
            }
        }
    }
    None
}

/// Looks for what a source needs; with `start`, asks it for its tools. Gives them too, where they are known.
fn source(
    table: &SourceTable,
    named: &NamedSources,
    start: bool,
) -> Result<(Diagnosis, Option<(Source, Toolbox)>), Failure> {
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
            _ => {
                let opened = Source::open(&table.name, named).and_then(|source| {
                    let toolbox = block_on(source.offline_toolbox())?;
                    Ok((source, toolbox))
                });
                match opened {
                    Ok((source, toolbox)) => {
                        let found = Diagnosis::ok(CONFIGURATION, name, format!("{source} can be used"));
                        return Ok((found, toolbox.map(|toolbox| (source, toolbox))));
                    }
                    Err(failure) => Diagnosis::failure(CONFIGURATION, name, &failure, &correct),
                }
            }
        };
        return Ok((found, None));
    }
    let source = match Source::open(&table.name, named) {
        Ok(source) => source,
        Err(failure) => return Ok((Diagnosis::failure(CONFIGURATION, name, &failure, &correct), None)),
    };
    let key = source.own_key().map(|key| key.expose().to_owned());
    let connect = ConnectOptions { timeout: Some(TIMEOUT), ..ConnectOptions::default() };
    let attached = block_on(async {
        let known = BTreeMap::new();
        let attaching = source.attach(key.as_deref(), &known, &connect);
        let attached = tokio::time::timeout(TIMEOUT, attaching).await;
        source.close().await;
        Ok(attached)
    })?;
    Ok(match attached {
        Ok(Ok(attached)) => {
            let toolbox = attached.toolbox;
            let found = Diagnosis::ok(CONFIGURATION, name, counted(toolbox.len(), "tool"));
            (found, Some((source, toolbox)))
        }
        Ok(Err(failure)) => (Diagnosis::failure(CONFIGURATION, name, &failure, &correct), None),
        Err(_) => {
            let text = format!("it did not tell its tools within {} seconds", TIMEOUT.as_secs());
            (Diagnosis::failed(CONFIGURATION, name, text, Some(correct)), None)
        }
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
