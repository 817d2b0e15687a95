//! The routes below `/ui/api`.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, SET_COOKIE};
use http::{Method, StatusCode};
use opentool_server::{FrontendRequest, FrontendResponse};
use serde::Deserialize;
use serde_json::json;

use crate::error::ApiError;
use crate::sessions::Session;
use crate::state::PageState;
use crate::{calls, cookie, events, info, own_origin, tools};

/// How long the body of a sign-in may be.
const MAX_SIGN_IN: u64 = 4096;

/// Refuses what must not reach the API, before its body is read: what does not come from the page, and callers who are not signed in.
pub(crate) fn check_head(state: &PageState, path: &str, request: &FrontendRequest<'_>) -> Result<(), ApiError> {
    own_origin::check(request.method(), request.headers())?;
    check_content_type(request)?;
    if path != "/session" {
        return session(state, request).map(drop);
    }
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if request.method() == Method::POST && length.is_none_or(|length| length > MAX_SIGN_IN) {
        let message = format!("a sign-in has a body of at most {MAX_SIGN_IN} bytes, whose length is given");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid-request", message));
    }
    Ok(())
}

/// Answers a request to the API, whose path is given without `/api`.
pub(crate) async fn answer(
    state: &Arc<PageState>,
    path: &str,
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    check_head(state, path, request)?;
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let answered = match (request.method(), &*segments) {
        (&Method::POST, ["session"]) => sign_in(state, request),
        (&Method::GET, ["session"]) => Ok(show_session(state, request)),
        (&Method::DELETE, ["session"]) => Ok(sign_out(state, request)),
        (_, ["session"]) => Err(ApiError::method_not_allowed("GET, POST, DELETE")),
        (method, segments) => {
            let session = session(state, request)?;
            route(state, &session, method, segments, request).await
        }
    };
    Ok(answered?.with_header(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}

/// Answers a request of a browser that is signed in.
async fn route(
    state: &Arc<PageState>,
    session: &Arc<Session>,
    method: &Method,
    segments: &[&str],
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    match (method, segments) {
        (&Method::GET, ["info"]) => Ok(info::answer(state, request).await),
        (&Method::GET, ["tools"]) => tools::list(state, request).await,
        (&Method::GET, ["events"]) => events::open(state, session, request),
        (&Method::POST, ["calls"]) => calls::start(state, session, request).await,
        (&Method::DELETE, ["calls", id]) => calls::cancel(state, session, id),
        (&Method::POST, ["calls", id, "answers"]) => calls::answer(state, session, id, request),
        #[cfg(feature = "chat")]
        (method, ["chat", rest @ ..]) => chat_route(state, session, method, rest, request),
        #[cfg(feature = "journal")]
        (method, ["runs", rest @ ..]) => runs_route(state, method, rest, request).await,
        (_, ["info" | "tools" | "events"]) => Err(ApiError::method_not_allowed("GET")),
        (_, ["calls"] | ["calls", _, "answers"]) => Err(ApiError::method_not_allowed("POST")),
        (_, ["calls", _]) => Err(ApiError::method_not_allowed("DELETE")),
        _ => Err(ApiError::not_found("no such path")),
    }
}

#[cfg(feature = "chat")]
fn chat_route(
    state: &Arc<PageState>,
    session: &Arc<Session>,
    method: &Method,
    segments: &[&str],
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    use crate::chat;

    match (method, segments) {
        (&Method::POST, []) => chat::start(state, session, request),
        (&Method::POST, ["approvals", id]) => chat::approve(state, session, id, request),
        (&Method::POST, [turn, "answers"]) => chat::answer(state, session, turn, request),
        (&Method::GET, [conversation]) => chat::show(state, session, conversation),
        (&Method::DELETE, [id]) => chat::end(state, session, id),
        (_, [] | [_, _]) => Err(ApiError::method_not_allowed("POST")),
        (_, [_]) => Err(ApiError::method_not_allowed("GET, DELETE")),
        _ => Err(ApiError::not_found("no such path")),
    }
}

#[cfg(feature = "journal")]
async fn runs_route(
    state: &PageState,
    method: &Method,
    segments: &[&str],
    request: &mut FrontendRequest<'_>,
) -> Result<FrontendResponse, ApiError> {
    use crate::runs;

    match (method, segments) {
        (&Method::GET, []) => runs::list(state, request).await,
        (&Method::GET, [id]) => runs::show(state, id).await,
        (&Method::POST, [id, "decisions"]) => runs::decide(state, id, request).await,
        (_, [] | [_]) => Err(ApiError::method_not_allowed("GET")),
        (_, [_, "decisions"]) => Err(ApiError::method_not_allowed("POST")),
        _ => Err(ApiError::not_found("no such path")),
    }
}

/// Refuses a body that is no JSON: a form of another page can send other types without asking the server first.
fn check_content_type(request: &FrontendRequest<'_>) -> Result<(), ApiError> {
    if request.method() != Method::POST {
        return Ok(());
    }
    let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "the content type must be application/json";
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid-request", message))
}

/// Finds the session of a request.
fn session(state: &PageState, request: &FrontendRequest<'_>) -> Result<Arc<Session>, ApiError> {
    let refusal = || ApiError::not_signed_in(request.has_keys());
    let session = cookie::find(request.headers()).find_map(|secret| state.sessions.find(secret)).ok_or_else(refusal)?;
    match &session.key_name {
        // Its key was taken back.
        Some(name) if !request.has_key_named(name) => {
            state.sessions.end(session.number);
            Err(refusal())
        }
        _ => Ok(session),
    }
}

/// What a browser signs in with.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SignIn {
    Token(String),
    Key(String),
}

fn sign_in(state: &PageState, request: &mut FrontendRequest<'_>) -> Result<FrontendResponse, ApiError> {
    let body = request.take_body();
    // The error of the reader could repeat what was given.
    let given = serde_json::from_slice(&body)
        .map_err(|_| ApiError::invalid_request(r#"the body must be {"token": "…"} or {"key": "…"}"#))?;
    let key_name = match given {
        SignIn::Token(token) => {
            // With 256 random bits it need not be protected from being guessed.
            if !state.tokens.take(&token) {
                let message = "this address was used already, or is none of this server";
                let hint = if request.has_keys() {
                    "take the newest address at the server's terminal, or sign in by an API key"
                } else {
                    "take the newest address at the server's terminal, or start the server again"
                };
                return Err(ApiError::new(StatusCode::FORBIDDEN, "wrong-token", message).with_hint(hint));
            }
            None
        }
        SignIn::Key(key) => Some(check_key(state, request, &key)?),
    };
    let by = key_name.as_deref().unwrap_or("token").to_owned();
    let secret = state.sessions.begin(key_name);
    let secret = secret.ok_or_else(|| ApiError::unavailable("the system has no random bytes for a session"))?;
    let cookie = cookie::set(request.headers(), &state.settings.path, &secret);
    let cookie = cookie.ok_or_else(|| ApiError::unavailable("the session cannot be written as a cookie"))?;
    tracing::info!(target: "opentool::page", key = by, "a browser signed in");
    Ok(FrontendResponse::empty(StatusCode::NO_CONTENT).with_header(SET_COOKIE, cookie))
}

fn check_key(state: &PageState, request: &FrontendRequest<'_>, key: &str) -> Result<Arc<str>, ApiError> {
    if !request.has_keys() {
        return Err(ApiError::invalid_request("this server has no API keys: sign in by the address at its terminal"));
    }
    if let Some(wait) = state.failed_sign_ins.wait() {
        return Err(ApiError::too_many_attempts(wait));
    }
    request.find_key(key).ok_or_else(|| {
        state.failed_sign_ins.fail();
        tracing::warn!(target: "opentool::page", "a sign-in by key failed");
        ApiError::new(StatusCode::FORBIDDEN, "wrong-key", "this is no API key of this server")
    })
}

/// Says whether the browser is signed in. That it is not is no error: browsers would write one into their console at the first visit.
fn show_session(state: &PageState, request: &FrontendRequest<'_>) -> FrontendResponse {
    let body = match session(state, request) {
        Ok(session) => json!({ "signedIn": true, "keyName": session.key_name.as_deref() }),
        Err(_) => json!({ "signedIn": false, "keySignIn": request.has_keys() }),
    };
    FrontendResponse::json(StatusCode::OK, body.to_string())
}

fn sign_out(state: &PageState, request: &FrontendRequest<'_>) -> FrontendResponse {
    for secret in cookie::find(request.headers()) {
        if let Some(session) = state.sessions.find(secret) {
            state.sessions.end(session.number);
        }
    }
    let response = FrontendResponse::empty(StatusCode::NO_CONTENT);
    match cookie::remove(request.headers(), &state.settings.path) {
        Some(cookie) => response.with_header(SET_COOKIE, cookie),
        None => response,
    }
}
