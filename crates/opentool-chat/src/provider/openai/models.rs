//! Reading the list of models.

use serde::Deserialize;

use crate::provider::model_info::ModelInfo;
use crate::provider::wire::{WireError, lenient};

#[derive(Deserialize)]
struct OpenAiModels {
    data: Vec<OpenAiModel>,
}

#[derive(Deserialize)]
struct OpenAiModel {
    id: String,
    #[serde(default, deserialize_with = "lenient")]
    name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    display_name: Option<String>,
    /// Several servers have one of these.
    #[serde(default, deserialize_with = "lenient")]
    context_length: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    context_window: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    max_context_length: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    max_model_len: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    max_completion_tokens: Option<u64>,
}

/// Reads the list of models: an object with `data`, or, from some servers, the list itself.
pub(crate) fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
    let list = serde_json::from_str::<OpenAiModels>(text).map(|list| list.data);
    let models: Vec<OpenAiModel> =
        list.or_else(|_| serde_json::from_str(text)).map_err(|_| WireError::from_body(text))?;
    let info = |model: OpenAiModel| ModelInfo {
        name: model.display_name.or(model.name).filter(|name| *name != model.id),
        id: model.id,
        input_tokens: [model.context_length, model.context_window, model.max_context_length, model.max_model_len]
            .into_iter()
            .flatten()
            .next(),
        output_tokens: model.max_completion_tokens,
    };
    Ok(models.into_iter().map(info).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn lists_of_several_servers_are_read() {
        let openai = r#"{"object":"list","data":[{"id":"gpt-5","object":"model","owned_by":"openai"}]}"#;
        assert_eq!(read_models(openai).unwrap(), [ModelInfo::new("gpt-5")]);
        let together = r#"[{"id":"meta/llama","display_name":"Llama","context_length":8192}]"#;
        let expected =
            ModelInfo { name: Some("Llama".to_owned()), input_tokens: Some(8192), ..ModelInfo::new("meta/llama") };
        assert_eq!(read_models(together).unwrap(), [expected]);
        assert_eq!(read_models(r#"{"error":"no"}"#), Err(WireError::reported(None, "no")));
        assert!(read_models("<html>").is_err());
    }
}
