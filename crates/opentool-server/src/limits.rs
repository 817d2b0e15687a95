//! What the configuration says about connections: [`ConnectionLimits`].

use std::time::Duration;

/// The limits of the connections of a server, and of its drain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    pub(crate) max_connections: usize,
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_header_size: usize,
    /// How long a call may run after its client closed its own side of the connection.
    pub(crate) half_close_timeout: Duration,
    pub(crate) drain_delay: Duration,
    pub(crate) drain_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(90),
            max_header_size: 16 * 1024,
            half_close_timeout: Duration::from_secs(2),
            drain_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(35),
        }
    }
}
