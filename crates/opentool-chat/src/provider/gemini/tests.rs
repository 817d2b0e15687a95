#![allow(clippy::unwrap_used)]

use super::Gemini;
use super::format::GeminiFormat;
use super::response::read_models;
use crate::ChatError;
use crate::provider::wire::WireFormat;

fn from(variables: &[(&str, &str)]) -> Result<Gemini, ChatError> {
    Gemini::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_model_and_the_method_are_in_the_address() {
    for base in ["https://g.example", "https://g.example/v1beta/"] {
        let endpoint = GeminiFormat::endpoint(base).unwrap();
        let url = |model, stream| GeminiFormat.request_url(&endpoint, model, stream).to_string();
        assert_eq!(url("gemini-2.5-pro", false), "https://g.example/v1beta/models/gemini-2.5-pro:generateContent");
        assert_eq!(url("models/a", true), "https://g.example/v1beta/models/a:streamGenerateContent?alt=sse");
        assert_eq!(url("tunedModels/a?b", false), "https://g.example/v1beta/tunedModels/a%3Fb:generateContent");
        assert_eq!(url("../../x", false), "https://g.example/v1beta/x:generateContent");
        assert_eq!(GeminiFormat.models_url(&endpoint).as_str(), "https://g.example/v1beta/models?pageSize=1000");
    }
}

#[test]
fn the_key_has_two_names() {
    assert!(from(&[("GOOGLE_API_KEY", "s3cret")]).unwrap().connection.settings.key.is_some());
    let missing = from(&[]).unwrap_err().to_string();
    assert!(missing.starts_with("GEMINI_API_KEY is not set"), "{missing}");
}

#[test]
fn only_models_that_can_be_asked_are_listed() {
    let list = r#"{"models":[{"name":"models/a","displayName":"A","inputTokenLimit":9,"supportedGenerationMethods":["generateContent"]},
        {"name":"models/embed","supportedGenerationMethods":["embedContent"]}]}"#;
    let models = read_models(list).unwrap();
    assert_eq!((models.len(), models[0].id.as_str(), models[0].input_tokens), (1, "a", Some(9)));
}
