//! `opentool models`: which models there are.

use clap::Args;
use opentool_chat::{Cause, provider::ModelInfo};
use serde_json::{Value, json};

use super::provider_name::ProviderName;
use crate::{
    exit_status::ExitStatus,
    failure::Failure,
    runtime::block_on,
    terminal::{visible, warn, write_data},
};

const EXAMPLES: &str = "\
Examples:
  opentool models                   The models of every provider that is set up or found here
  opentool models ollama            … of one of them
  opentool models groq --json | jq -r '.[].model'

A provider is set up by its key, or by the address of a server that needs none:
  openai, openai-responses   OPENAI_API_KEY, OPENAI_BASE_URL
  azure                      AZURE_OPENAI_API_KEY, AZURE_OPENAI_ENDPOINT
  anthropic                  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
  gemini                     GEMINI_API_KEY or GOOGLE_API_KEY, GOOGLE_GEMINI_BASE_URL
  ollama                     OLLAMA_HOST, OLLAMA_API_KEY
  groq, openrouter, deepseek, mistral, xai, together, fireworks, lmstudio, llamacpp, vllm
                             NAME_API_KEY, NAME_BASE_URL, for instance GROQ_API_KEY

With --json, there is an array of {provider, id, model, name, input_tokens, output_tokens}, where `model` is what
`--model` of `opentool chat` takes; what a provider does not tell is left out.

Exit codes: 0 there is a list; 1 a provider answered with an error; 2 wrong usage, or no provider is set up;
3 it cannot be reached; 4 it refused the API key.";

/// List the models of a provider
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Models {
    /// The provider [default: all that are set up or found on this machine]
    provider: Option<ProviderName>,
    /// Print JSON; its shape is described below
    #[arg(long)]
    json: bool,
}

impl Models {
    pub(super) fn run(&self) -> Result<ExitStatus, Failure> {
        let found = match self.provider {
            Some(provider) => {
                let failed = |source| Failure::Chat { source: Box::new(source) };
                vec![(provider, block_on(async { provider.models(false, None, None).await.map_err(failed) })?)]
            }
            None => block_on(everywhere())?,
        };
        let text = if self.json { as_json(&found) } else { as_lines(&found) };
        write_data(&text).map_err(Failure::output)?;
        Ok(ExitStatus::Success)
    }
}

type Found = Vec<(ProviderName, Vec<ModelInfo>)>;

/// Asks all providers that are set up, and looks for those on this machine.
async fn everywhere() -> Result<Found, Failure> {
    let mut found = Vec::new();
    let mut is_any_set_up = false;
    for provider in ProviderName::all() {
        let is_set_up = provider.is_set_up();
        // It has the same models as the other interface.
        if provider == ProviderName::OpenAiResponses || !(is_set_up || provider.is_local()) {
            continue;
        }
        is_any_set_up |= is_set_up;
        match provider.models(!is_set_up, None, None).await {
            Ok(models) => found.push((provider, models)),
            Err(error) if is_set_up => warn(&format!("{provider}: {}", visible(&error.to_string()))),
            // Something else may listen there, or nothing.
            Err(error) if matches!(error.cause(), Cause::Setup { .. }) => {
                warn(&format!("{provider}: {}", visible(&error.to_string())));
            }
            Err(_) => {}
        }
    }
    if found.is_empty() && !is_any_set_up {
        return Err(Failure::usage(
            "no provider is set up, and none is found on this machine: set a key, for instance OPENAI_API_KEY; \
             `opentool help models` lists the variables",
        ));
    }
    if found.is_empty() {
        return Err(Failure::usage("no provider that is set up gave a list of its models: see the warnings"));
    }
    Ok(found)
}

fn as_lines(found: &Found) -> String {
    let mut text = String::new();
    for (provider, models) in found {
        if models.is_empty() {
            warn(&format!("{provider} has no models yet"));
        }
        for model in models {
            text.push_str(&visible(&format!("{provider}:{}", model.id)));
            let tokens = model.input_tokens.map(|tokens| format!("{tokens} tokens"));
            let more: Vec<String> = model.name.clone().into_iter().chain(tokens).collect();
            if !more.is_empty() {
                text.push_str(&format!("  {}", visible(&more.join(", "))));
            }
            text.push('\n');
        }
    }
    text
}

fn as_json(found: &Found) -> String {
    let entry = |provider: ProviderName, model: &ModelInfo| {
        let mut entry = json!(model);
        entry["provider"] = provider.as_str().into();
        entry["model"] = format!("{provider}:{}", model.id).into();
        entry
    };
    let entries: Vec<Value> =
        found.iter().flat_map(|(provider, models)| models.iter().map(|model| entry(*provider, model))).collect();
    format!("{:#}\n", Value::from(entries))
}
