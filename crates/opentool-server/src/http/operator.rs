//! The routes for the operator: probes and metrics.

use http::StatusCode;
use http::header::HeaderValue;
use serde_json::{Value, json as value};

use super::headers::{KnownHeader, RequestHeaders};
use super::response::{HttpResponse, json, with_type};
use super::routes::OperatorRoute;
use super::settings::Settings;
use super::state::ServerState;

pub(crate) fn answer(route: OperatorRoute, headers: &RequestHeaders<'_>, state: &ServerState) -> HttpResponse {
    match route {
        OperatorRoute::Healthz => json(StatusCode::OK, r#"{"status":"ok"}"#),
        OperatorRoute::Readyz if state.shutdown.is_draining() => {
            json(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"draining"}"#)
        }
        OperatorRoute::Readyz => readiness(headers, &state.settings),
        OperatorRoute::Metrics => {
            let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            with_type(StatusCode::OK, format, state.metrics_page())
        }
    }
}

/// Says whether any source is there, as far as is known; which ones are is for callers with a key.
fn readiness(headers: &RequestHeaders<'_>, settings: &Settings) -> HttpResponse {
    let states: Vec<(&str, bool)> = settings.sources.iter().map(|source| (&*source.name, source.is_up())).collect();
    let is_ready = states.is_empty() || states.iter().any(|(_, is_up)| *is_up);
    let (status, word) =
        if is_ready { (StatusCode::OK, "ready") } else { (StatusCode::SERVICE_UNAVAILABLE, "no source is up") };
    let mut body = value!({ "status": word });
    let has_key =
        settings.keys.as_ref().is_some_and(|keys| keys.find_name(headers.get(KnownHeader::Authorization)).is_some());
    if has_key && !states.is_empty() {
        body["sources"] = states.iter().map(|(name, is_up)| value!({ "name": name, "up": is_up })).collect::<Value>();
    }
    json(status, body.to_string())
}
