//! The wire format of Azure OpenAI: that of OpenAI, with other addresses and another header for the key.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use crate::provider::http_provider::HttpProvider;
use crate::provider::model_info::ModelInfo;
use crate::provider::openai::{CompletionChunks, OpenAiBody, read_completion, read_models};
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest, provider_url};
use crate::{ChatError, ChatResponse, TypedAnswers};

/// The provider's name.
const NAME: &str = "azure.ai.openai";

/// Models of OpenAI in a resource of Azure; the model of a request is the name of a deployment.
///
/// Requests go to the resource's `/openai/v1`, which has no versions. For a resource that has only the older addresses, with a
/// deployment and a version in them, see [`api_version`](Self::api_version). A token of Microsoft Entra goes into a
/// [header](Self::header) `Authorization` instead of a key.
///
/// ```
/// use opentool_chat::provider::AzureOpenAi;
///
/// let azure = AzureOpenAi::new("my-deployment").base_url("https://my-resource.openai.azure.com").api_key("s3cret");
/// # let _ = azure;
/// ```
pub type AzureOpenAi = HttpProvider<AzureFormat>;

/// The wire format of [`AzureOpenAi`].
#[derive(Clone, Debug, Default)]
pub struct AzureFormat {
    strict: bool,
    api_version: Option<String>,
}

impl AzureOpenAi {
    /// Sets whether arguments must follow the schemas exactly, for every schema that allows it; off by default.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.format.strict = strict;
        self
    }

    /// Uses the addresses with deployment and version, for instance `2024-10-21`; [`from_env`](Self::from_env) does so if
    /// `OPENAI_API_VERSION` is set.
    #[must_use]
    pub fn api_version(mut self, version: impl Into<String>) -> Self {
        self.format.api_version = Some(version.into());
        self
    }
}

impl WireFormat for AzureFormat {
    const NAME: &'static str = NAME;
    const VARIABLES: Variables = Variables {
        key: "AZURE_OPENAI_API_KEY",
        other_key: None,
        url: "AZURE_OPENAI_ENDPOINT",
        model: "AZURE_OPENAI_DEPLOYMENT",
        required: false,
    };
    const BASE_URL: &'static str = "";
    const KEY_HEADER: KeyHeader = KeyHeader::Named("api-key");
    const FRAMING: Framing = Framing::Events;
    type Reader = CompletionChunks;

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        Self { api_version: variable("OPENAI_API_VERSION"), ..Self::default() }
    }

    /// The address of a resource, which may end with `/openai` or `/openai/v1`.
    fn endpoint(base_url: &str) -> Result<Url, String> {
        if base_url.trim().is_empty() {
            let message = "the address of the Azure OpenAI resource is missing: set AZURE_OPENAI_ENDPOINT to it";
            return Err(format!("{message}, for instance https://NAME.openai.azure.com"));
        }
        let mut url = provider_url(base_url)?;
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/v1").unwrap_or(path);
        let path = format!("{}/openai", path.strip_suffix("/openai").unwrap_or(path));
        url.set_path(&path);
        Ok(url)
    }

    fn request_url(&self, endpoint: &Url, model: &str, _stream: bool) -> Url {
        self.address(endpoint, &["deployments", model], "chat/completions")
    }

    fn models_url(&self, endpoint: &Url) -> Url {
        self.address(endpoint, &[], "models")
    }

    fn typed_answers(&self, _host: Option<&str>, _with_tools: bool) -> TypedAnswers {
        TypedAnswers::Native
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        OpenAiBody { provider: NAME, strict: self.strict, is_openai: true, is_openrouter: false }.write(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_completion(text)
    }

    fn read_models(text: &str) -> Result<Vec<ModelInfo>, WireError> {
        read_models(text)
    }
}

impl AzureFormat {
    /// With a version, these segments stand before the path; without, `v1`.
    fn address(&self, endpoint: &Url, segments: &[&str], path: &str) -> Url {
        let mut url = endpoint.clone();
        if let Ok(mut whole) = url.path_segments_mut() {
            match &self.api_version {
                // A segment is escaped, so a name cannot lead to another address.
                Some(_) => whole.extend(segments),
                None => whole.push("v1"),
            };
            whole.extend(path.split('/'));
        }
        if let Some(version) = &self.api_version {
            url.query_pairs_mut().append_pair("api-version", version);
        }
        url
    }
}
