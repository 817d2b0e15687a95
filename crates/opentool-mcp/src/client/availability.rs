//! Whether a server was there when it was last asked: [`Availability`].

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::error::McpError;

/// Zero stands for a server that was not asked yet.
const UP: u8 = 1;
const DOWN: u8 = 2;

/// What is known of a server's state. It outlives connections.
#[derive(Default)]
pub(crate) struct Availability(AtomicU8);

impl Availability {
    pub(crate) fn is_up(&self) -> Option<bool> {
        match self.0.load(Relaxed) {
            UP => Some(true),
            DOWN => Some(false),
            _ => None,
        }
    }

    /// Notes whether the server was there: every answer of its own says so, also an error.
    pub(crate) fn note<T>(&self, answered: &Result<T, McpError>) {
        let state = match answered {
            // It was not asked.
            Err(McpError::Setup { .. }) => return,
            Err(
                McpError::Start { .. }
                | McpError::Unreachable { .. }
                | McpError::Closed { .. }
                | McpError::Timeout { .. }
                | McpError::Unauthorized { .. }
                | McpError::KeyRequired { .. }
                | McpError::LoginRequired { .. }
                | McpError::Login { .. },
            ) => DOWN,
            _ => UP,
        };
        self.0.store(state, Relaxed);
    }
}
