//! The routes for the operator: probes and metrics.

use http::StatusCode;
use http::header::HeaderValue;

use super::response::{HttpResponse, json, with_type};
use super::routes::OperatorRoute;
use super::state::ServerState;

pub(crate) fn answer(route: OperatorRoute, state: &ServerState) -> HttpResponse {
    match route {
        OperatorRoute::Healthz => json(StatusCode::OK, r#"{"status":"ok"}"#),
        OperatorRoute::Readyz if state.shutdown.is_draining() => {
            json(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"draining"}"#)
        }
        OperatorRoute::Readyz => json(StatusCode::OK, r#"{"status":"ready"}"#),
        OperatorRoute::Metrics => {
            let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            with_type(StatusCode::OK, format, state.metrics_page())
        }
    }
}
