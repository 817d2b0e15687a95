//! Secrets put back before a replay.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json_text::{Layer, MAX_LAYERS, layer, write_array, write_object};

/// Puts values back into the arguments of a call from which they were redacted: every member of a name gets the value of that name.
///
/// For tools that run while the rest is replayed, and need a real secret. Arguments that cannot be read stay as they are.
///
/// ```
/// use opentool_journal::restore_arguments;
///
/// let secrets = [("password".to_owned(), "hunter2".into())].into();
/// let arguments = restore_arguments(r#"{"user":"ann","password":"[redacted]"}"#, &secrets);
/// assert_eq!(arguments, r#"{"user":"ann","password":"hunter2"}"#);
/// ```
#[must_use]
pub fn restore_arguments(arguments: &str, secrets: &BTreeMap<String, Value>) -> String {
    restored(arguments, secrets, MAX_LAYERS)
}

fn restored(json: &str, secrets: &BTreeMap<String, Value>, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return json.to_owned() };
    match layer(json) {
        Some(Layer::Object(members)) => write_object(members.into_iter().map(|(name, value)| {
            let value = secrets.get(&*name).map_or_else(|| restored(value, secrets, depth), Value::to_string);
            (name, value)
        })),
        Some(Layer::Array(items)) => write_array(items.into_iter().map(|item| restored(item, secrets, depth))),
        _ => json.to_owned(),
    }
}
