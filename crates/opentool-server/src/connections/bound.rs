//! A server that has its address: [`BoundServer`].

use std::fmt;
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout_at};

use super::listener::{Accepted, Listener, ReloadHandle};
use super::registry::{PhaseLimits, TICK};
use crate::limits::ConnectionLimits;
use crate::shutdown::{ShutdownHandle, ShutdownState};

/// How long a connection must be idle to be closed once the server drains: its client may have sent a request that is still
/// on its way.
const DRAIN_IDLE: Duration = Duration::from_millis(500);

/// How often it is looked whether calls that have no connection any more are over.
const DETACHED_POLL: Duration = Duration::from_millis(10);

/// How long the last responses may take to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// A `Server` that has its address and accepts connections once it [serves](Self::serve).
#[must_use = "a server accepts connections only while `serve` runs"]
pub struct BoundServer {
    main: Listener,
    admin: Option<Listener>,
    limits: ConnectionLimits,
    shutdown: Arc<ShutdownState>,
}

impl BoundServer {
    pub(crate) fn new(
        main: Listener,
        admin: Option<Listener>,
        limits: ConnectionLimits,
        shutdown: Arc<ShutdownState>,
    ) -> Self {
        Self { main, admin, limits, shutdown }
    }

    /// Returns the address of the tools.
    ///
    /// # Errors
    ///
    /// Where the system does not know it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.main.socket.local_addr()
    }

    /// Returns the address of the operator's routes, where they have one of their own.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref()?.socket.local_addr().ok()
    }

    /// Returns a handle that stops the server.
    #[must_use]
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle(self.shutdown.clone())
    }

    /// Returns a handle that reads API keys and certificates again.
    #[must_use]
    pub fn reload_handle(&self) -> ReloadHandle {
        self.main.reload_handle()
    }

    /// Serves until the server is stopped and everything it accepted is answered.
    pub async fn serve(self) {
        let Self { mut main, mut admin, limits, shutdown } = self;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let phases = PhaseLimits { head: limits.header_timeout, idle: limits.idle_timeout };

        let closing = async {
            shutdown.stop.cancelled().await;
            tracing::info!(target: "opentool::server", "draining");
            sleep(limits.drain_delay).await;
        };
        tokio::pin!(closing);
        loop {
            tokio::select! {
                () = &mut closing => break,
                accepted = main.socket.accept() => main.accept(accepted).await,
                accepted = next_admin(admin.as_ref()) => if let Some(admin) = &mut admin { admin.accept(accepted).await },
                _ = tick.tick() => {
                    main.tick(phases);
                    if let Some(admin) = &mut admin {
                        admin.tick(phases);
                    }
                }
                Some(_) = main.tasks.join_next() => {}
            }
        }
        // Connections that the system has completed count as accepted.
        while let Some(accepted @ Ok(_)) = main.socket.accept().now_or_never() {
            main.accept(accepted).await;
        }
        let Listener { socket, mut tasks, registry, .. } = main;
        drop(socket);

        let phases = PhaseLimits { head: limits.header_timeout, idle: DRAIN_IDLE.min(limits.idle_timeout) };
        let cut_off = sleep_until(Instant::now() + limits.drain_timeout);
        tokio::pin!(cut_off);
        loop {
            tokio::select! {
                finished = tasks.join_next(), if !tasks.is_empty() => drop(finished),
                // Calls with a key go on without their connection.
                () = sleep(DETACHED_POLL), if tasks.is_empty() && shutdown.has_detached_calls() => {}
                () = ready(()), if tasks.is_empty() && !shutdown.has_detached_calls() => break,
                () = &mut cut_off => break,
                // Probes are answered to the end.
                accepted = next_admin(admin.as_ref()) => if let Some(admin) = &mut admin { admin.accept(accepted).await },
                _ = tick.tick() => registry.tick(phases),
            }
        }
        shutdown.cut_off.cancel();
        let end = Instant::now() + FLUSH_TIMEOUT;
        while let Ok(Some(_)) = timeout_at(end, tasks.join_next()).await {}
        while shutdown.has_detached_calls() && Instant::now() < end {
            sleep(DETACHED_POLL).await;
        }
        tasks.shutdown().await;
        tracing::info!(target: "opentool::server", "stopped");
    }
}

impl fmt::Debug for BoundServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundServer")
            .field("local_addr", &self.local_addr().ok())
            .field("admin_addr", &self.admin_addr())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

async fn next_admin(listener: Option<&Listener>) -> Accepted {
    match listener {
        Some(listener) => listener.socket.accept().await,
        None => std::future::pending().await,
    }
}
