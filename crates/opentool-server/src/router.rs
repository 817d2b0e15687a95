//! The routes, or a frontend, as an axum router: [`router`], [`frontend_router`].

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::NestedPath;
use axum::routing::{MethodRouter, any};
use http::Request;
use opentool_core::Host;

use crate::config::Config;
use crate::http::frontend::Frontend;
use crate::http::mounted::MountedFrontend;
use crate::http::routes::Routes;
use crate::http::service::{RequestHead, Service};

/// Makes a router that serves a host, to be merged into or nested in any axum application.
///
/// The check of API keys, of `Host` and `Origin`, and the limits of bodies and calls are part of it. It answers every path
/// under the prefix, and `/healthz`, `/readyz` and `/metrics` beside it unless
/// [`operator_routes(false)`](crate::ConfigBuilder::operator_routes) is set. Connections, TLS and the drain are up to the
/// server of the application: compare [`Server`](crate::Server).
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
///
/// Nested at `/api`, the tools are called at `/api/opentool/call`, or with an empty [prefix](crate::ConfigBuilder::prefix) at
/// `/api/call`.
pub fn router(host: Host, config: Config) -> Router {
    let settings = config.0;
    let service = Service::new(host, settings.clone(), Vec::new());
    let handler = handler(service, Routes::all(settings.operator_routes));
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

/// Makes a router that serves a host through a frontend, to be merged into or nested in any axum application.
///
/// The checks and limits of the configuration are part of it; its prefix and the operator's routes are not.
pub fn frontend_router(host: Host, frontend: impl Frontend, config: Config) -> Router {
    let mounted = MountedFrontend::new(frontend);
    let mount_path = mounted.path.clone();
    let service = Service::new(host, config.0, vec![mounted]);
    let handler = handler(service, Routes::mounted_only().with_mounted(mount_path.clone()));
    let path = mount_path.as_str();
    let router = Router::new().route(path, handler.clone()).route(&format!("{path}/"), handler.clone());
    if mount_path.takes_sub_paths() { router.route(&format!("{path}/{{*rest}}"), handler) } else { router }
}

fn handler(service: Arc<Service>, routes: Routes) -> MethodRouter {
    let routes = Arc::new(routes);
    any(move |request: Request<Body>| {
        let (service, routes) = (service.clone(), routes.clone());
        async move {
            let (parts, body) = request.into_parts();
            let nested_at = parts.extensions.get::<NestedPath>().map_or("", NestedPath::as_str);
            let head = RequestHead { parts: &parts, routes: &routes, peer: None, nested_at };
            Ok::<_, Infallible>(service.handle(&head, body).await.map(Body::new))
        }
    })
}
