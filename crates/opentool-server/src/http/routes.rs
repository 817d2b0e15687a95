//! Which path is what: [`Route`], and which of them a listener serves: [`Routes`].

use http::Method;

use super::hosts::AllowedHosts;
use super::refusal::Refusal;
use super::settings::Settings;

/// What a path asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Tools(ToolRoute),
    Operator(OperatorRoute),
    /// The frontend of this index.
    Mounted(usize),
    /// Under the prefix, but none of the routes.
    Unknown,
    /// Not under the prefix.
    Outside,
}

/// The routes of the OpenTool spec and its extensions, under the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolRoute {
    Version,
    Load,
    Call,
    StreamCall,
    Stop,
}

/// The routes for the operator, beside the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorRoute {
    Healthz,
    Readyz,
    Metrics,
}

/// Which of the routes a listener serves, and for which hosts.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    pub(crate) tools: bool,
    pub(crate) operator: bool,
    /// The paths of the mounted frontends, in their order.
    mounted: Vec<MountPath>,
    /// Other hosts than those of the settings.
    pub(crate) hosts: Option<AllowedHosts>,
}

/// The path of a mounted frontend.
#[derive(Clone, Debug)]
pub(crate) struct MountPath {
    path: Box<str>,
    /// Whether the paths below it are the frontend's too.
    takes_sub_paths: bool,
}

impl MountPath {
    pub(crate) fn new(path: &str, takes_sub_paths: bool) -> Self {
        Self { path: path.into(), takes_sub_paths }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.path
    }

    pub(crate) fn takes_sub_paths(&self) -> bool {
        self.takes_sub_paths
    }

    /// Returns what a path has after this one; none where it is another.
    pub(crate) fn sub_path<'a>(&self, path: &'a str) -> Option<&'a str> {
        strip_prefix(path, &self.path)
    }

    fn matches(&self, path: &str) -> bool {
        match self.sub_path(path) {
            None => false,
            Some("" | "/") => true,
            Some(_) => self.takes_sub_paths,
        }
    }
}

impl Route {
    /// Returns the route as logs show it: never a path that the client made up. A frontend's is the path that it is mounted at.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tools(ToolRoute::Version) => "/version",
            Self::Tools(ToolRoute::Load) => "/load",
            Self::Tools(ToolRoute::Call) => "/call",
            Self::Tools(ToolRoute::StreamCall) => "/streamCall",
            Self::Tools(ToolRoute::Stop) => "/stop",
            Self::Operator(OperatorRoute::Healthz) => "/healthz",
            Self::Operator(OperatorRoute::Readyz) => "/readyz",
            Self::Operator(OperatorRoute::Metrics) => "/metrics",
            Self::Mounted(_) | Self::Unknown | Self::Outside => "(unknown)",
        }
    }

    /// Says whether it reveals only that the server runs, so that it needs no key and no known host.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Operator(OperatorRoute::Healthz | OperatorRoute::Readyz))
    }

    /// Checks the method of a request.
    pub(crate) fn check_method(self, method: &Method) -> Result<(), Refusal> {
        let is_post = matches!(self, Self::Tools(ToolRoute::Call | ToolRoute::StreamCall | ToolRoute::Stop));
        match *method {
            // A frontend knows by itself which methods it takes.
            _ if matches!(self, Self::Mounted(_)) => Ok(()),
            Method::POST if is_post => Ok(()),
            Method::GET | Method::HEAD if !is_post => Ok(()),
            _ => Err(Refusal::method_not_allowed(if is_post { "POST" } else { "GET, HEAD" })),
        }
    }
}

impl Routes {
    /// All routes: what a router serves, and a server without an address for its operator.
    pub(crate) fn all(operator: bool) -> Self {
        Self { tools: true, operator, mounted: Vec::new(), hosts: None }
    }

    /// Mounted frontends alone.
    #[cfg(feature = "axum")]
    pub(crate) fn mounted_only() -> Self {
        Self { tools: false, operator: false, mounted: Vec::new(), hosts: None }
    }

    /// Adds the path of a mounted frontend.
    pub(crate) fn with_mounted(mut self, path: MountPath) -> Self {
        self.mounted.push(path);
        self
    }

    /// The operator's routes alone.
    pub(crate) fn operator_only(operator: bool, hosts: AllowedHosts) -> Self {
        Self { tools: false, operator, mounted: Vec::new(), hosts: Some(hosts) }
    }

    /// Finds the route of a path.
    pub(crate) fn find(&self, path: &str, settings: &Settings) -> Route {
        if let Some(index) = self.mounted.iter().position(|mounted| mounted.matches(path)) {
            return Route::Mounted(index);
        }
        if self.tools
            && let Some(route) = find_under_prefix(path, settings)
        {
            return route;
        }
        match without_slash(path) {
            "/healthz" if self.operator => Route::Operator(OperatorRoute::Healthz),
            "/readyz" if self.operator => Route::Operator(OperatorRoute::Readyz),
            "/metrics" if self.operator => Route::Operator(OperatorRoute::Metrics),
            _ if settings.prefix.is_empty() && self.tools => Route::Unknown,
            _ => Route::Outside,
        }
    }
}

fn find_under_prefix(path: &str, settings: &Settings) -> Option<Route> {
    let prefix = settings.prefix.as_str();
    let rest = strip_prefix(path, prefix)?;
    // One client writes the prefix twice.
    let rest = if prefix.is_empty() { rest } else { strip_prefix(rest, prefix).unwrap_or(rest) };
    Some(Route::Tools(match without_slash(rest) {
        "/call" => ToolRoute::Call,
        "/version" => ToolRoute::Version,
        "/load" => ToolRoute::Load,
        "/streamCall" => ToolRoute::StreamCall,
        "/stop" if settings.on_stop.is_some() => ToolRoute::Stop,
        // At the root the operator's routes come after these.
        _ if prefix.is_empty() => return None,
        _ => return Some(Route::Unknown),
    }))
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// The path below a prefix, which must end where a segment does.
pub(crate) fn strip_prefix<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}
