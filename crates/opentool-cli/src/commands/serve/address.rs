//! The address of a server: where none is given, where it is taken, and how this machine reaches it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use opentool_server::ListenAddr;

use super::options::Options;
use crate::{
    failure::Failure,
    next_step,
    setting::{DEFAULT_PORT, is_loopback},
    source::{Source, local_port, shown_url},
    terminal::visible,
};

pub(crate) const DEFAULT_HOST: &str = "127.0.0.1";
/// The names of the option that sets the port.
pub(super) const PORT_OPTIONS: [&str; 4] = ["--port", "-t", "--toolPort", "--opentoolServerPort"];

/// The next port that is free now; 0, which stands for any, where none is near.
pub(super) fn free_port(host: &str, taken: u16) -> u16 {
    let near = (taken..taken.saturating_add(20)).skip(1);
    near.into_iter().find(|port| TcpListener::bind(ListenAddr::from((host, *port)).to_string()).is_ok()).unwrap_or(0)
}

/// The address under which this machine reaches the server.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Refuses a source that is this server itself: each call would come back as another one, until no more may run.
pub(super) fn check_source(options: &Options, source: &Source) -> Result<(), Failure> {
    let (host, port) = (options.host.as_deref().unwrap_or(DEFAULT_HOST), options.port.unwrap_or(DEFAULT_PORT));
    let is_any = host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
    if !is_any && !is_loopback(host) {
        return Ok(());
    }
    let Some(own) = source.server_urls().into_iter().find(|url| local_port(url) == Some(port)) else { return Ok(()) };
    let free = free_port(host, port);
    let message = format!(
        "{} is at {}, which would be this server itself: take another port with `--port {free}`",
        visible(&source.to_string()),
        visible(&shown_url(own))
    );
    Err(Failure::Serve { message, next: next_step::with_option(&PORT_OPTIONS, &free.to_string()) })
}
