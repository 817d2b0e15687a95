/// What stands where a secret stood.
pub const REDACTED: &str = "[redacted]";
