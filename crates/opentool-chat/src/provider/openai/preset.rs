//! Servers that speak OpenAI's chat completions: [`Preset`].

use std::fmt;
use std::str::FromStr;

use crate::TypedAnswers;
use crate::provider::wire::Variables;

/// A server that speaks OpenAI's chat completions, with its address and the variables that configure it.
///
/// ```
/// use opentool_chat::provider::{OpenAi, Preset};
///
/// let model = OpenAi::preset(Preset::Groq, "llama-3.3-70b-versatile").api_key("s3cret");
/// let preset: Preset = "lmstudio".parse()?;
/// assert_eq!((preset.base_url(), preset.key_variable()), ("http://127.0.0.1:1234/v1", "LMSTUDIO_API_KEY"));
/// # let _ = model;
/// # Ok::<(), opentool_chat::provider::UnknownPreset>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// Groq.
    Groq,
    /// OpenRouter.
    OpenRouter,
    /// DeepSeek.
    DeepSeek,
    /// Mistral.
    Mistral,
    /// xAI.
    Xai,
    /// Together AI.
    Together,
    /// Fireworks AI.
    Fireworks,
    /// LM Studio on this machine.
    LmStudio,
    /// The server of llama.cpp on this machine.
    LlamaCpp,
    /// vLLM on this machine.
    Vllm,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 10] = [
        Self::Groq,
        Self::OpenRouter,
        Self::DeepSeek,
        Self::Mistral,
        Self::Xai,
        Self::Together,
        Self::Fireworks,
        Self::LmStudio,
        Self::LlamaCpp,
        Self::Vllm,
    ];

    /// Returns the name on the command line, for instance `groq`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Groq => "groq",
            Self::OpenRouter => "openrouter",
            Self::DeepSeek => "deepseek",
            Self::Mistral => "mistral",
            Self::Xai => "xai",
            Self::Together => "together",
            Self::Fireworks => "fireworks",
            Self::LmStudio => "lmstudio",
            Self::LlamaCpp => "llamacpp",
            Self::Vllm => "vllm",
        }
    }

    /// Returns the address.
    #[must_use]
    pub fn base_url(self) -> &'static str {
        match self {
            Self::Groq => "https://api.groq.com/openai/v1",
            Self::OpenRouter => "https://openrouter.ai/api/v1",
            Self::DeepSeek => "https://api.deepseek.com/v1",
            Self::Mistral => "https://api.mistral.ai/v1",
            Self::Xai => "https://api.x.ai/v1",
            Self::Together => "https://api.together.xyz/v1",
            Self::Fireworks => "https://api.fireworks.ai/inference/v1",
            Self::LmStudio => "http://127.0.0.1:1234/v1",
            Self::LlamaCpp => "http://127.0.0.1:8080/v1",
            Self::Vllm => "http://127.0.0.1:8000/v1",
        }
    }

    /// Returns the variable that holds the key.
    #[must_use]
    pub fn key_variable(self) -> &'static str {
        self.variables().key
    }

    /// Returns the variable that holds another address.
    #[must_use]
    pub fn url_variable(self) -> &'static str {
        self.variables().url
    }

    /// Returns the variable that names the model.
    #[must_use]
    pub fn model_variable(self) -> &'static str {
        self.variables().model
    }

    /// Says whether the server is on this machine and needs no key.
    #[must_use]
    pub fn is_local(self) -> bool {
        !self.variables().required
    }

    pub(super) fn variables(self) -> Variables {
        macro_rules! variables {
            ($prefix:literal, $required:literal) => {
                Variables {
                    key: concat!($prefix, "_API_KEY"),
                    other_key: None,
                    url: concat!($prefix, "_BASE_URL"),
                    model: concat!($prefix, "_MODEL"),
                    required: $required,
                }
            };
        }
        match self {
            Self::Groq => variables!("GROQ", true),
            Self::OpenRouter => variables!("OPENROUTER", true),
            Self::DeepSeek => variables!("DEEPSEEK", true),
            Self::Mistral => variables!("MISTRAL", true),
            Self::Xai => variables!("XAI", true),
            Self::Together => variables!("TOGETHER", true),
            Self::Fireworks => variables!("FIREWORKS", true),
            Self::LmStudio => variables!("LMSTUDIO", false),
            Self::LlamaCpp => variables!("LLAMACPP", false),
            Self::Vllm => variables!("VLLM", false),
        }
    }

    /// The name in OpenTelemetry's words, where it has one.
    pub(super) fn provider_name(self) -> &'static str {
        match self {
            Self::Mistral => "mistral_ai",
            Self::Xai => "x_ai",
            other => other.as_str(),
        }
    }

    /// How the server holds a model to the form of an answer. A grammar beside tools leaves no way to call one with most.
    pub(super) fn typed_answers(self, with_tools: bool) -> TypedAnswers {
        match self {
            // It knows JSON, but no schemas.
            Self::DeepSeek => TypedAnswers::ForcedTool,
            // Only some of its models know schemas; all know tools.
            Self::Groq => TypedAnswers::ForcedTool,
            Self::OpenRouter | Self::Mistral | Self::Xai => TypedAnswers::Native,
            _ if with_tools => TypedAnswers::ForcedTool,
            _ => TypedAnswers::Native,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no [`Preset`] has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown preset {0:?}; it is one of {names}", names = Preset::ALL.map(Preset::as_str).join(", "))]
pub struct UnknownPreset(String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> Result<Self, UnknownPreset> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == name).ok_or_else(|| UnknownPreset(name.to_owned()))
    }
}
