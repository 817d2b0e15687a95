//! The mark that stands where a secret was.

/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";
