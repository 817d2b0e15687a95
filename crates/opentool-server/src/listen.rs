//! Where a server listens: [`ListenAddr`].

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};

use tokio::net::{TcpListener, lookup_host};

/// Where a server listens: an address, a host with a port, or a listener that is bound already.
///
/// ```
/// use opentool_server::ListenAddr;
///
/// let addr: ListenAddr = "127.0.0.1:9627".into();
/// let pair: ListenAddr = ("::1", 9627).into();
/// let ready: ListenAddr = std::net::TcpListener::bind("127.0.0.1:0")?.into();
/// assert_eq!((addr.to_string(), pair.to_string()), ("127.0.0.1:9627".to_owned(), "[::1]:9627".to_owned()));
/// # let _ = ready;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ListenAddr(Target);

#[derive(Debug)]
enum Target {
    /// `host:port`, to be looked up.
    Name(String),
    Std(StdListener),
    Tokio(TcpListener),
}

impl ListenAddr {
    /// Looks the address up, without binding it.
    pub(crate) async fn resolve(self) -> io::Result<ResolvedAddr> {
        match self.0 {
            Target::Name(name) => Ok(ResolvedAddr::Unbound(lookup_host(name).await?.collect())),
            Target::Std(listener) => {
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener).map(ResolvedAddr::Bound)
            }
            Target::Tokio(listener) => Ok(ResolvedAddr::Bound(listener)),
        }
    }
}

/// An address that was looked up.
pub(crate) enum ResolvedAddr {
    Unbound(Vec<SocketAddr>),
    Bound(TcpListener),
}

impl ResolvedAddr {
    /// Says whether only this machine can reach it.
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Self::Unbound(addrs) => addrs.iter().all(|addr| addr.ip().is_loopback()),
            Self::Bound(listener) => listener.local_addr().is_ok_and(|addr| addr.ip().is_loopback()),
        }
    }

    pub(crate) async fn bind(self) -> io::Result<TcpListener> {
        match self {
            Self::Unbound(addrs) => TcpListener::bind(&*addrs).await,
            Self::Bound(listener) => Ok(listener),
        }
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr = match &self.0 {
            Target::Name(name) => return f.write_str(name),
            Target::Std(listener) => listener.local_addr(),
            Target::Tokio(listener) => listener.local_addr(),
        };
        match addr {
            Ok(addr) => addr.fmt(f),
            Err(_) => f.write_str("a listener"),
        }
    }
}

impl From<&str> for ListenAddr {
    fn from(addr: &str) -> Self {
        Self(Target::Name(addr.to_owned()))
    }
}

impl From<String> for ListenAddr {
    fn from(addr: String) -> Self {
        Self(Target::Name(addr))
    }
}

impl From<SocketAddr> for ListenAddr {
    fn from(addr: SocketAddr) -> Self {
        Self(Target::Name(addr.to_string()))
    }
}

impl From<(&str, u16)> for ListenAddr {
    fn from((host, port): (&str, u16)) -> Self {
        // An IPv6 address needs brackets before a port.
        let bare_ipv6 = host.contains(':') && !host.starts_with('[');
        Self(Target::Name(if bare_ipv6 { format!("[{host}]:{port}") } else { format!("{host}:{port}") }))
    }
}

impl From<(String, u16)> for ListenAddr {
    fn from((host, port): (String, u16)) -> Self {
        (host.as_str(), port).into()
    }
}

impl From<(IpAddr, u16)> for ListenAddr {
    fn from(addr: (IpAddr, u16)) -> Self {
        SocketAddr::from(addr).into()
    }
}

impl From<StdListener> for ListenAddr {
    fn from(listener: StdListener) -> Self {
        Self(Target::Std(listener))
    }
}

impl From<TcpListener> for ListenAddr {
    fn from(listener: TcpListener) -> Self {
        Self(Target::Tokio(listener))
    }
}
