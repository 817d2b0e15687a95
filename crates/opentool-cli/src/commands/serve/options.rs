//! The options of a server, on the command line and, under the same names, in a file.

use std::{env, num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::Args;

use super::super::{access::API_KEY_VARIABLE, model::ModelOptions, tool_set_options::ToolSetOptions};
use crate::{secret::Secret, size::size, time::duration};

/// Every option may be absent, so that the file is read after the command line.
#[derive(Debug, Default, Args)]
pub(super) struct Options {
    #[command(flatten)]
    pub(super) set: ToolSetOptions,

    /// The address to bind [default: 127.0.0.1]
    #[arg(long, alias = "opentoolServerHost", help_heading = "Address")]
    pub(super) host: Option<String>,
    /// The port to bind; 0 for any that is free [default: 9627]
    #[arg(long, short = 't', aliases = ["toolPort", "opentoolServerPort"], help_heading = "Address")]
    pub(super) port: Option<u16>,
    /// The path before every route [default: /opentool]
    #[arg(long, value_name = "PATH", value_parser = url_path, help_heading = "Address")]
    pub(super) prefix: Option<String>,
    /// The path at which MCP clients get the tools; --prefix does not count for it [default: /mcp]
    #[arg(long, value_name = "PATH", help_heading = "Address")]
    pub(super) mcp_path: Option<String>,
    /// Leaves MCP out
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Address")]
    pub(super) no_mcp: Option<bool>,
    /// Serves the web page at /ui also where other machines reach the server [default: on this machine only]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Address")]
    pub(super) page: Option<bool>,
    /// Leaves the web page out
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Address")]
    pub(super) no_page: Option<bool>,
    /// The URL under which clients reach the server, for the document that /load gives [default: what the one source
    /// says]
    #[arg(long, value_name = "URL", help_heading = "Address")]
    pub(super) public_url: Option<String>,
    /// Moves /healthz, /readyz and /metrics to an address of their own
    #[arg(long, value_name = "ADDR:PORT", help_heading = "Address")]
    pub(super) admin_addr: Option<String>,
    /// A PEM file with the certificate chain, to serve HTTPS; read again when it changes
    #[arg(long, value_name = "FILE", help_heading = "Address")]
    pub(super) tls_cert: Option<PathBuf>,
    /// A PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", help_heading = "Address")]
    pub(super) tls_key: Option<PathBuf>,
    /// What /version answers [default: the version of this program]
    #[arg(long, value_name = "VERSION", alias = "opentoolServerTag", help_heading = "Address")]
    pub(super) tag: Option<String>,

    /// An API key that callers must have, repeatable; better in the environment variable OPENTOOL_API_KEY
    #[arg(long, short = 'k', value_name = "KEY", alias = "apiKeys", help_heading = "Who may call")]
    pub(super) api_key: Vec<Secret>,
    // The process manager of the ecosystem gives several in one, which our own option does not: a key may have a comma.
    #[arg(long = "opentoolServerApiKeys", value_delimiter = ',', hide = true)]
    pub(super) listed_api_keys: Vec<Secret>,
    /// A file with a `name:key` a line, each key of at least 8 characters; read again when it changes
    #[arg(long, value_name = "FILE", help_heading = "Who may call")]
    pub(super) api_keys_file: Option<PathBuf>,
    /// Lets callers in without a key, also from other machines
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Who may call")]
    pub(super) insecure_no_auth: Option<bool>,
    /// A host that requests may be addressed to, besides this machine's names for itself; repeatable
    #[arg(long, value_name = "HOST", help_heading = "Who may call")]
    pub(super) allowed_host: Vec<String>,
    /// An origin such as https://app.example whose pages may call; repeatable
    #[arg(long, value_name = "ORIGIN", help_heading = "Who may call")]
    pub(super) allowed_origin: Vec<String>,
    /// Lets the pages of allowed origins read the answers
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Who may call")]
    pub(super) cors: Option<bool>,
    /// How much memory all requests together may take, for their bodies and the check of long arguments [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Running")]
    pub(super) max_buffered: Option<usize>,
    /// How many connections may be open; at the limit the one that was idle longest is closed [default: 4096]
    #[arg(long, value_name = "COUNT", help_heading = "Running")]
    pub(super) max_connections: Option<NonZeroUsize>,
    /// How long a call may run after its client closed its side of the connection [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Running")]
    pub(super) half_close_timeout: Option<Duration>,
    /// A file in which calls with an `Idempotency-Key` are recorded, so that their outcomes survive the server; without it they are kept in
    /// memory
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub(super) journal: Option<PathBuf>,
    /// Lets calls run that cannot be recorded, for instance while the disk is full: after a crash nothing is then known of them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Running")]
    pub(super) run_unrecorded: Option<bool>,
    /// Lets a caller with a key stop the server by POST /stop
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(hide_possible_values = true, help_heading = "Running")]
    pub(super) enable_stop: Option<bool>,
    /// How long the journal keeps what it has; only a file says it.
    #[arg(skip)]
    pub(super) retention: JournalRetention,
    /// Whether there is a page, as a file says it.
    #[arg(skip)]
    pub(super) page_enabled: Option<bool>,
    /// How long connections are still accepted after a stop, while /readyz answers 503 [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Running")]
    pub(super) drain_delay: Option<Duration>,
    /// How long calls may run after that [default: 35s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Running")]
    pub(super) drain_timeout: Option<Duration>,

    #[command(flatten)]
    pub(super) model: ModelOptions,
}

/// The path of a URL, in characters that mean the same in a URL and in a shell.
fn url_path(text: &str) -> Result<String, String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._~/".contains(char);
    match text.chars().find(|char| !is_plain(*char)) {
        None => Ok(text.to_owned()),
        Some(other) => Err(format!("{other:?} cannot stand in it: write letters, digits, `-`, `.`, `_`, `~` and `/`")),
    }
}

/// How long a journal keeps what it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct JournalRetention {
    /// The outcomes of calls with a caller's key.
    pub(super) keys: Option<Duration>,
    /// Runs that are over.
    pub(super) runs: Option<Duration>,
}

impl Options {
    /// The keys of the command line and of the configuration file.
    pub(super) fn given_keys(&self) -> impl Iterator<Item = &str> {
        self.api_key.iter().chain(&self.listed_api_keys).map(Secret::expose)
    }

    /// The path at which MCP clients get the tools; none where MCP is left out.
    pub(super) fn mcp_path(&self) -> Option<String> {
        let path = self.mcp_path.as_deref().unwrap_or("/mcp").trim_matches('/');
        (self.no_mcp != Some(true)).then(|| format!("/{path}"))
    }

    /// The settings that differ and that a server which runs cannot change.
    pub(super) fn fixed_differences(&self, other: &Self) -> Vec<&'static str> {
        macro_rules! differing {
            ($($name:literal: $($field:ident).+),+ $(,)?) => {
                [$(($name, self.$($field).+ != other.$($field).+)),+]
            };
        }
        let differing = differing! {
            "host": host, "port": port, "prefix": prefix, "mcp-path": mcp_path, "no-mcp": no_mcp, "admin-addr": admin_addr,
            "tls-cert": tls_cert, "tls-key": tls_key, "max-connections": max_connections,
            "half-close-timeout": half_close_timeout, "drain-delay": drain_delay, "drain-timeout": drain_timeout,
            "journal": journal, "run-unrecorded": run_unrecorded, "key-retention": retention.keys,
            "run-retention": retention.runs, "page": page_enabled,
        };
        differing.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// Whether callers need a key.
    pub(super) fn has_keys(&self) -> bool {
        self.given_keys().next().is_some() || self.api_keys_file.is_some() || env::var_os(API_KEY_VARIABLE).is_some()
    }
}
