#![allow(clippy::unwrap_used)]

use super::Anthropic;
use crate::ChatError;
use crate::provider::Provider;

fn from(variables: &[(&str, &str)]) -> Result<Anthropic, ChatError> {
    Anthropic::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn key_address_and_model_come_from_the_environment() {
    let provider = from(&[("ANTHROPIC_API_KEY", "s3cret"), ("ANTHROPIC_MODEL", "claude")]).unwrap();
    assert_eq!(provider.connection.settings.url(), "https://api.anthropic.com/v1/messages");
    assert_eq!(provider.model(), Some("claude"));
    assert!(!format!("{provider:?}").contains("s3cret"));
    let missing = from(&[]).unwrap_err().to_string();
    assert!(
        missing.starts_with("ANTHROPIC_API_KEY is not set: set it to your key, or ANTHROPIC_BASE_URL"),
        "{missing}"
    );
}

#[test]
fn a_base_url_may_end_with_v1_or_not() {
    for url in
        ["http://127.0.0.1:8080", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/"]
    {
        let provider = from(&[("ANTHROPIC_BASE_URL", url)]).unwrap();
        assert_eq!(provider.connection.settings.url(), "http://127.0.0.1:8080/v1/messages");
    }
    let proxied = from(&[("ANTHROPIC_BASE_URL", "https://proxy.example/anthropic")]).unwrap();
    assert_eq!(proxied.connection.settings.url(), "https://proxy.example/anthropic/v1/messages");
}
