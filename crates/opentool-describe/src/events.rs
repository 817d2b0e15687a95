//! Calls that give what callbacks were called with that other calls have registered.

use std::collections::HashSet;

use opentool_spec::{CType, CTypeName, DynFunction, DynParameter, DynSchema, SchemaType};
use serde_json::Value;

use crate::words;

/// What functions have in their names during which callbacks run.
const RUNNING: [&str; 16] = [
    "parse", "run", "process", "execute", "exec", "loop", "step", "dispatch", "feed", "push", "write", "update",
    "poll", "read", "resume", "perform",
];

/// Adds the parameter `events` to the functions of a handle whose callbacks are kept.
pub(crate) fn add<'f>(functions: impl Iterator<Item = &'f mut DynFunction>) {
    let functions: Vec<&mut DynFunction> = functions.collect();
    let kept: HashSet<String> = functions.iter().flat_map(|function| kinds_with_callbacks(function)).collect();
    for function in functions {
        if !words::has_any(&function.name, &RUNNING) || kinds_with_callbacks(function).next().is_some() {
            continue;
        }
        let holder = function.parameters.iter().find(|parameter| {
            let closes = parameter.extra.contains_key("x-closes");
            parameter.is_in && !closes && handle_kind(parameter).is_some_and(|kind| kept.contains(kind))
        });
        let Some(holder) = holder.map(|holder| holder.name.clone()) else { continue };
        let schema = DynSchema::new(SchemaType::Array, CType::pointer(CTypeName::Void));
        let mut name = "events".to_owned();
        while function.parameters.iter().any(|parameter| parameter.name == name) {
            name.push('_');
        }
        let mut events = DynParameter::new(name, schema).out();
        events.description = Some(format!("What the callbacks of `{holder}` were called with since the last call."));
        events.extra.insert("x-events".to_owned(), holder.into());
        function.parameters.push(events);
    }
}

fn handle_kind(parameter: &DynParameter) -> Option<&str> {
    parameter.extra.get("x-handle").and_then(Value::as_str)
}

/// The kinds of handles that keep the callbacks which a function registers.
fn kinds_with_callbacks(function: &DynFunction) -> impl Iterator<Item = String> {
    let callbacks = function.parameters.iter().filter(|parameter| parameter.extra.contains_key("x-callback"));
    let holders = callbacks.filter_map(|parameter| parameter.extra.get("x-keep")?.as_str());
    holders.filter_map(|holder| {
        let parameter = function.parameters.iter().find(|parameter| parameter.name == holder)?;
        handle_kind(parameter).map(str::to_owned)
    })
}
