//! What `/call` and `/streamCall` share before a call runs: its body, its request, and the limit of calls in flight.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use http_body::Body;

use super::super::body;
use super::super::budget::Reservation;
use super::super::record::RequestRecord;
use super::super::refusal::Refusal;
use super::super::response::HttpResponse;
use super::super::state::ServerState;
use crate::metrics::InFlight;
use crate::wire::error::RequestError;
use crate::wire::request::{self, CallRequest};

/// A response that says why a call does not run. Boxed, because it is large and rare.
pub(super) type Refused = Box<HttpResponse>;

/// Reads the body of a request.
pub(super) async fn receive<B: Body<Data = Bytes>>(
    state: &ServerState,
    body: B,
    record: &mut RequestRecord<'_>,
) -> Result<(Bytes, Reservation), Refused> {
    let limits = &state.settings.body;
    let received = body::read(body, limits).await;
    let (bytes, reservation) = received.map_err(|error| Box::new(Refusal::body(error, limits.size).response()))?;
    record.received = bytes.len();
    Ok((bytes, reservation))
}

/// Reads the request, and admits it if it may run and the limit of calls in flight allows it.
pub(super) fn admit<'a>(
    state: &ServerState,
    headers: &HeaderMap,
    body: &'a [u8],
) -> Result<(CallRequest<'a>, InFlight), Refused> {
    let request =
        request::read(body).map_err(|rejected| Box::new(Refusal::from(rejected.error).response_to(rejected.id)))?;
    if !is_json(headers) {
        // A web page may send other content types without a preflight request, so this is a check of security.
        let error = RequestError::Invalid("the content type must be JSON".to_owned());
        return Err(Box::new(Refusal::from(error).response_to(request.id)));
    }
    let limit = state.settings.max_calls;
    match state.metrics.enter(limit) {
        Some(in_flight) => Ok((request, in_flight)),
        None => Err(Box::new(Refusal::too_many_calls(limit).response_to(request.id))),
    }
}

/// Says whether a client accepts a content type of our own, which it has to name exactly.
pub(super) fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    let listed = headers.get_all(ACCEPT).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    listed.into_iter().any(|accepted| accepted.trim_ascii().eq_ignore_ascii_case(content_type.as_bytes()))
}

/// Says whether the content type is JSON: absent, `…/json` or `…+json`.
fn is_json(headers: &HeaderMap) -> bool {
    match headers.get(CONTENT_TYPE) {
        None => true,
        Some(value) => value.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"json")),
    }
}
