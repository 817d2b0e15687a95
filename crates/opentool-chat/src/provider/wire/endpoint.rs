//! The address of a provider.

use opentool_http::Url;

/// Reads the base URL of a provider.
pub(crate) fn provider_url(text: &str) -> Result<Url, String> {
    opentool_http::base_url(text)
        .map_err(|error| format!("`{}` cannot be the address of a provider: {}", error.url, error.reason))
}
