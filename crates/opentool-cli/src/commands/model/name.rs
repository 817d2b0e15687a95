//! A model by its provider and name, and how its server is reached: [`ModelName`].

use std::{fmt, str::FromStr};

use opentool_chat::{ChatError, ChatModel, ChatOptions, provider::Provider};

use super::super::provider_name::{ModelList, ProviderName, names};
use crate::secret::Secret;

/// The variable that names the model where the command line does not.
pub(in crate::commands) const MODEL_VARIABLE: &str = "OPENTOOL_MODEL";

/// A model, by provider and name, and how its server is reached.
#[derive(Debug, Clone)]
pub(in crate::commands) struct ModelName {
    pub(in crate::commands) provider: ProviderName,
    pub(in crate::commands) name: String,
    address: ModelAddress,
}

/// How the server of a model is reached, where the environment does not say it.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelAddress {
    pub(super) base_url: Option<String>,
    pub(super) key: Option<Secret>,
}

impl ModelName {
    pub(super) fn new(provider: ProviderName, name: &str) -> Self {
        ModelName { provider, name: name.to_owned(), address: ModelAddress::default() }
    }

    /// The same model of a server that is reached in another way.
    pub(super) fn at(self, address: ModelAddress) -> Self {
        ModelName { address, ..self }
    }

    /// The provider, with key and address as they were given, otherwise from the environment.
    ///
    /// The key of the environment goes to no address that was given, unless that key was named.
    pub(in crate::commands) fn provider(&self) -> Result<Box<dyn Provider>, ChatError> {
        let ModelAddress { base_url, key } = &self.address;
        self.provider.provider(&self.name, base_url.as_deref(), key.as_ref().map(Secret::expose))
    }

    /// Asks the provider once which models it has.
    pub(in crate::commands) fn models(&self) -> ModelList {
        let ModelAddress { base_url, key } = &self.address;
        self.provider.models(true, base_url.as_deref(), key.as_ref().map(Secret::expose))
    }

    /// The chat model, without tools.
    pub(super) fn chat_model(&self) -> Result<ChatModel, ChatError> {
        let options = ChatOptions::new().with_model(&self.name);
        Ok(ChatModel::builder(self.provider()?).default_options(options).build())
    }
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no model: write PROVIDER:NAME, where PROVIDER is one of {}", names());
        let (provider, name) = text.split_once(':').ok_or_else(wrong)?;
        let provider = provider.parse().map_err(|_| wrong())?;
        match name.trim() {
            "" => Err(wrong()),
            name => Ok(ModelName::new(provider, name)),
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_model_is_a_provider_and_a_name_which_may_have_a_colon() {
        assert_eq!("ollama:qwen3:8b".parse::<ModelName>().unwrap().to_string(), "ollama:qwen3:8b");
        assert_eq!("openrouter:qwen/qwen3".parse::<ModelName>().unwrap().to_string(), "openrouter:qwen/qwen3");
        assert_eq!("OpenAI: gpt".parse::<ModelName>().unwrap().to_string(), "openai:gpt");
        for wrong in ["", "gpt", "openai:", "openai: ", ":gpt", "acme:gpt"] {
            let error = wrong.parse::<ModelName>().unwrap_err();
            assert_eq!(
                error,
                format!(
                    "`{wrong}` is no model: write PROVIDER:NAME, where PROVIDER is one of openai, openai-responses, azure, \
                     anthropic, gemini, ollama, groq, openrouter, deepseek, mistral, xai, together, fireworks, lmstudio, \
                     llamacpp, vllm"
                )
            );
        }
    }
}
