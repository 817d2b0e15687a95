//! Which model is asked.

use std::{env, fmt, str::FromStr};

use opentool_chat::{ChatError, provider::Provider};

use super::super::provider_name::{ProviderName, names};
use crate::failure::Failure;

/// The variable that names the model where the command line does not.
const MODEL_VARIABLE: &str = "OPENTOOL_MODEL";

const NO_MODEL: &str = "\
no model is set: give `--model PROVIDER:NAME` or set OPENTOOL_MODEL, for example
  openai:gpt-5-mini           with OPENAI_API_KEY; OPENAI_BASE_URL for another server with this API
  anthropic:claude-haiku-4-5  with ANTHROPIC_API_KEY; ANTHROPIC_BASE_URL likewise
  gemini:gemini-2.5-flash     with GEMINI_API_KEY
  ollama:qwen3                with a running Ollama, at OLLAMA_HOST or on this machine
`opentool help models` lists all providers, and `opentool models` the models that are there";

/// A model, by provider and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelName {
    provider: ProviderName,
    pub(super) name: String,
}

impl ModelName {
    /// The model of the command line, otherwise that of the environment.
    pub(super) fn given_or_set(given: Option<&Self>) -> Result<Self, Failure> {
        match (given, env::var(MODEL_VARIABLE)) {
            (Some(given), _) => Ok(given.clone()),
            (None, Ok(set)) if !set.trim().is_empty() => {
                set.trim().parse().map_err(|error| Failure::usage(format!("{MODEL_VARIABLE}: {error}")))
            }
            (None, _) => Err(Failure::Setup { message: NO_MODEL }),
        }
    }

    /// The provider, with key and address from the environment.
    pub(super) fn provider(&self) -> Result<Box<dyn Provider>, ChatError> {
        self.provider.provider()
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
            name => Ok(ModelName { provider, name: name.to_owned() }),
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
