//! The HTTP client underneath, and the headers of every request.

use opentool_http::{Setup, SetupError};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::Settings;

/// An HTTP client, whom it speaks to, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    pub(crate) client: reqwest::Client,
    pub(crate) endpoint: Url,
    pub(crate) headers: HeaderMap,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let endpoint = settings.endpoint.clone()?;
        let client = Setup::new(concat!("opentool-chat/", env!("CARGO_PKG_VERSION")), &endpoint)
            .ca_certificates(settings.ca_certificates.as_deref())
            .builder()
            .and_then(|builder| builder.connect_timeout(settings.connect_timeout).build().map_err(SetupError::new))
            .map_err(|error| error.to_string())?;
        Ok(Self { client, endpoint, headers: headers(settings)? })
    }
}

fn headers(settings: &Settings) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some((name, value)) = settings.wire_header {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = &settings.key {
        headers.insert(
            settings.key_header.name(),
            key.header(settings.key_header.prefix()).map_err(|error| error.to_string())?,
        );
    }
    for (name, value) in &settings.headers {
        let parsed = HeaderName::try_from(name).map_err(|_| format!("`{name}` cannot be the name of a header"))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of the header `{name}` has characters in it that no header can carry"))?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}
