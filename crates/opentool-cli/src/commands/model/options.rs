//! The options that choose a model: [`ModelOptions`].

use std::path::{Path, PathBuf};

use clap::Args;
use opentool_chat::ChatModel;

use super::{
    name::{MODEL_VARIABLE, ModelAddress, ModelName},
    table::ModelTable,
};
use crate::{
    config_file::ConfigFile,
    failure::Failure,
    secret::{Secret, of_file, of_variable},
    terminal::{visible, warn},
};

const NO_MODEL: &str = "\
no model is set: give `--model PROVIDER:NAME` or set OPENTOOL_MODEL, for example
  openai:gpt-5-mini           with OPENAI_API_KEY; OPENAI_BASE_URL for another server with this API
  anthropic:claude-haiku-4-5  with ANTHROPIC_API_KEY; ANTHROPIC_BASE_URL likewise
  gemini:gemini-2.5-flash     with GEMINI_API_KEY
  ollama:qwen3                with a running Ollama, at OLLAMA_HOST or on this machine
`opentool help models` lists all providers, and `opentool models` the models that are there";

/// Which model is asked, and how its server is reached.
#[derive(Debug, Clone, Default, Args)]
pub(in crate::commands) struct ModelOptions {
    /// The model, for example ollama:qwen3 [default: that of OPENTOOL_MODEL, otherwise of `[model]` in the configuration file]
    #[arg(long, short, value_name = "PROVIDER:NAME", help_heading = "Model")]
    model: Option<ModelName>,
    /// The base URL of the model's server; it gets a key only where one is named too [default: that of the environment, otherwise the
    /// provider's own]
    #[arg(long, value_name = "URL", help_heading = "Model")]
    model_url: Option<String>,
    /// The variable of the environment that has the key of the model's server [default: that of the provider]
    #[arg(long, value_name = "VARIABLE", conflicts_with = "model_key_file", help_heading = "Model")]
    model_key_env: Option<String>,
    /// A file whose only content is the key of the model's server
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    model_key_file: Option<PathBuf>,
}

impl ModelOptions {
    /// The model of the command line, otherwise that of the environment, otherwise that of the configuration file, which must be
    /// trusted or named.
    pub(in crate::commands) fn given_or_found(
        &self,
        config: Option<&Path>,
        command: &'static str,
    ) -> Result<ModelName, Failure> {
        self.find(config, command)?.ok_or(Failure::Setup { message: NO_MODEL })
    }

    /// The same; none where none of them names one.
    pub(in crate::commands) fn find(
        &self,
        config: Option<&Path>,
        command: &'static str,
    ) -> Result<Option<ModelName>, Failure> {
        if let Some(model) = self.given()? {
            return Ok(Some(model));
        }
        let file = ConfigFile::given_or_found(config)?;
        let table = match &file {
            Some(file) => ModelTable::from_file(file)?,
            None => None,
        };
        if let (Some(file), Some(table)) = (&file, &table) {
            file.check_trust(table.settings.iter(), command)?;
        }
        self.or_of_table(table.as_ref())
    }

    /// Takes a model that was used before, where the command line names none.
    pub(in crate::commands) fn or_stored(&mut self, stored: &str) {
        self.model = self.model.take().or_else(|| stored.parse().ok());
    }

    /// The chat model of the command line, the environment or the table of a file, which must have been judged, with its name; none where
    /// none of them names one.
    ///
    /// A model of the environment may be meant for other commands, so that one which cannot be used is none.
    pub(in crate::commands) fn chat_model(
        &self,
        table: Option<&ModelTable>,
    ) -> Result<Option<(ModelName, ChatModel)>, Failure> {
        let Some(model) = (match self.given()? {
            Some(model) => Some(model),
            None => self.or_of_table(table)?,
        }) else {
            return Ok(None);
        };
        match model.chat_model() {
            Ok(chat) => Ok(Some((model, chat))),
            Err(error) if self.model.is_none() && of_variable(MODEL_VARIABLE).is_some() => {
                warn(&format_args!("the model of {MODEL_VARIABLE} is not used: {}", visible(&error.to_string())));
                Ok(None)
            }
            Err(error) => Err(Failure::Chat { source: Box::new(error) }),
        }
    }

    /// The model of the command line, otherwise of the environment.
    fn given(&self) -> Result<Option<ModelName>, Failure> {
        let named = match (&self.model, of_variable(MODEL_VARIABLE)) {
            (Some(model), _) => Some(model.clone()),
            (None, Some(set)) => {
                Some(set.parse().map_err(|error| Failure::usage(format!("{MODEL_VARIABLE}: {error}")))?)
            }
            (None, None) => None,
        };
        let Some(model) = named else { return Ok(None) };
        Ok(Some(model.at(ModelAddress { base_url: self.model_url.clone(), key: self.key()? })))
    }

    fn or_of_table(&self, table: Option<&ModelTable>) -> Result<Option<ModelName>, Failure> {
        let Some(table) = table else { return Ok(None) };
        let key = match self.key()? {
            Some(key) => Some(key),
            None => table.read_key()?,
        };
        let base_url = self.model_url.clone().or_else(|| table.base_url.clone());
        let model = ModelName::new(table.provider, &table.name);
        Ok(Some(model.at(ModelAddress { base_url, key })))
    }

    fn key(&self) -> Result<Option<Secret>, Failure> {
        match (&self.model_key_env, &self.model_key_file) {
            (Some(variable), _) => match of_variable(variable) {
                Some(key) => Ok(Some(Secret::new(key))),
                None => Err(Failure::usage(format!("`--model-key-env`: there is no key in the variable {variable}"))),
            },
            (None, Some(file)) => of_file(file).map(|key| Some(Secret::new(key))),
            (None, None) => Ok(None),
        }
    }
}
