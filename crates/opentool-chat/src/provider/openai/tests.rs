#![allow(clippy::unwrap_used)]

use super::OpenAi;
use crate::ChatError;
use crate::provider::{ModelRequest, Provider};

fn from(variables: &[(&str, &str)]) -> Result<OpenAi, ChatError> {
    OpenAi::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn key_address_and_model_come_from_the_environment() {
    let provider = from(&[("OPENAI_API_KEY", "s3cret"), ("OPENAI_MODEL", "tiny")]).unwrap();
    assert_eq!(provider.connection.settings.url(), "https://api.openai.com/v1/chat/completions");
    assert_eq!(provider.model(), Some("tiny"));
    assert!(!format!("{provider:?}").contains("s3cret"));

    let provider = from(&[("OPENAI_BASE_URL", "http://127.0.0.1:8080")]).unwrap();
    assert_eq!(provider.connection.settings.url(), "http://127.0.0.1:8080/v1/chat/completions");
    assert!(provider.connection.settings.key.is_none() && provider.model().is_none());
}

#[test]
fn a_bad_environment_is_reported_with_what_to_do() {
    let missing = from(&[]).unwrap_err().to_string();
    assert!(missing.starts_with("OPENAI_API_KEY is not set: set it to your key, or OPENAI_BASE_URL"), "{missing}");
    let wrong = from(&[("OPENAI_BASE_URL", "models.example")]).unwrap_err().to_string();
    assert!(wrong.starts_with("`models.example` cannot be the address of a provider"), "{wrong}");
}

#[test]
fn a_missing_model_is_an_error() {
    let provider = from(&[("OPENAI_API_KEY", "s3cret")]).unwrap();
    let (options, tools) = (crate::ChatOptions::new(), crate::ToolDefinitions::default());
    let error = provider.body(ModelRequest::new(&[], &options, &tools), false).unwrap_err();
    assert_eq!(error.to_string(), "no model of openai is chosen: name one in the options, or set OPENAI_MODEL");
}

#[test]
fn openai_itself_gets_the_new_name_of_the_token_limit() {
    let (options, tools) = (crate::ChatOptions::new().with_max_tokens(7), crate::ToolDefinitions::default());
    for (url, name) in [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://notopenai.com/v1", "max_tokens"),
        ("http://127.0.0.1:8080", "max_tokens"),
    ] {
        let body = OpenAi::new("tiny").base_url(url).body(ModelRequest::new(&[], &options, &tools), false).unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body[name], 7, "{url}");
    }
}
