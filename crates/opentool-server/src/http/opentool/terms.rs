//! What a caller says about a call in headers: a key, so that it can be repeated, and how long it waits.

use std::sync::Arc;
use std::time::Duration;

use opentool_core::{Host, IdempotencyKey, MemoryReservation, Outcome, ToolCall, ToolContext, ToolError};
use tracing::Instrument;

use super::super::headers::{KnownHeader, RequestHeaders};
use super::super::record::RunningCall;
use super::super::refusal::Refusal;
use super::super::state::ServerState;
use super::admit::Refused;
use super::cut_off::until_cut_off;
use crate::wire::error::RequestError;
use crate::wire::id::RequestId;

/// What a caller said about a call.
pub(super) struct CallTerms {
    pub(super) key: Option<IdempotencyKey>,
    time_limit: Option<Duration>,
}

impl CallTerms {
    /// Reads the headers; none where there is neither of them, as nearly always.
    pub(super) fn read(headers: &RequestHeaders<'_>, id: RequestId<'_>) -> Result<Option<Self>, Refused> {
        if headers.get(KnownHeader::IdempotencyKey).first().is_none()
            && headers.get(KnownHeader::Timeout).first().is_none()
        {
            return Ok(None);
        }
        let refuse = |message: &str| {
            let refusal = Refusal::from(RequestError::Invalid(message.to_owned()));
            Box::new(refusal.response_to(id))
        };
        let mut terms = Self { key: None, time_limit: None };
        if headers.get(KnownHeader::IdempotencyKey).first().is_some() {
            let value = headers.get(KnownHeader::IdempotencyKey).only().and_then(|value| value.to_str().ok());
            let key = value.and_then(IdempotencyKey::parse);
            terms.key = Some(key.ok_or_else(|| refuse(&format!("`Idempotency-Key`: {}", IdempotencyKey::RULE)))?);
        }
        if headers.get(KnownHeader::Timeout).first().is_some() {
            let value = headers.get(KnownHeader::Timeout).only().and_then(|value| value.to_str().ok());
            let limit = value.and_then(|value| value.trim().parse().ok()).map(Duration::from_millis);
            let rule = "`OpenTool-Timeout-Ms` must be a whole number of milliseconds";
            terms.time_limit = Some(limit.ok_or_else(|| refuse(rule))?);
        }
        Ok(Some(terms))
    }

    /// Returns the context of the call.
    pub(super) fn context(&self, state: &ServerState, context: &ToolContext) -> ToolContext {
        let mut context = context.clone();
        if let Some(limit) = self.time_limit {
            context = context.with_time_limit(limit);
        }
        match &self.key {
            None => context,
            Some(key) => context.with_idempotency_key(state.settings.journal.clone(), key.clone()),
        }
    }
}

/// Runs a call that has a key in a task of its own: it goes on where its client does not wait, and the answer is kept for the
/// next time. Until then it counts as one in flight, and its arguments as held.
pub(super) async fn run_detached(
    host: &Host,
    state: &Arc<ServerState>,
    call: ToolCall,
    context: ToolContext,
    mut running: RunningCall,
    reservation: MemoryReservation,
) -> (Result<Outcome, ToolError>, Option<RunningCall>) {
    let (host, state) = (host.clone(), state.clone());
    let task = tokio::spawn(
        async move {
            let _kept = (state.shutdown.detach(), reservation);
            let outcome = until_cut_off(&state.shutdown, std::pin::pin!(host.run(call, &context))).await;
            let kind = match &outcome {
                Ok(outcome) => outcome.error().map(ToolError::kind),
                Err(error) => Some(error.kind()),
            };
            running.finish(kind);
            (outcome, Some(running))
        }
        .in_current_span(),
    );
    task.await.unwrap_or_else(|_| (Err(ToolError::stopped()), None))
}
