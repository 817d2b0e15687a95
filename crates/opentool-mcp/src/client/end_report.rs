//! What is known of why a server ended: [`EndReport`].

use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::McpError;

/// How many lines of standard error are kept.
const LINES: usize = 5;

/// Why a connection ended, as far as is known.
#[derive(Default)]
pub(crate) struct EndReport(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// What we ended the connection for.
    fault: Option<String>,
    /// How the program ended by itself.
    status: Option<ExitStatus>,
    /// The last lines of the program's standard error.
    lines: VecDeque<String>,
}

impl EndReport {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what the server did that ends the connection.
    pub(crate) fn fault(&self, reason: impl Into<String>) {
        self.known().fault.get_or_insert(reason.into());
    }

    /// Says whether the server did something that ends the connection.
    pub(crate) fn has_fault(&self) -> bool {
        self.known().fault.is_some()
    }

    /// Notes how the program ended by itself.
    pub(crate) fn ended(&self, status: ExitStatus) {
        self.known().status = Some(status);
    }

    /// Notes a line of standard error.
    pub(crate) fn line(&self, line: String) {
        let mut known = self.known();
        if known.lines.len() == LINES {
            known.lines.pop_front();
        }
        known.lines.push_back(line);
    }

    /// Words the end of the connection.
    pub(crate) fn error(&self, server: &str) -> McpError {
        let known = self.known();
        let server = server.to_owned();
        match &known.fault {
            Some(reason) => McpError::Protocol { server, reason: reason.clone() },
            None => {
                let status = known.status.map(|status| match status.code() {
                    Some(code) => format!("exit status {code}"),
                    None => status.to_string(),
                });
                let lines = Vec::from(known.lines.clone()).join(" | ");
                let lines = Some(lines).filter(|lines| !lines.is_empty());
                let reason = status.into_iter().chain(lines).collect::<Vec<_>>().join(": ");
                McpError::Closed { server, reason }
            }
        }
    }
}
