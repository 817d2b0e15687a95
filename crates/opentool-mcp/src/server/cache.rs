//! How long a client may keep a result: [`CacheHints`].

use serde::Serialize;

/// What `server/discover` and `tools/list` say about keeping their results.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CacheHints {
    ttl_ms: u64,
    cache_scope: CacheScope,
}

/// Who may keep a result.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum CacheScope {
    Public,
    Private,
}

impl CacheHints {
    /// Makes the hints; what a caller gets who showed a key is not for others.
    pub(crate) fn new(ttl: std::time::Duration, has_key: bool) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self { ttl_ms, cache_scope: if has_key { CacheScope::Private } else { CacheScope::Public } }
    }
}
