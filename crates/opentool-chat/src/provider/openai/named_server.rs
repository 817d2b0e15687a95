//! Providers for the servers of presets.

use super::format::OpenAi;
use super::preset::Preset;
use crate::ChatError;

impl OpenAi {
    /// Makes a provider that asks a model of a server with the same interface.
    pub fn preset(preset: Preset, model: impl Into<String>) -> Self {
        Self::at(preset).base_url(preset.base_url()).default_model(model)
    }

    /// Takes key, address and model of a server with the same interface from the environment: for
    /// [`Preset::Groq`] from `GROQ_API_KEY`, `GROQ_BASE_URL` and `GROQ_MODEL`, and so on.
    ///
    /// # Errors
    ///
    /// When neither key nor address is set and the server is not on this machine, or the address is invalid.
    pub fn preset_from_env(preset: Preset) -> Result<Self, ChatError> {
        Self::preset_from_variables(preset, |name| {
            std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        })
    }

    pub(super) fn preset_from_variables(
        preset: Preset,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ChatError> {
        Self::at(preset).with_variables(preset.variables(), preset.base_url(), variable)
    }

    fn at(preset: Preset) -> Self {
        let mut provider = Self::without_model().set(|settings| settings.model_variable = preset.variables().model);
        provider.format.preset = Some(preset);
        provider.connection.provider = preset.provider_name();
        provider
    }
}
