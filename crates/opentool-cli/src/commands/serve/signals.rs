//! The signals that stop a server.

use std::io;
#[cfg(unix)]
use std::io::IsTerminal as _;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop a server.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    hangup: Signal,
    /// How many of the standard streams were a terminal at the start.
    #[cfg(unix)]
    terminals: usize,
}

/// Starts to listen; from now on the signals no longer end the process by themselves.
#[cfg(unix)]
pub(super) fn listen() -> io::Result<Signals> {
    Ok(Signals {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
        hangup: signal(SignalKind::hangup())?,
        terminals: terminals(),
    })
}

/// How many of the standard streams are a terminal; one that was closed is none.
#[cfg(unix)]
fn terminals() -> usize {
    let streams = [io::stdin().is_terminal(), io::stdout().is_terminal(), io::stderr().is_terminal()];
    streams.into_iter().filter(|is_terminal| *is_terminal).count()
}

#[cfg(unix)]
impl Signals {
    /// Waits for SIGTERM, for Ctrl-C, or until the terminal is closed that the server was started at: SIGHUP says that too.
    pub(super) async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hangup.recv() => if terminals() < self.terminals { return },
            }
        }
    }

    /// Waits for Ctrl-C.
    pub(super) async fn next_interrupt(&mut self) {
        self.interrupt.recv().await;
    }
}

/// The signal that asks a server to read its files again.
#[derive(Debug)]
pub(super) struct Hangups {
    #[cfg(unix)]
    hangup: Signal,
}

impl Hangups {
    /// Starts to listen; from now on the signal no longer ends the process.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for SIGHUP, which only Unix has.
    pub(super) async fn next(&mut self) {
        #[cfg(unix)]
        self.hangup.recv().await;
        #[cfg(not(unix))]
        std::future::pending::<()>().await;
    }
}

/// Starts to listen.
#[cfg(not(unix))]
pub(super) fn listen() -> io::Result<Signals> {
    Ok(Signals {})
}

#[cfg(not(unix))]
impl Signals {
    /// Waits for Ctrl-C.
    pub(super) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }

    /// Waits for Ctrl-C.
    pub(super) async fn next_interrupt(&mut self) {
        self.next().await;
    }
}
