//! The providers of models, by their names on the command line.

use std::{env, fmt, future::Future, pin::Pin, str::FromStr, time::Duration};

use opentool_chat::{
    ChatError,
    provider::{Anthropic, AzureOpenAi, Gemini, ModelInfo, Ollama, OpenAi, OpenAiResponses, Preset, Provider},
};

use opentool_spec::json::near;

/// How long a server on this machine may take to accept a connection, if it was not said that there is one.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(1);

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProviderName {
    OpenAi,
    OpenAiResponses,
    Azure,
    Anthropic,
    Gemini,
    Ollama,
    /// A server with OpenAI's chat completions.
    Preset(Preset),
}

pub(super) type ModelList = Pin<Box<dyn Future<Output = Result<Vec<ModelInfo>, ChatError>>>>;

/// Makes the provider of a name, with key and address as they are given, otherwise from the environment, and uses it. Each has a type
/// of its own.
macro_rules! with_provider {
    ($name:expr, $model:expr, $base_url:expr, $key:expr, |$provider:ident| $used:expr) => {{
        let at = ($base_url, $key, env::var($name.variables()[1]).is_ok_and(|url| !url.trim().is_empty()));
        match $name {
            ProviderName::OpenAi => with_provider!(OpenAi::from_env(), OpenAi::new($model), at, $provider, $used),
            ProviderName::OpenAiResponses => {
                with_provider!(OpenAiResponses::from_env(), OpenAiResponses::new($model), at, $provider, $used)
            }
            ProviderName::Azure => {
                with_provider!(AzureOpenAi::from_env(), AzureOpenAi::new($model), at, $provider, $used)
            }
            ProviderName::Anthropic => {
                with_provider!(Anthropic::from_env(), Anthropic::new($model), at, $provider, $used)
            }
            ProviderName::Gemini => with_provider!(Gemini::from_env(), Gemini::new($model), at, $provider, $used),
            ProviderName::Ollama => with_provider!(Ollama::from_env(), Ollama::new($model), at, $provider, $used),
            ProviderName::Preset(preset) => {
                with_provider!(OpenAi::preset_from_env(preset), OpenAi::preset(preset, $model), at, $provider, $used)
            }
        }
    }};
    ($from_env:expr, $new:expr, $at:ident, $provider:ident, $used:expr) => {{
        let $provider: Result<_, ChatError> = match $at {
            (Some(url), Some(key), _) => Ok($new.base_url(url).api_key(key)),
            (Some(url), None, _) => Ok($new.base_url(url)),
            (None, Some(key), true) => $from_env.map(|provider| provider.api_key(key)),
            (None, Some(key), false) => Ok($new.api_key(key)),
            (None, None, _) => $from_env,
        };
        $used
    }};
}

impl ProviderName {
    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let own =
            [Self::OpenAi, Self::OpenAiResponses, Self::Azure, Self::Anthropic, Self::Gemini, Self::Ollama].into_iter();
        own.chain(Preset::ALL.into_iter().map(Self::Preset))
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Preset(preset) => preset.as_str(),
        }
    }

    /// The variables that hold the key and the address.
    pub(super) fn variables(self) -> [&'static str; 2] {
        match self {
            Self::OpenAi | Self::OpenAiResponses => ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
            Self::Azure => ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"],
            Self::Anthropic => ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
            Self::Gemini => ["GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
            Self::Ollama => ["OLLAMA_API_KEY", "OLLAMA_HOST"],
            Self::Preset(preset) => [preset.key_variable(), preset.url_variable()],
        }
    }

    /// Whether the environment says something about it.
    pub(super) fn is_set_up(self) -> bool {
        let is_set = |name: &str| env::var(name).is_ok_and(|value| !value.trim().is_empty());
        self.variables().into_iter().any(is_set) || (self == Self::Gemini && is_set("GOOGLE_API_KEY"))
    }

    /// Whether it runs on this machine unless something else is said.
    pub(super) fn is_local(self) -> bool {
        match self {
            Self::Ollama => true,
            Self::Preset(preset) => preset.is_local(),
            _ => false,
        }
    }

    /// The provider, with key and address as they are given, otherwise from the environment. The key of the environment does not go to
    /// an address that is given.
    pub(super) fn provider(
        self,
        model: &str,
        base_url: Option<&str>,
        key: Option<&str>,
    ) -> Result<Box<dyn Provider>, ChatError> {
        with_provider!(self, model, base_url, key, |provider| Ok(Box::new(provider?)))
    }

    /// Asks which models there are, at an address and with a key as for [`provider`](Self::provider). One that is only guessed to be
    /// there is asked once.
    pub(super) fn models(self, is_guess: bool, base_url: Option<&str>, key: Option<&str>) -> ModelList {
        with_provider!(self, "", base_url, key, |provider| Box::pin(async move {
            match is_guess {
                true => provider?.retries(0).connect_timeout(LOCAL_TIMEOUT).models().await,
                false => provider?.models().await,
            }
        }))
    }
}

/// All names, for a message.
pub(super) fn names() -> String {
    ProviderName::all().map(ProviderName::as_str).collect::<Vec<_>>().join(", ")
}

/// The provider, or the model `PROVIDER:NAME`, that was most likely meant by a word.
pub(super) fn near(word: &str) -> Option<String> {
    let (provider, name) = match word.split_once(':') {
        Some((provider, name)) => (provider, Some(name)),
        None => (word, None),
    };
    let near = near::names(provider, ProviderName::all().map(ProviderName::as_str), 1).first().copied()?;
    (near != provider).then(|| match name {
        Some(name) => format!("{near}:{name}"),
        None => near.to_owned(),
    })
}

impl FromStr for ProviderName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_ascii_lowercase();
        ProviderName::all()
            .find(|provider| provider.as_str() == name)
            .ok_or_else(|| format!("`{text}` is no provider: it is one of {}", names()))
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
