//! How commands get into a server.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{
    failure::Failure,
    limits::{CaCertificates, ConnectOptions},
    secret::{Secret, of_file, of_variable},
    source::Source,
    source_tables::NamedSources,
    terminal::warn,
};

/// The variable that holds a key.
pub(super) const API_KEY_VARIABLE: &str = "OPENTOOL_API_KEY";

/// The key of a server, and how its certificate is checked.
#[derive(Debug, Args)]
pub(super) struct Access {
    /// The API key of the source's server; for a server at a URL that you give, better in the environment variable OPENTOOL_API_KEY,
    /// where `ps` does not show it
    #[arg(long = "source-api-key", visible_alias = "api-key", value_name = "KEY", help_heading = "Sources")]
    #[arg(conflicts_with_all = ["api_key_env", "api_key_file"])]
    api_key: Option<Secret>,
    /// The variable that has the API key of the source's server
    #[arg(
        long = "source-api-key-env",
        value_name = "VARIABLE",
        help_heading = "Sources",
        conflicts_with = "api_key_file"
    )]
    api_key_env: Option<String>,
    /// The file that has the API key of the source's server and nothing else
    #[arg(long = "source-api-key-file", visible_alias = "api-key-file", value_name = "FILE", help_heading = "Sources")]
    api_key_file: Option<PathBuf>,
    /// The configuration file [default: opentool.toml, where there is one]
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    config: Option<PathBuf>,
    #[command(flatten)]
    certificates: CaOptions,
}

impl Access {
    /// The sources that a configuration file describes.
    pub(super) fn named(&self, command: &'static str) -> NamedSources {
        NamedSources::new(self.config.as_deref(), command)
    }

    /// The key for a source: that of the command line or its file, otherwise that of its table, or of the environment where it
    /// may have that.
    pub(super) fn key_for(&self, source: &Source) -> Result<Option<String>, Failure> {
        if let Some(key) = &self.api_key {
            warn_of_visible_key();
            return Ok(Some(key.expose().to_owned()));
        }
        if let Some(variable) = &self.api_key_env {
            return key_of_variable(variable).map(Some);
        }
        if let Some(file) = &self.api_key_file {
            return of_file(file).map(Some);
        }
        Ok(source.own_key().map(|key| key.expose().to_owned()).or_else(|| environment_key_for(source)))
    }

    /// Gives the tools of a workflow the keys of their servers. A key of the command line or the environment is for one server, so
    /// that it is not sent to another.
    pub(super) fn give_keys(&self, sources: &mut [(Source, Option<String>)]) -> Result<(), Failure> {
        let mut remote = sources.iter_mut().filter(|(source, _)| source.takes_key());
        match (remote.next(), remote.next()) {
            (Some((source, key)), None) => *key = self.key_for(source)?,
            (Some(_), Some(_)) if self.is_key_given() => {
                let message = "several of the tools' sources have a server, and one key is given: describe them as `[sources.NAME]` \
                               in opentool.toml, each with its key";
                return Err(Failure::usage(message));
            }
            _ => {}
        }
        Ok(())
    }

    fn is_key_given(&self) -> bool {
        self.api_key.is_some() || self.api_key_env.is_some() || self.api_key_file.is_some()
    }

    /// What every client of the server needs.
    pub(super) fn connect(&self) -> Result<ConnectOptions, Failure> {
        Ok(ConnectOptions::new(self.certificates.read()?))
    }
}

/// Which certificates a server's may be signed by.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct CaOptions {
    /// A PEM file with the certificates to trust for https:// sources, instead of the system's
    #[arg(long, value_name = "FILE", help_heading = "Sources")]
    ca_file: Option<PathBuf>,
}

impl CaOptions {
    pub(super) fn read(&self) -> Result<CaCertificates, Failure> {
        let Some(file) = &self.ca_file else { return Ok(CaCertificates(None)) };
        let pem =
            fs::read(file).map_err(|source| Failure::Read { name: file.to_string_lossy().into_owned(), source })?;
        Ok(CaCertificates(Some(pem.into())))
    }
}

/// The keys of sources that `ps` does not show.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct SourceKeyOptions {
    /// The variable that has the API key of a source's server: VARIABLE where there is one such source, otherwise
    /// SOURCE=VARIABLE; repeatable
    #[arg(long, value_name = "[SOURCE=]VARIABLE", help_heading = "Sources")]
    source_api_key_env: Vec<String>,
    /// The file that has the API key of a source's server and nothing else: FILE where there is one such source, otherwise
    /// SOURCE=FILE; repeatable
    #[arg(long, value_name = "[SOURCE=]FILE", help_heading = "Sources")]
    source_api_key_file: Vec<String>,
}

impl SourceKeyOptions {
    /// The keys as `--source-api-key` takes them: `KEY` or `SOURCE=KEY`.
    pub(super) fn read(&self) -> Result<Vec<Secret>, Failure> {
        let variables = self.source_api_key_env.iter().map(|given| keyed(given, key_of_variable));
        let files = self.source_api_key_file.iter().map(|given| keyed(given, |file| of_file(Path::new(file))));
        variables.chain(files).collect()
    }

    /// The files that have keys.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.source_api_key_file
            .iter()
            .map(|given| Path::new(given.rsplit_once('=').map_or(&**given, |(_, file)| file)))
    }
}

fn key_of_variable(variable: &str) -> Result<String, Failure> {
    let problem = || format!("`--source-api-key-env`: there is no key in the variable {variable}");
    of_variable(variable).ok_or_else(|| Failure::usage(problem()))
}

/// Reads the key of `PLACE` or `SOURCE=PLACE`; a source may have `=` in it, a variable or a file here may not.
fn keyed(given: &str, read: impl Fn(&str) -> Result<String, Failure>) -> Result<Secret, Failure> {
    Ok(Secret::new(match given.rsplit_once('=') {
        Some((source, place)) => format!("{source}={}", read(place)?),
        None => read(given)?,
    }))
}

/// The key of the environment, where the user gave the URL of the server. A server that a document names does not get it:
/// the author of the document, who may be anyone, would choose who gets the user's key.
pub(super) fn environment_key_for(source: &Source) -> Option<String> {
    let key = of_variable(API_KEY_VARIABLE)?;
    if source.is_given_by_url() {
        return Some(key);
    }
    if let Some(url) = source.named_server() {
        warn(&format_args!(
            "the key in {API_KEY_VARIABLE} is not sent to {url}, which {source} names: give that server's key with \
             `--source-api-key KEY`"
        ));
    }
    None
}

pub(super) fn warn_of_visible_key() {
    warn(&format_args!("a key on the command line shows in `ps`: one in {API_KEY_VARIABLE} or a file does not"));
}
