//! Results of tools as JSON.

use opentool::{Part, ToolOutput};
use serde_json::json;

pub(crate) fn as_json(output: &ToolOutput) -> String {
    match output {
        ToolOutput::Json(json) => json.get().to_owned(),
        ToolOutput::Text(text) => json!(text).to_string(),
        ToolOutput::Parts(parts) => parts_as_json(parts),
        ToolOutput::Rich(rich) => match &rich.structured {
            Some(json) => json.get().to_owned(),
            None => parts_as_json(&rich.parts),
        },
        _ => "null".to_owned(),
    }
}

fn parts_as_json(parts: &[Part]) -> String {
    json!(parts).to_string()
}
