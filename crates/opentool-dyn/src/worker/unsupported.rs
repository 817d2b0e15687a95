//! Systems without worker processes.

/// Runs the worker and never returns, if this process was started as one; on this system none ever is.
pub fn worker_main() {}
