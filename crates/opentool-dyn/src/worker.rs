//! The worker process.

/// Runs the worker and never returns, if this process was started as one; otherwise does nothing.
pub fn worker_main() {}
