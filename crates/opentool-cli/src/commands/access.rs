//! How commands get into a server.

use std::{convert::Infallible, env, fmt, str::FromStr};

use clap::Args;

use crate::{source::Source, terminal::warn};

/// The variable that holds a key.
pub(super) const API_KEY_VARIABLE: &str = "OPENTOOL_API_KEY";

/// The key of a server.
#[derive(Debug, Args)]
pub(super) struct Access {
    /// The server's API key; for a server at a URL that you give, better in the environment variable OPENTOOL_API_KEY, where
    /// `ps` does not show it
    #[arg(long, visible_alias = "source-api-key", value_name = "KEY")]
    api_key: Option<Secret>,
}

impl Access {
    /// The key for a source: that of the command line, otherwise that of the environment where it may have that.
    pub(super) fn key_for(&self, source: &Source) -> Option<String> {
        match &self.api_key {
            Some(key) => {
                warn_of_visible_key();
                Some(key.expose().to_owned())
            }
            None => environment_key_for(source),
        }
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
