//! The marks that a document's author left for a review (`x-review`).

use opentool_spec::{Map, OpenDyn};
use serde_json::Value as Json;

/// The marks of a document, each with the function and, where it is about one, the parameter.
pub(crate) fn marks(document: &OpenDyn) -> Vec<String> {
    let mut marks = Vec::new();
    let mark = |keys: &Map| keys.get("x-review").and_then(Json::as_str).map(str::to_owned);
    for function in &document.functions {
        let name = &function.name;
        marks.extend(mark(&function.extra).map(|why| format!("{name}: {why}")));
        for parameter in &function.parameters {
            marks.extend(mark(&parameter.extra).map(|why| format!("{name}, `{}`: {why}", parameter.name)));
        }
        if let Some(returns) = &function.returns {
            marks.extend(mark(&returns.extra).map(|why| format!("{name}, `{}`: {why}", returns.name)));
        }
    }
    marks
}
