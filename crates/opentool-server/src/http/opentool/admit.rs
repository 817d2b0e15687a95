//! What `/call` and `/streamCall` share before a call runs: its body, its request, and the limit of calls in flight.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::available_parallelism;

use bytes::Bytes;
use http_body::Body;
use opentool_core::{MemoryReservation, ToolCall};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::super::body;
use super::super::headers::{HeaderValues, KnownHeader, RequestHeaders};
use super::super::record::RequestRecord;
use super::super::refusal::Refusal;
use super::super::response::HttpResponse;
use super::super::state::ServerState;
use crate::metrics::InFlight;
use crate::wire::error::RequestError;
use crate::wire::id::RequestId;
use crate::wire::request::{self, CallRequest};

/// A response that says why a call does not run. Boxed, because it is large and rare.
pub(super) type Refused = Box<HttpResponse>;

/// Reads the body of a request.
pub(super) async fn receive<B: Body<Data = Bytes>>(
    state: &ServerState,
    headers: &RequestHeaders<'_>,
    body: B,
    record: &mut RequestRecord<'_>,
) -> Result<(Bytes, MemoryReservation), Refused> {
    if !is_identity(headers.get(KnownHeader::ContentEncoding)) {
        return Err(Box::new(Refusal::encoded_body().response()));
    }
    let limits = &state.settings.body;
    let received = body::read(body, limits).await;
    let (bytes, reservation) = received.map_err(|error| Box::new(Refusal::body(error, limits.size).response()))?;
    record.received = bytes.len();
    Ok((bytes, reservation))
}

/// Reads the request, and admits it if it may run and the limit of calls in flight allows it.
pub(super) fn admit<'a>(
    state: &ServerState,
    headers: &RequestHeaders<'_>,
    body: &'a [u8],
) -> Result<(ToolCall, InFlight, RequestId<'a>), Refused> {
    let request = read(body, is_json(headers.get(KnownHeader::ContentType)))?;
    let in_flight = enter(state, request.id)?;
    let call = ToolCall::new(request.id.to_text(), &*request.method, request.params);
    Ok((call, in_flight, request.id))
}

fn read(body: &[u8], is_json: bool) -> Result<CallRequest<'_>, Refused> {
    let request =
        request::read(body).map_err(|rejected| Box::new(Refusal::from(rejected.error).response_to(rejected.id)))?;
    if !is_json {
        // A web page may send other content types without a preflight request, so this is a check of security.
        let error = RequestError::Invalid("the content type must be JSON".to_owned());
        return Err(Box::new(Refusal::from(error).response_to(request.id)));
    }
    Ok(request)
}

fn enter(state: &ServerState, id: RequestId<'_>) -> Result<InFlight, Refused> {
    let limit = state.settings.max_calls;
    state.metrics.enter(limit).ok_or_else(|| Box::new(Refusal::too_many_calls(limit).response_to(id)))
}

/// A body larger than this is read on another thread, and its memory is freed as soon as the arguments are taken from it.
pub(super) const LARGE_BODY: usize = 64 * 1024;

/// As many large bodies are read at once as there are processors; the others wait, and take no thread meanwhile.
static READING: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));

/// A call that borrows nothing from its body.
pub(super) struct OwnedCall {
    pub(super) call: ToolCall,
    pub(super) id: Box<str>,
    pub(super) in_flight: InFlight,
    /// For the arguments.
    pub(super) reservation: MemoryReservation,
}

/// Reads and admits a request with a large body.
pub(super) async fn admit_large(
    state: &ServerState,
    headers: &RequestHeaders<'_>,
    body: Bytes,
    reservation: MemoryReservation,
) -> Result<OwnedCall, Refused> {
    let is_json = is_json(headers.get(KnownHeader::ContentType));
    let permit = READING.acquire().await;
    let reading = spawn_blocking(move || {
        let _permit = permit;
        take_call(body, is_json, reservation)
    });
    let (call, id, reservation) = reading.await.map_err(|_| Box::new(Refusal::stopping().response()))??;
    let in_flight = enter(state, RequestId::new(Some(&id)))?;
    Ok(OwnedCall { call, id, in_flight, reservation })
}

/// Held while arguments are copied out of a body, so that no more than one body is in memory twice, which no budget counts.
static COPYING: Mutex<()> = Mutex::new(());

/// Takes a call out of a body, whose reservation is then that of the arguments.
fn take_call(
    body: Bytes,
    is_json: bool,
    mut reservation: MemoryReservation,
) -> Result<(ToolCall, Box<str>, MemoryReservation), Refused> {
    let request = read(&body, is_json)?;
    let beside_arguments = body.len() - request.params.len();
    let copying = COPYING.lock().unwrap_or_else(PoisonError::into_inner);
    let call = ToolCall::new(request.id.to_text(), &*request.method, request.params);
    let id = request.id.as_json().into();
    drop(body);
    drop(copying);
    reservation.shrink(beside_arguments);
    Ok((call, id, reservation))
}

/// Says whether a client accepts a content type of our own, which it has to name exactly.
pub(super) fn accepts(headers: &RequestHeaders<'_>, content_type: &str) -> bool {
    let listed = headers.get(KnownHeader::Accept).all().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    listed.into_iter().any(|accepted| accepted.trim_ascii().eq_ignore_ascii_case(content_type.as_bytes()))
}

/// Says whether the content type is JSON: absent, or with the subtype `json` or the suffix `+json`.
fn is_json(content_type: HeaderValues<'_>) -> bool {
    let Some(value) = content_type.first() else { return true };
    if value == "application/json" {
        return !content_type.is_repeated();
    }
    let media_type = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let subtype = media_type.splitn(2, |byte| *byte == b'/').nth(1).unwrap_or_default();
    let suffix = subtype.rsplitn(2, |byte| *byte == b'+').next().unwrap_or_default();
    suffix.eq_ignore_ascii_case(b"json") && !content_type.is_repeated()
}

/// Says whether the body is not encoded.
fn is_identity(content_encoding: HeaderValues<'_>) -> bool {
    let mut encodings = content_encoding.all().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    encodings
        .all(|encoding| matches!(encoding.trim_ascii(), b"") || encoding.trim_ascii().eq_ignore_ascii_case(b"identity"))
}
