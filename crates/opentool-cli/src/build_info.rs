//! What this program was built from.

/// What `--version` says after the name: `0.1.0 (abc1234 2026-11-15, features chat client …)`. The build script makes it; outside a
/// repository there is no commit in it.
pub(crate) const LONG_VERSION: &str = env!("OPENTOOL_LONG_VERSION");
