//! A turn as one JSON object.

use opentool::{Outcome, ToolEvent};
use opentool_chat::{Message, TurnEnd, Usage};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    failure::Failure,
    output::as_json,
    terminal::{visible_json, write_data},
};
use opentool_spec::json::indented;

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    pub(super) text: &'a str,
    /// The model that answered, as its provider names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) finish_reason: Option<&'a str>,
    /// Why the turn ended.
    pub(super) end: TurnEnd,
    /// What the model thought, where its provider sends that.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) reasoning: &'a str,
    /// Why the model refuses to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<&'a str>,
    /// The answer, where it had to follow a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<Box<RawValue>>,
    pub(super) messages: &'a [Message],
    pub(super) tool_calls: &'a [CallReport],
    pub(super) usage: Usage,
    /// By the prices that were given; none where that of the model is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) conversation: Option<&'a str>,
    /// The run that the turn is recorded in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<&'a str>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

impl Report<'_> {
    pub(super) fn print(&self) -> Result<(), Failure> {
        let text = serde_json::to_string(self).map_err(|error| Failure::output(error.into()))?;
        write_data(&visible_json(&format!("{}\n", indented(&text)))).map_err(Failure::output)
    }
}

/// A call and its outcome.
#[derive(Debug, Serialize)]
pub(super) struct CallReport {
    id: String,
    name: String,
    /// As the model wrote them: an object, or a text where they are none.
    arguments: Box<RawValue>,
    /// None where the turn ended before the call did.
    outcome: Option<CallOutcome>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum CallOutcome {
    Result(Box<RawValue>),
    Error { kind: &'static str, message: String },
}

impl CallReport {
    /// Puts an event where it belongs among the calls of a turn.
    pub(super) fn record(calls: &mut Vec<CallReport>, event: &ToolEvent) {
        match event {
            ToolEvent::Requested(call, arguments) => calls.push(CallReport {
                id: call.id.to_string(),
                name: call.tool.to_string(),
                arguments: raw(arguments.as_str()),
                outcome: None,
            }),
            ToolEvent::Finished(call, outcome) | ToolEvent::Failed(call, outcome) => {
                // No two calls of a conversation have the same id.
                if let Some(found) = calls.iter_mut().rev().find(|found| found.id == *call.id) {
                    found.outcome = Some(CallOutcome::new(outcome));
                }
            }
            _ => {}
        }
    }
}

impl CallOutcome {
    fn new(outcome: &Outcome) -> Self {
        match &outcome.result {
            Ok(output) => CallOutcome::Result(raw(&as_json(output))),
            Err(error) => CallOutcome::Error { kind: error.kind().as_str(), message: error.message().to_owned() },
        }
    }
}

/// A JSON text digit by digit; anything else as a JSON text of itself.
pub(super) fn raw(json: &str) -> Box<RawValue> {
    let parsed = RawValue::from_string(json.to_owned());
    parsed.or_else(|_| to_raw_value(json)).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
