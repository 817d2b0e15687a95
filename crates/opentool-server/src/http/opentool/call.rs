//! `/call`, which nearly every request asks for: bytes in, the host, bytes out.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;
use http_body::Body;
use opentool_core::{ErrorKind, Host, MemoryReservation, Outcome, ToolCall, ToolContext};

use super::super::headers::RequestHeaders;
use super::super::record::{RequestRecord, RunningCall};
use super::super::response::{HttpResponse, json};
use super::super::state::ServerState;
use super::admit::{LARGE_BODY, OwnedCall, Refused, accepts, admit, admit_large, receive};
use super::cut_off::until_cut_off;
use super::terms::{CallTerms, run_detached};
use crate::wire::answer::{self, Recipient};
use crate::wire::id::RequestId;

/// What a client accepts that reads the member `output` of an answer.
const TYPED_OUTPUT: &str = "application/json;output=typed";

pub(super) async fn answer<B: Body<Data = Bytes>>(
    host: &Host,
    state: &Arc<ServerState>,
    headers: &RequestHeaders<'_>,
    body: B,
    context: &ToolContext,
    record: &mut RequestRecord<'_>,
) -> Result<HttpResponse, Refused> {
    let (bytes, reservation) = receive(state, headers, body, record).await?;
    let reads_output = accepts(headers, TYPED_OUTPUT);
    if bytes.len() > LARGE_BODY {
        return Box::pin(answer_large(host, state, headers, (bytes, reservation), context, record)).await;
    }
    let (call, in_flight, id) = admit(state, headers, &bytes)?;
    // Before the call counts as running: a refused one never ran.
    let terms = CallTerms::read(headers, id)?;
    let mut running = RunningCall::new(&state.metrics, in_flight, Arc::clone(&call.name));
    let to = Recipient { id, reads_output };
    if let Some(terms) = terms {
        let call = TermedCall { call, terms, running, reservation };
        return Ok(Box::pin(answer_on_terms(host, state, call, context, to, record)).await);
    }
    let answer = run(host, state, call, context, to, &mut running).await;
    record.note_call(running.note());
    Ok(json(StatusCode::OK, answer))
}

/// A call about which its caller said something.
struct TermedCall {
    call: ToolCall,
    terms: CallTerms,
    running: RunningCall,
    reservation: MemoryReservation,
}

async fn answer_on_terms(
    host: &Host,
    state: &Arc<ServerState>,
    call: TermedCall,
    context: &ToolContext,
    to: Recipient<'_>,
    record: &mut RequestRecord<'_>,
) -> HttpResponse {
    let TermedCall { call, terms, mut running, reservation } = call;
    let context = terms.context(state, context);
    if terms.key.is_none() {
        let answer = run(host, state, call, &context, to, &mut running).await;
        record.note_call(running.note());
        return json(StatusCode::OK, answer);
    }
    let name = Arc::clone(&call.name);
    let (outcome, running) = run_detached(host, state, call, context, running, reservation).await;
    if let Some(running) = running {
        record.note_call(running.note());
    }
    let answer = match outcome {
        Ok(outcome) => answer::outcome(&outcome, to),
        Err(error) => answer::tool_error(&error, &name, to),
    };
    json(StatusCode::OK, answer)
}

async fn answer_large(
    host: &Host,
    state: &Arc<ServerState>,
    headers: &RequestHeaders<'_>,
    (bytes, reservation): (Bytes, MemoryReservation),
    context: &ToolContext,
    record: &mut RequestRecord<'_>,
) -> Result<HttpResponse, Refused> {
    let OwnedCall { call, id, in_flight, reservation } = admit_large(state, headers, bytes, reservation).await?;
    let recipient = Recipient { id: RequestId::new(Some(&id)), reads_output: accepts(headers, TYPED_OUTPUT) };
    let terms = CallTerms::read(headers, recipient.id)?;
    let mut running = RunningCall::new(&state.metrics, in_flight, Arc::clone(&call.name));
    let context = context.clone().with_typed(state.settings.body.budget.clone());
    if let Some(terms) = terms {
        let call = TermedCall { call, terms, running, reservation };
        return Ok(answer_on_terms(host, state, call, &context, recipient, record).await);
    }
    let _reservation = reservation;
    let answer = run(host, state, call, &context, recipient, &mut running).await;
    record.note_call(running.note());
    Ok(json(StatusCode::OK, answer))
}

/// Runs a call and words its answer. The call is moved to its box at once: an argument of an async function takes its place twice
/// (`scripts/bench http`).
fn run<'a>(
    host: &'a Host,
    state: &'a ServerState,
    call: ToolCall,
    context: &'a ToolContext,
    to: Recipient<'a>,
    running: &'a mut RunningCall,
) -> impl Future<Output = Vec<u8>> + 'a {
    let mut running_call = Box::pin(host.run_until_dropped(call, context));
    async move {
        match until_cut_off(&state.shutdown, running_call.as_mut()).await {
            Ok(outcome) => {
                running.finish(error_kind(&outcome));
                answer::outcome(&outcome, to)
            }
            Err(error) => {
                running.finish(Some(error.kind()));
                answer::tool_error(&error, running.tool(), to)
            }
        }
    }
}

fn error_kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.error().map(|error| error.kind())
}
