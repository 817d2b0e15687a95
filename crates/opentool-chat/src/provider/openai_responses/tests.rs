#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::OpenAiResponses;
use super::request::is_reasoning_model;
use crate::provider::ModelRequest;

#[test]
fn only_models_that_think_are_asked_for_their_thoughts() {
    for model in ["gpt-5", "gpt-5-mini", "o3", "o4-mini", "gpt-5.2-pro", "codex-mini-latest"] {
        assert!(is_reasoning_model(model), "{model}");
    }
    for model in ["gpt-4o", "gpt-4.1-mini", "gpt-3.5-turbo", "chatgpt-4o-latest", "gpt-5-chat-latest", "ft:gpt-4o:x"] {
        assert!(!is_reasoning_model(model), "{model}");
    }
}

#[test]
fn only_openai_is_asked_for_encrypted_reasoning() {
    let (options, tools) = (crate::ChatOptions::new(), crate::ToolDefinitions::default());
    let encrypted = json!(["reasoning.encrypted_content"]);
    for (url, model, expected) in [
        ("https://api.openai.com/v1", "gpt-5", Some(&encrypted)),
        ("https://api.openai.com/v1", "gpt-4o", None),
        ("http://127.0.0.1:8080", "gpt-5", None),
    ] {
        let provider = OpenAiResponses::new(model).base_url(url);
        let body = provider.body(ModelRequest::new(&[], &options, &tools), false).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((body.get("include"), &body["store"]), (expected, &json!(false)), "{url}, {model}");
    }
}
