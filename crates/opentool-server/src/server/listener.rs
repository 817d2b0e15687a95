//! A server at its address: it takes connections until it is told to stop, and then drains.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout_at};

use super::connections::{Admission, Connection, Connections, Patience, TICK};
use super::talk::{Listening, full, talk};
use super::tls::Certificates;
use crate::endpoint::{Door, Endpoint};
use crate::lifecycle::ShutdownHandle;

/// How long a connection must be idle to be closed once the server drains: what its client has just sent may be on its way.
const DRAIN_IDLE: Duration = Duration::from_millis(500);

/// How long the last answers may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long to wait where the system has no room for another connection.
const BREATHER: Duration = Duration::from_millis(10);

/// How often the log says that connections cannot be taken.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// How long the stages of a server's life take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) header_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) drain_delay: Duration,
    pub(super) drain_timeout: Duration,
}

/// A [`Server`](super::Server) that has its address and takes connections once it [serves](Self::serve).
#[must_use = "a server serves only when it is told to"]
pub struct BoundServer {
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) main: Listener,
    pub(super) admin: Option<Listener>,
    pub(super) pace: Pace,
}

impl BoundServer {
    /// Returns the address of the tools.
    ///
    /// # Errors
    ///
    /// Where the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.main.socket.local_addr()
    }

    /// Returns the address of the operator's routes, where they have one of their own.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref()?.socket.local_addr().ok()
    }

    /// Returns what stops the server.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle(self.endpoint.lifecycle.clone())
    }

    /// Serves until the server is stopped and everything it accepted is answered.
    pub async fn serve(self) {
        let Self { endpoint, mut main, mut admin, pace } = self;
        let lifecycle = endpoint.lifecycle.clone();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let patience = Patience { head: pace.header_timeout, idle: pace.idle_timeout };

        let closing = async {
            lifecycle.stop.cancelled().await;
            tracing::info!(target: "opentool::server", "draining");
            sleep(pace.drain_delay).await;
        };
        tokio::pin!(closing);
        loop {
            tokio::select! {
                () = &mut closing => break,
                accepted = main.socket.accept() => main.welcome(accepted).await,
                accepted = accept(admin.as_ref()) => if let Some(admin) = &mut admin { admin.welcome(accepted).await },
                _ = tick.tick() => {
                    main.tick(patience);
                    if let Some(admin) = &mut admin {
                        admin.tick(patience);
                    }
                }
                Some(_) = main.tasks.join_next() => {}
            }
        }
        // Whoever has been connected by the system counts as accepted.
        while let Some(accepted @ Ok(_)) = main.socket.accept().now_or_never() {
            main.welcome(accepted).await;
        }
        let Listener { socket, mut tasks, connections, .. } = main;
        drop(socket);

        let patience = Patience { head: pace.header_timeout, idle: DRAIN_IDLE.min(pace.idle_timeout) };
        let cut_off = sleep_until(Instant::now() + pace.drain_timeout);
        tokio::pin!(cut_off);
        loop {
            tokio::select! {
                finished = tasks.join_next() => if finished.is_none() { break },
                () = &mut cut_off => break,
                // Probes are answered to the end.
                accepted = accept(admin.as_ref()) => if let Some(admin) = &mut admin { admin.welcome(accepted).await },
                _ = tick.tick() => connections.tick(patience),
            }
        }
        lifecycle.cut_off.cancel();
        let last = Instant::now() + LAST_WORDS;
        while let Ok(Some(_)) = timeout_at(last, tasks.join_next()).await {}
        tasks.shutdown().await;
        tracing::info!(target: "opentool::server", "stopped");
    }
}

impl fmt::Debug for BoundServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundServer")
            .field("local_addr", &self.local_addr().ok())
            .field("admin_addr", &self.admin_addr())
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}

type Accepted = io::Result<(TcpStream, SocketAddr)>;

async fn accept(listener: Option<&Listener>) -> Accepted {
    match listener {
        Some(listener) => listener.socket.accept().await,
        None => std::future::pending().await,
    }
}

/// A socket that takes connections, and the connections it took.
pub(super) struct Listener {
    socket: TcpListener,
    listening: Arc<Listening>,
    connections: Arc<Connections>,
    tasks: JoinSet<()>,
    /// Until when nobody wants to hear another complaint.
    quiet_until: Option<Instant>,
}

impl Listener {
    pub(super) fn new(
        socket: TcpListener,
        endpoint: Arc<Endpoint>,
        door: Door,
        certificates: Option<Certificates>,
        max_connections: usize,
        max_header_size: usize,
    ) -> Self {
        Self {
            socket,
            listening: Arc::new(Listening { endpoint, door, certificates, max_header_size }),
            connections: Connections::new(max_connections),
            tasks: JoinSet::new(),
            quiet_until: None,
        }
    }

    async fn welcome(&mut self, accepted: Accepted) {
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_about_the_client(&error) => return,
            Err(error) => {
                // No descriptors, no memory: the longest idle connections have to make room.
                self.complain(&error);
                let evicted = self.connections.make_room();
                self.listening.endpoint.metrics.evicted.fetch_add(evicted as u64, Relaxed);
                return sleep(BREATHER).await;
            }
        };
        let metrics = &self.listening.endpoint.metrics;
        let connection = match self.connections.admit() {
            Admission::Admitted(connection) => connection,
            Admission::InPlaceOfAnother(connection) => {
                metrics.evicted.fetch_add(1, Relaxed);
                connection
            }
            Admission::Refused => return self.refuse(socket),
        };
        // Answers are written whole, so waiting for more would only delay them.
        let _ = socket.set_nodelay(true);
        metrics.connections.fetch_add(1, Relaxed);
        let stay = Stay {
            listening: self.listening.clone(),
            connections: self.connections.clone(),
            connection: connection.clone(),
        };
        self.tasks.spawn(async move {
            talk(stay.listening.clone(), socket, peer, connection).await;
            drop(stay);
        });
    }

    /// Writes a warning, but no flood of them.
    fn complain(&mut self, reason: &dyn fmt::Display) {
        let now = Instant::now();
        if self.quiet_until.is_none_or(|until| now >= until) {
            self.quiet_until = Some(now + COMPLAIN_EVERY);
            tracing::warn!(target: "opentool::server", %reason, "a connection cannot be taken");
        }
    }

    fn refuse(&mut self, socket: TcpStream) {
        self.listening.endpoint.metrics.refused.fetch_add(1, Relaxed);
        self.complain(&"all others are busy");
        if self.listening.certificates.is_none()
            && let Ok(mut socket) = socket.into_std()
        {
            // The buffer of a new socket is empty, so this does not wait.
            let _ = io::Write::write_all(&mut socket, full().as_bytes());
        }
    }

    fn tick(&mut self, patience: Patience) {
        while self.tasks.try_join_next().is_some() {}
        self.connections.tick(patience);
    }
}

/// A connection's place on the list, until its task ends, however it ends.
struct Stay {
    listening: Arc<Listening>,
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.listening.endpoint.metrics.connections.fetch_sub(1, Relaxed);
        self.connections.remove(&self.connection);
    }
}

/// Whether accepting failed because of that one client.
fn is_about_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
