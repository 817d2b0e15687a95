//! `--json` of the commands that print JSON in any case: [`JsonAlways`].

use clap::Args;

/// Accepts `--json`, so that it can be given to every command that prints a result.
#[derive(Debug, Args)]
pub(super) struct JsonAlways {
    /// Print JSON; its shape is described below
    #[arg(long = "json")]
    _json: bool,
}
