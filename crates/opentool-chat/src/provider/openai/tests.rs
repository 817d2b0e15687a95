#![allow(clippy::unwrap_used)]

use super::*;

fn from(variables: &[(&str, &str)]) -> Result<OpenAi, ChatError> {
    OpenAi::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn key_address_and_model_come_from_the_environment() {
    let provider = from(&[("OPENAI_API_KEY", "s3cret"), ("OPENAI_MODEL", "tiny")]).unwrap();
    assert_eq!(provider.link.settings.url(), "https://api.openai.com/v1/chat/completions");
    assert_eq!(provider.model(), Some("tiny"));
    assert!(!format!("{provider:?}").contains("s3cret"));

    let provider = from(&[("OPENAI_BASE_URL", "http://127.0.0.1:8080")]).unwrap();
    assert_eq!(provider.link.settings.url(), "http://127.0.0.1:8080/v1/chat/completions");
    assert!(provider.link.settings.key.is_none() && provider.model().is_none());
}

#[test]
fn what_is_missing_or_wrong_in_the_environment_is_told_with_what_to_do() {
    let missing = from(&[]).unwrap_err().to_string();
    assert!(missing.starts_with("OPENAI_API_KEY is not set: set it to your key, or OPENAI_BASE_URL"), "{missing}");
    let wrong = from(&[("OPENAI_BASE_URL", "models.example")]).unwrap_err().to_string();
    assert!(wrong.starts_with("`models.example` cannot be the address of a provider"), "{wrong}");
}

#[test]
fn a_model_that_nobody_named_is_asked_for() {
    let provider = from(&[("OPENAI_API_KEY", "s3cret")]).unwrap();
    let (options, tools) = (crate::ChatOptions::new(), crate::ToolDefinitions::default());
    let error = provider.body(ModelRequest::new(&[], &options, &tools), false).unwrap_err();
    assert_eq!(error.to_string(), "no model of openai is chosen: name one in the options, or set OPENAI_MODEL");
}

#[test]
fn openai_itself_is_told_the_token_limit_under_its_new_name() {
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
