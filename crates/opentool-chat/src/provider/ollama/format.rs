//! The wire format of Ollama.

use bytes::Bytes;
use opentool_http::{Framing, Url};

use super::request::write_body;
use super::response::{OllamaLines, read_line};
use crate::provider::http_provider::HttpProvider;
use crate::provider::wire::{KeyHeader, Variables, WireError, WireFormat, WireRequest, provider_url};
use crate::{ChatError, ChatResponse, TypedAnswers};

const HOST: &str = "127.0.0.1";
const PORT: u16 = 11434;

/// Models behind Ollama's `/api/chat`.
///
/// Ollama has no way to demand a tool call. If the options name one tool, only that one is offered; if they require any,
/// all are offered, and the model decides. Options that only Ollama knows go into
/// [`ChatOptions::extra`](crate::ChatOptions::extra): `think`, `keep_alive`, or `options` with `num_ctx` in it.
///
/// ```
/// use opentool_chat::provider::Ollama;
///
/// let local = Ollama::new("qwen3");
/// let remote = Ollama::new("qwen3").base_url("gpu.example:11434");
/// # let _ = (local, remote);
/// ```
pub type Ollama = HttpProvider<OllamaFormat>;

/// The wire format of [`Ollama`].
#[derive(Clone, Debug, Default)]
pub struct OllamaFormat;

impl WireFormat for OllamaFormat {
    const NAME: &'static str = "ollama";
    const VARIABLES: Variables =
        Variables { key: "OLLAMA_API_KEY", url: "OLLAMA_HOST", model: "OLLAMA_MODEL", required: false };
    const BASE_URL: &'static str = HOST;
    const KEY_HEADER: KeyHeader = KeyHeader::Bearer;
    const FRAMING: Framing = Framing::Lines;
    type Reader = OllamaLines;

    /// As Ollama reads `OLLAMA_HOST`: a host, a port, both, or a URL; without a scheme the default port is Ollama's.
    fn endpoint(base_url: &str) -> Result<Url, String> {
        let host = base_url.trim();
        let mut url = match host.contains("://") {
            true => provider_url(host)?,
            false => {
                let host = match host.strip_prefix(':') {
                    Some(port) => format!("{HOST}:{port}"),
                    None => host.to_owned(),
                };
                let mut url = provider_url(&format!("http://{host}"))?;
                // A URL drops an explicit port 80, but the text still ends with it.
                if url.port().is_none()
                    && !host.trim_end_matches('/').ends_with(":80")
                    && url.set_port(Some(PORT)).is_err()
                {
                    return Err(format!("`{host}` cannot be the address of a provider: it can have no port"));
                }
                url
            }
        };
        // A server listens on these addresses; a client cannot connect to them.
        if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) && url.set_host(Some(HOST)).is_err() {
            return Err(format!("`{host}` cannot be the address of a provider"));
        }
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/api/chat", path.strip_suffix("/api").unwrap_or(path));
        url.set_path(&path);
        Ok(url)
    }

    fn typed_answers(&self, with_tools: bool) -> TypedAnswers {
        // The grammar of the format would leave no way to call a tool.
        if with_tools { TypedAnswers::Prompt } else { TypedAnswers::Native }
    }

    fn write_request(&self, request: WireRequest<'_>) -> Result<Bytes, ChatError> {
        write_body(request)
    }

    fn read_response(text: &str) -> Result<ChatResponse, WireError> {
        read_line(text)
    }
}
