//! What keeps a server from being started by a file, found without starting one: [`examine`].

use std::path::PathBuf;

use opentool::Toolbox;
use opentool_server::{ListenAddr, ServeError, Server};

use super::{
    address::DEFAULT_HOST,
    bind_failure::explain,
    file::{FileContent, parse_file},
    fingerprints::Fingerprints,
    options::Options,
    places::FilePlaces,
    prepare::config,
    setup::prefer_environment,
};
use crate::{config_file::ConfigFile, failure::Failure, runtime::block_on, setting::DEFAULT_PORT, source::Source};

/// What `opentool serve` would listen on and write to.
#[derive(Debug)]
pub(in crate::commands) struct ServeSettings {
    pub(in crate::commands) host: String,
    pub(in crate::commands) port: u16,
    pub(in crate::commands) journal: Option<PathBuf>,
}

impl Default for ServeSettings {
    fn default() -> Self {
        ServeSettings { host: DEFAULT_HOST.to_owned(), port: DEFAULT_PORT, journal: None }
    }
}

/// Reads what a file says about the server; with `tries`, a server without tools is bound to a free port, so that keys, certificates and
/// the address are judged by what would use them. Gives what is wrong with it too.
pub(in crate::commands) fn examine(file: &ConfigFile, tries: bool) -> Result<(ServeSettings, Vec<Failure>), Failure> {
    let (mut content, _) = parse_file(file, "serve")?;
    let mut faults = Vec::new();
    if tries {
        faults.extend(content.read_keys(&mut Fingerprints::default()).err());
    }
    let FileContent { mut options, sources, places, .. } = content;
    prefer_environment(&mut options);
    if tries {
        if faults.is_empty() {
            faults.extend(try_to_bind(&options, &places).err());
        }
        // Tables are looked at one by one elsewhere.
        for word in &options.set.sources {
            if !sources.contains(word)? && Source::open(word, &sources).is_err() {
                faults.push(places.locate_source(&sources, Failure::usage(format!("`{word}` is no source"))));
            }
        }
        faults.extend(options.set.certificates.read().err().map(|failure| places.locate("ca-file", failure)));
    }
    let default = ServeSettings::default();
    let settings = ServeSettings {
        host: options.host.unwrap_or(default.host),
        port: options.port.unwrap_or(default.port),
        journal: options.journal,
    };
    Ok((settings, faults))
}

fn try_to_bind(options: &Options, places: &FilePlaces) -> Result<(), Failure> {
    let host = options.host.as_deref().unwrap_or(DEFAULT_HOST);
    let mut config = config(options, places, None)?;
    if let Some((admin, _)) = options.admin_addr.as_deref().and_then(|address| address.rsplit_once(':')) {
        // A server that runs may have the port.
        config = config.admin_addr(format!("{admin}:0"));
    }
    let server = Server::new(Toolbox::new()).config(config);
    let bound = block_on(async { Ok(server.bind((host, 0)).await.map(drop)) })?;
    bound.map_err(|error| {
        let given = ListenAddr::from((host, options.port.unwrap_or(DEFAULT_PORT))).to_string();
        let error = match error {
            ServeError::Bind { addr, source } if addr == ListenAddr::from((host, 0)).to_string() => {
                ServeError::Bind { addr: given, source }
            }
            ServeError::OpenToAll { addr } if addr == ListenAddr::from((host, 0)).to_string() => {
                ServeError::OpenToAll { addr: given }
            }
            error => error,
        };
        explain(&error, host, options.port.unwrap_or(DEFAULT_PORT), places)
    })
}
