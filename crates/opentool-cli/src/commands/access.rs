//! How commands get into a server.

use std::env;

use clap::Args;

use crate::terminal::warn;

/// The variable that holds a key.
pub(super) const API_KEY_VARIABLE: &str = "OPENTOOL_API_KEY";

/// The key of a server.
#[derive(Args)]
pub(super) struct Access {
    /// The server's API key; better in the environment variable OPENTOOL_API_KEY, where `ps` does not show it
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
}

impl Access {
    /// The key of the command line, otherwise that of the environment.
    pub(super) fn key(&self) -> Option<String> {
        if self.api_key.is_some() {
            warn_of_visible_key();
        }
        self.api_key.clone().or_else(key_of_environment)
    }
}

// Not derived: the key must not end up where somebody prints a command.
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

pub(super) fn key_of_environment() -> Option<String> {
    env::var(API_KEY_VARIABLE).ok().map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())
}

pub(super) fn warn_of_visible_key() {
    warn(&format_args!("a key on the command line shows in `ps`: {API_KEY_VARIABLE} in the environment does not"));
}
