//! The tools of the server, as the page shows them.

use http::StatusCode;
use opentool_core::{Tool, ToolMetadata};
use opentool_server::{FrontendRequest, FrontendResponse};
use serde::Serialize;
use serde_json::Value;

use crate::approval::is_confirmed_first;
use crate::error::ApiError;
use crate::source_info::PageSource;
use crate::state::PageState;

#[derive(Serialize)]
struct ToolList<'a> {
    tools: Vec<ToolForm<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolForm<'a> {
    name: &'a str,
    title: Option<&'a str>,
    description: &'a str,
    source: Option<&'a str>,
    input_schema: &'a Value,
    output_schema: Option<&'a Value>,
    hints: HintForm,
    approval: bool,
}

/// What is known about a tool; null where nothing is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HintForm {
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
}

impl From<&ToolMetadata> for HintForm {
    fn from(metadata: &ToolMetadata) -> Self {
        Self {
            read_only: metadata.read_only(),
            destructive: metadata.destructive(),
            idempotent: metadata.idempotent(),
            open_world: metadata.open_world(),
        }
    }
}

/// Answers with the tools of this moment.
pub(crate) async fn list(state: &PageState, request: &FrontendRequest<'_>) -> Result<FrontendResponse, ApiError> {
    let toolbox = request.host().toolbox().await;
    let toolbox = toolbox.map_err(|error| ApiError::unavailable(format!("the tools cannot be listed: {error}")))?;
    let sources = (state.settings.sources)().await;
    let tools = toolbox.iter().map(|tool| form(&**tool, &sources)).collect();
    let body = serde_json::to_vec(&ToolList { tools });
    let body = body.map_err(|error| ApiError::unavailable(format!("the tools cannot be listed: {error}")))?;
    Ok(FrontendResponse::json(StatusCode::OK, body))
}

fn form<'a>(tool: &'a dyn Tool, sources: &'a [PageSource]) -> ToolForm<'a> {
    let definition = tool.definition();
    let name = definition.name();
    let source = sources.iter().find(|source| source.tool_names().iter().any(|tool| tool == name));
    ToolForm {
        name,
        title: definition.title(),
        description: definition.description(),
        source: source.map(PageSource::name),
        input_schema: definition.input_schema(),
        output_schema: definition.output_schema(),
        hints: tool.metadata().into(),
        approval: is_confirmed_first(tool),
    }
}
