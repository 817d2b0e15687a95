//! Why a server cannot be bound, in the words of the command line: [`explain`].

use std::io;

use opentool_server::{ListenAddr, ServeError};

use super::{
    address::{PORT_OPTIONS, free_port},
    page,
    places::FilePlaces,
    prepare::config_failure,
};
use crate::{commands::access::API_KEY_VARIABLE, failure::Failure, next_step, terminal::visible};

/// Words an error for the command line, or for the value of a file that caused it.
pub(super) fn explain(error: &ServeError, host: &str, port: u16, places: &FilePlaces) -> Failure {
    let mut next = None;
    let key_of = |addr: &str| if addr == ListenAddr::from((host, port)).to_string() { "host" } else { "admin-addr" };
    let mut key = None;
    let message = match error {
        ServeError::Bind { addr, source } if source.kind() == io::ErrorKind::AddrInUse => {
            if *addr != ListenAddr::from((host, port)).to_string() {
                format!("{addr} is taken: give `--admin-addr` another port")
            } else {
                let free = free_port(host, port);
                next = next_step::with_option(&PORT_OPTIONS, &free.to_string());
                format!(
                    "port {port} of {host} is taken: stop the process that uses it, or take another with `--port {free}`"
                )
            }
        }
        ServeError::OpenToAll { addr } => {
            key = Some(key_of(addr));
            format!(
                "on {addr} every machine on the network could call the tools: set a key with {API_KEY_VARIABLE} or \
                 `--api-keys-file`, or allow it with `--insecure-no-auth`"
            )
        }
        ServeError::Bind { addr, source } if source.kind() == io::ErrorKind::InvalidInput => {
            key = Some(key_of(addr));
            format!("{} is no address: give ADDR:PORT, such as 127.0.0.1:9628", visible(addr))
        }
        // A port below 1024 is no fault of the host.
        ServeError::Bind { addr, source } if source.kind() != io::ErrorKind::PermissionDenied => {
            key = Some(key_of(addr));
            error.to_string()
        }
        ServeError::Config(error) => return config_failure(error, places),
        ServeError::Mount { path, problem } if path == page::PATH => {
            format!("the page cannot be served at {path}: {problem}; leave it out with `--no-page`")
        }
        ServeError::Mount { path, problem } => format!(
            "MCP cannot be offered at {path}: {problem}; take another path with `--mcp-path`, or leave it out with `--no-mcp`"
        ),
        _ => error.to_string(),
    };
    let failure = Failure::Serve { message, next };
    match key {
        Some(key) => places.locate(key, failure),
        None => failure,
    }
}
