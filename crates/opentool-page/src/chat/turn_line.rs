//! What happens in a turn, as the page reads it: [`TurnLine`].

use opentool_chat::Usage;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::calls::ProgressForm;
use crate::outcome::ErrorForm;
use crate::parts::PartForm;
use crate::tools::HintForm;

/// What happens in a turn.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(super) enum TurnLine<'a> {
    /// The run that the turn is in a journal.
    Run {
        id: &'a str,
    },
    Text {
        delta: &'a str,
    },
    Reasoning {
        delta: &'a str,
    },
    Call {
        id: &'a str,
        tool: &'a str,
        arguments: Option<Box<RawValue>>,
        round: u32,
    },
    Approval {
        id: &'a str,
        call: Option<&'a str>,
        tool: &'a str,
        arguments: Option<&'a RawValue>,
        hints: &'a HintForm,
    },
    Progress {
        id: &'a str,
        #[serde(flatten)]
        progress: ProgressForm<'a>,
    },
    Piece {
        id: &'a str,
        parts: Vec<PartForm<'a>>,
    },
    Result {
        id: &'a str,
        ok: bool,
        text: &'a str,
        parts: Vec<PartForm<'a>>,
        error: Option<ErrorForm<'a>>,
        duration_ms: f64,
    },
    Usage(UsageForm),
    End {
        reason: &'a str,
        text: &'a str,
        usage: UsageForm,
        cost: Option<f64>,
        duration_ms: f64,
    },
    Error {
        error: TurnErrorForm<'a>,
        duration_ms: f64,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageForm {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
    reasoning_tokens: u64,
}

#[derive(Serialize)]
pub(super) struct TurnErrorForm<'a> {
    pub(super) kind: &'a str,
    pub(super) message: String,
}

impl From<&Usage> for UsageForm {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}
