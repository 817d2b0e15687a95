//! The routes as an axum router: [`router`].

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::routing::any;
use http::Request;
use opentool_core::Host;

use crate::config::Config;
use crate::endpoint::{Door, Endpoint};

/// Makes a router that serves a host, to be merged into any axum application.
///
/// Authorisation, the checks of `Host` and `Origin`, and the limits of bodies and calls are inside it. It answers every path under
/// the prefix, and `/healthz`, `/readyz` and `/metrics` beside it unless the configuration leaves them out. The limits of
/// connections, TLS and draining belong to whoever binds the socket: see [`Server`](crate::Server).
///
/// ```
/// use axum::{Router, routing::get};
/// use opentool_core::{Executor, FnTool};
/// use opentool_server::{Config, router};
///
/// let host = Executor::new().host(FnTool::new("now", || "noon"));
/// let config = Config::builder().api_keys(["s3cret"]).allowed_host("tools.example").build()?;
/// let app: Router = Router::new().route("/", get(|| async { "hello" })).merge(router(host, config));
/// # Ok::<(), opentool_server::ConfigError>(())
/// ```
pub fn router(host: Host, config: Config) -> Router {
    let endpoint = Endpoint::new(host, &config);
    let settings = endpoint.settings.clone();
    let door = Arc::new(Door::whole(settings.operator_routes));
    let handler = any(move |request: Request<Body>| {
        let (endpoint, door) = (endpoint.clone(), door.clone());
        let (parts, body) = request.into_parts();
        async move { Ok::<_, Infallible>(endpoint.handle(&door, None, &parts, body).await.map(Body::new)) }
    });
    let prefix = settings.prefix.as_str();
    let mut router = Router::new();
    if !prefix.is_empty() {
        router = router.route(prefix, handler.clone()).route(&format!("{prefix}/"), handler.clone());
    }
    router = router.route(&format!("{prefix}/{{*path}}"), handler.clone());
    if settings.operator_routes {
        for path in ["/healthz", "/readyz", "/metrics"] {
            router = router.route(path, handler.clone());
        }
    }
    router
}
