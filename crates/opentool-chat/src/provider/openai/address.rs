//! What OpenAI's two interfaces share: variables of the environment and addresses.

use opentool_http::Url;

use crate::provider::wire::{Variables, provider_url};

/// The address of OpenAI itself.
pub(crate) const BASE_URL: &str = "https://api.openai.com/v1";

/// The variables that configure a server with one of the interfaces.
pub(crate) const VARIABLES: Variables =
    Variables { key: "OPENAI_API_KEY", other_key: None, url: "OPENAI_BASE_URL", model: "OPENAI_MODEL", required: true };

/// Makes the URL of an operation, such as `responses`, from a base URL. One without a path means `/v1`.
pub(crate) fn operation_url(base_url: &str, operation: &str) -> Result<Url, String> {
    let mut url = provider_url(base_url)?;
    let path = match url.path().trim_end_matches('/') {
        "" => format!("/v1/{operation}"),
        path => format!("{path}/{operation}"),
    };
    url.set_path(&path);
    Ok(url)
}

/// Makes the URL of the list of models from that of an operation.
pub(crate) fn models_url(operation_url: &Url, operation: &str) -> Url {
    let mut url = operation_url.clone();
    let path = url.path();
    let path = format!("{}models", path.strip_suffix(operation).unwrap_or(path));
    url.set_path(&path);
    url
}

/// Says whether a host is OpenAI itself.
pub(crate) fn is_openai_host(host: Option<&str>) -> bool {
    host.is_some_and(|host| host == "openai.com" || host.ends_with(".openai.com"))
}
