//! How commands get into a server.

use std::{
    convert::Infallible,
    env, fmt, fs,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use clap::Args;
use opentool_client::Client;

use crate::{failure::Failure, source::Source, terminal::warn};

/// The variable that holds a key.
pub(super) const API_KEY_VARIABLE: &str = "OPENTOOL_API_KEY";

/// The key of a server, and how its certificate is checked.
#[derive(Debug, Args)]
pub(super) struct Access {
    /// The server's API key; for a server at a URL that you give, better in the environment variable OPENTOOL_API_KEY, where
    /// `ps` does not show it
    #[arg(long, visible_alias = "source-api-key", value_name = "KEY", conflicts_with = "api_key_file")]
    api_key: Option<Secret>,
    /// A file whose only content is the server's API key
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    #[command(flatten)]
    certificates: CaOptions,
}

impl Access {
    /// The key for a source: that of the command line or its file, otherwise that of the environment where it may have that.
    pub(super) fn key_for(&self, source: &Source) -> Result<Option<String>, Failure> {
        if let Some(key) = &self.api_key {
            warn_of_visible_key();
            return Ok(Some(key.expose().to_owned()));
        }
        if let Some(file) = &self.api_key_file {
            return read_key(file).map(Some);
        }
        Ok(environment_key_for(source))
    }

    /// What every client of the server needs.
    pub(super) fn certificates(&self) -> Result<CaCertificates, Failure> {
        self.certificates.read()
    }
}

/// Which certificates a server's may be signed by.
#[derive(Debug, Default, Args)]
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

/// Certificates to trust instead of the system's, where some are given.
#[derive(Debug, Clone, Default)]
pub(super) struct CaCertificates(Option<Arc<[u8]>>);

impl CaCertificates {
    /// Makes a client that trusts them.
    pub(super) fn apply(&self, client: Client) -> Client {
        match &self.0 {
            Some(pem) => client.ca_certificates(pem),
            None => client,
        }
    }
}

/// The keys of sources that `ps` does not show.
#[derive(Debug, Default, Args)]
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
        let of_variable = |variable: &str| match env::var(variable) {
            Ok(key) if !key.trim().is_empty() => Ok(key.trim().to_owned()),
            _ => Err(Failure::usage(format!("`--source-api-key-env`: there is no key in the variable {variable}"))),
        };
        let variables = self.source_api_key_env.iter().map(|given| keyed(given, of_variable));
        let files = self.source_api_key_file.iter().map(|given| keyed(given, |file| read_key(Path::new(file))));
        variables.chain(files).collect()
    }
}

/// Reads the key of `PLACE` or `SOURCE=PLACE`; a source may have `=` in it, a variable or a file here may not.
fn keyed(given: &str, read: impl Fn(&str) -> Result<String, Failure>) -> Result<Secret, Failure> {
    Ok(Secret(match given.rsplit_once('=') {
        Some((source, place)) => format!("{source}={}", read(place)?),
        None => read(given)?,
    }))
}

/// Reads a file whose only content is a key.
fn read_key(file: &Path) -> Result<String, Failure> {
    let name = || file.to_string_lossy().into_owned();
    let text = fs::read_to_string(file).map_err(|source| Failure::Read { name: name(), source })?;
    match text.trim() {
        "" => Err(Failure::usage(format!("{}: there is no key in the file", name()))),
        key if key.contains(char::is_whitespace) => {
            Err(Failure::usage(format!("{}: the file has more than a key in it", name())))
        }
        key => Ok(key.to_owned()),
    }
}

/// The key of the environment, where the user gave the URL of the server. A server that a document names does not get it:
/// the author of the document, who may be anybody, would choose who gets the user's key.
pub(super) fn environment_key_for(source: &Source) -> Option<String> {
    let key = env::var(API_KEY_VARIABLE).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())?;
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

/// A text that is never shown.
#[derive(Clone)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for Secret {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Secret(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
