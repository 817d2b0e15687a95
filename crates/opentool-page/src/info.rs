//! What the page shows about the server.

use http::StatusCode;
use opentool_server::{FrontendRequest, FrontendResponse};
use serde::Serialize;

use crate::own_origin::authority;
use crate::source_info::{PageSource, SourceForm};
use crate::state::PageState;

#[derive(Serialize)]
struct Info<'a> {
    version: &'a str,
    title: &'a str,
    addresses: Addresses<String>,
    paths: Addresses<&'a str>,
    keys: bool,
    chat: Option<ModelForm>,
    runs: bool,
    sources: Vec<SourceForm<'a>>,
}

/// Where programs call the tools.
#[derive(Serialize)]
struct Addresses<T> {
    opentool: T,
    mcp: Option<T>,
}

/// The model that people chat with.
#[derive(Serialize)]
struct ModelForm {
    provider: String,
    model: Option<String>,
}

/// Answers what the server is.
pub(crate) async fn answer(state: &PageState, request: &FrontendRequest<'_>) -> FrontendResponse {
    let settings = &state.settings;
    let toolbox = match &settings.title {
        Some(_) => None,
        // A source that does not answer has no title; the list of tools says why.
        None => request.host().toolbox().await.ok(),
    };
    let title = settings.title.as_deref().or_else(|| toolbox.as_ref().and_then(|toolbox| toolbox.title()));
    let scheme = if settings.is_secure { "https" } else { "http" };
    let authority = authority(request.headers()).unwrap_or("localhost");
    let prefix = request.opentool_prefix();
    let sources = (settings.sources)().await;
    let info = Info {
        version: &settings.version,
        title: title.unwrap_or("opentool"),
        addresses: Addresses {
            opentool: format!("{scheme}://{authority}{prefix}"),
            mcp: settings.mcp_path.as_ref().map(|path| format!("{scheme}://{authority}{path}")),
        },
        paths: Addresses { opentool: prefix, mcp: settings.mcp_path.as_deref() },
        keys: request.has_keys(),
        chat: chat(state),
        runs: has_runs(state),
        sources: sources.iter().map(PageSource::form).collect(),
    };
    // It holds texts and booleans, which can always be written.
    FrontendResponse::json(StatusCode::OK, serde_json::to_vec(&info).unwrap_or_default())
}

#[cfg(feature = "chat")]
fn chat(state: &PageState) -> Option<ModelForm> {
    let asked = state.chat.as_ref()?.model()?;
    let provider = asked.provider();
    let model = asked.default_options().model.as_deref().or_else(|| provider.model());
    Some(ModelForm { provider: provider.name().to_owned(), model: model.map(str::to_owned) })
}

#[cfg(not(feature = "chat"))]
fn chat(_: &PageState) -> Option<ModelForm> {
    None
}

#[cfg(feature = "journal")]
fn has_runs(state: &PageState) -> bool {
    state.journal.is_some()
}

#[cfg(not(feature = "journal"))]
fn has_runs(_: &PageState) -> bool {
    false
}
