//! How commands get into a server.

use std::{convert::Infallible, env, fmt, str::FromStr};

use clap::Args;

use crate::terminal::warn;

/// The variable that holds a key.
pub(super) const API_KEY_VARIABLE: &str = "OPENTOOL_API_KEY";

/// The key of a server.
#[derive(Debug, Args)]
pub(super) struct Access {
    /// The server's API key; better in the environment variable OPENTOOL_API_KEY, where `ps` does not show it
    #[arg(long, value_name = "KEY")]
    api_key: Option<Secret>,
}

impl Access {
    /// The key of the command line, otherwise that of the environment.
    pub(super) fn key(&self) -> Option<String> {
        match &self.api_key {
            Some(key) => {
                warn_of_visible_key();
                Some(key.expose().to_owned())
            }
            None => env::var(API_KEY_VARIABLE).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()),
        }
    }
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
