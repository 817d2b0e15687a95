//! What `opentool serve` prints once it can be called.

use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use opentool_server::BoundServer;

use super::{
    super::{access::API_KEY_VARIABLE, model::ModelName},
    options::Options,
};
use crate::terminal::visible;

/// Prints where the server listens and how to call it.
pub(super) fn announce(options: &Options, bound: &BoundServer, model: Option<&ModelName>, only_demo: bool) {
    let Ok(address) = bound.local_addr() else { return };
    let text = message(options, address, bound.admin_addr(), model, only_demo);
    // A closed standard output is no reason not to serve.
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn message(
    options: &Options,
    address: SocketAddr,
    admin: Option<SocketAddr>,
    model: Option<&ModelName>,
    only_demo: bool,
) -> String {
    let secure = options.tls_cert.is_some();
    let scheme = if secure { "https" } else { "http" };
    let prefix = options.prefix.as_deref().unwrap_or("/opentool").trim_matches('/');
    let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
    let url = format!("{scheme}://{}{prefix}", reachable(address));
    let key =
        if options.has_keys() { format!(" -H \"Authorization: Bearer ${API_KEY_VARIABLE}\"") } else { String::new() };
    let what = if only_demo {
        r#"/call --json '{"jsonrpc":"2.0","id":"1","method":"add","params":{"a":1,"b":2}}'"#
    } else {
        "/load"
    };
    let url = visible(&url);
    let mcp =
        options.mcp_path().map(|path| format!("MCP clients:  {scheme}://{}{}\n", reachable(address), visible(&path)));
    let mcp = mcp.unwrap_or_default();
    let admin = admin.map(|admin| format!("operator's routes on http://{admin}\n")).unwrap_or_default();
    let model = model.map(|model| format!("model:  {}\n", visible(&model.to_string()))).unwrap_or_default();
    format!("listening on {url}\n{mcp}{admin}{model}try it:  curl{key} {url}{what}\n")
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
