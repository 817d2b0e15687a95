//! A set of tools, made ready to be served: [`prepare`].

use opentool::{ChangeSignal, Host};
use opentool_server::{ConfigBuilder, ConfigError};
use tokio::task::AbortHandle;

use super::{
    super::{access::API_KEY_VARIABLE, known, tool_set_options::ToolSetOptions},
    options::Options,
    places::FilePlaces,
    tool_set::{SetSource, ToolSet},
};
use crate::{
    failure::Failure,
    next_step,
    setting::{SOURCES, is_loopback},
    telemetry::{self, Export},
    terminal::visible,
};

/// What serves a set of tools: with the options' executor and settings.
pub(super) struct Prepared {
    pub(super) host: Host,
    pub(super) config: ConfigBuilder,
    /// What passes on the signals of the set.
    pub(super) forward: Option<AbortHandle>,
}

/// Prepares a set of tools to be served by a server that may serve another one later.
pub(super) fn prepare(
    options: &Options,
    places: &FilePlaces,
    set: &ToolSet,
    export: Option<&'static Export>,
    changed: &ChangeSignal,
) -> Result<Prepared, Failure> {
    let (host, forward) = set_host(&options.set, set, changed).map_err(|failure| match failure {
        Failure::Duplicate { .. } => places.locate(SOURCES, failure),
        failure => failure,
    })?;
    Ok(Prepared { host, config: set.with_states(config(options, places, export)?), forward })
}

/// The host of a set of tools whose sources may be down for a while, and what passes on their signals.
pub(in crate::commands) fn set_host(
    options: &ToolSetOptions,
    set: &ToolSet,
    changed: &ChangeSignal,
) -> Result<(Host, Option<AbortHandle>), Failure> {
    let joined = set.join()?;
    known::check(&options.known.metadata(), &joined.names)?;
    let forward = joined.tools.changes().map(|mut changes| {
        let changed = changed.clone();
        let forwarding = tokio::spawn(async move {
            while changes.changed().await {
                changed.send();
            }
        });
        forwarding.abort_handle()
    });
    let source = SetSource::new(set, &joined, changed);
    Ok((options.executor(&joined).host(source), forward))
}

/// The same for a server that keeps its tools, which need not be asked for then.
pub(super) fn fixed_host(options: &Options, set: &ToolSet) -> Result<Host, Failure> {
    let joined = set.join()?;
    Ok(options.set.executor(&joined).host(joined.tools.clone()))
}

pub(super) fn config(
    options: &Options,
    places: &FilePlaces,
    export: Option<&'static Export>,
) -> Result<ConfigBuilder, Failure> {
    let located = |key: &str, message: &str| Err(places.locate(key, Failure::usage(message)));
    let mut config = keys(options, ConfigBuilder::default())
        .map_err(|failure| places.locate("insecure-no-auth", failure))?
        .version(options.tag.as_deref().unwrap_or(env!("CARGO_PKG_VERSION")))
        .cors(options.cors == Some(true))
        .enable_stop(options.enable_stop == Some(true));
    if let Some(prefix) = &options.prefix {
        config = config.prefix(prefix);
    }
    if let Some(url) = &options.public_url {
        config = config.public_url(url);
    }
    if let Some(bytes) = options.set.max_body {
        config = config.max_body(bytes);
    }
    // This machine has more addresses than the server takes for its own: what is bound is one of them.
    if let Some(host) = options.host.as_deref().filter(|host| is_loopback(host)) {
        config = config.allowed_host(host);
    }
    for host in &options.allowed_host {
        config = config.allowed_host(host);
    }
    for origin in &options.allowed_origin {
        config = config.allowed_origin(origin);
    }
    if export.is_some() {
        config = config.trace_hook(telemetry::join_trace);
    }
    match (&options.tls_cert, &options.tls_key) {
        (Some(certificates), Some(key)) => config = config.tls(certificates, key),
        (None, None) => {}
        (Some(_), None) => return located("tls-cert", "`--tls-cert` needs `--tls-key`"),
        (None, Some(_)) => return located("tls-key", "`--tls-key` needs `--tls-cert`"),
    }
    if let Some(address) = &options.admin_addr {
        config = config.admin_addr(address);
    }
    if let Some(delay) = options.drain_delay {
        config = config.drain_delay(delay);
    }
    if let Some(timeout) = options.drain_timeout {
        config = config.drain_timeout(timeout);
    }
    if let Some(bytes) = options.max_buffered {
        config = config.max_buffered_bytes(bytes);
    }
    if let Some(connections) = options.max_connections {
        config = config.max_connections(connections.get());
    }
    if let Some(calls) = options.set.max_calls {
        config = config.max_calls_in_flight(calls.get());
    }
    if let Some(timeout) = options.half_close_timeout {
        config = config.half_close_timeout(timeout);
    }
    Ok(config)
}

fn keys(options: &Options, mut config: ConfigBuilder) -> Result<ConfigBuilder, Failure> {
    config = match options.given_keys().next() {
        Some(_) => config.api_keys(options.given_keys()),
        None => config.api_key_from_env(API_KEY_VARIABLE),
    };
    if let Some(file) = &options.api_keys_file {
        config = config.api_keys_file(file);
    }
    if options.insecure_no_auth == Some(true) {
        if options.has_keys() {
            return Err(Failure::usage("`--insecure-no-auth` and API keys: leave one of them out"));
        }
        config = config.allow_anonymous(true);
    }
    Ok(config)
}

/// Words an error of the settings for the command line.
fn config_problem(error: &ConfigError) -> String {
    match error {
        ConfigError::StopWithoutKeys => {
            "`--enable-stop` needs an API key: without one any caller could stop the server".to_owned()
        }
        ConfigError::Origin { origin } => format!(
            "`--allowed-origin {origin}` can match no page: write an origin such as https://app.example, without a path"
        ),
        ConfigError::NoKeys => format!(
            "every machine on the network could call the tools: set a key with {API_KEY_VARIABLE} or `--api-keys-file`, or allow \
             it with `--insecure-no-auth`"
        ),
        ConfigError::PublicUrl { url } => {
            format!("`--public-url {}` is no http:// or https:// URL", visible(url))
        }
        _ => error.to_string(),
    }
}

/// The failure of the settings, at its place where a file has the setting.
pub(super) fn config_failure(error: &ConfigError, places: &FilePlaces) -> Failure {
    let failure = Failure::Serve { message: config_problem(error), next: config_step(error) };
    match error {
        ConfigError::File(error) => places.locate_path(&error.path, failure),
        ConfigError::Key { .. } => places.locate("api-key", failure),
        ConfigError::StopWithoutKeys => places.locate("enable-stop", failure),
        ConfigError::Origin { .. } => places.locate("allowed-origin", failure),
        ConfigError::PublicUrl { .. } => places.locate("public-url", failure),
        ConfigError::NoKeys => places.locate("host", failure),
        _ => failure,
    }
}

/// What to try where a file was given that is not there.
fn config_step(error: &ConfigError) -> Option<String> {
    match error {
        ConfigError::File(error) => next_step::with_near_file(&error.path.to_string_lossy()),
        _ => None,
    }
}
