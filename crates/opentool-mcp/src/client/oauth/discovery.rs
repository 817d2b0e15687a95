//! Which authorization server a server names: [`discover`].

use std::sync::Arc;

use opentool_http::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};

use super::requests::OAuthRequests;
use crate::client::url::{Target, is_private};

/// What is found out about a server before anything is asked of it.
pub(super) struct Discovered {
    pub(super) manager: AuthorizationManager,
    /// Who gives the tokens.
    pub(super) issuer: Option<String>,
    /// Whether the server, or its authorization server, has said so itself.
    pub(super) is_certain: bool,
}

/// Why the authorization server of a server was not found.
pub(super) struct DiscoveryFailure {
    pub(super) error: AuthError,
    /// Whether no server answered at all.
    pub(super) is_unreachable: bool,
}

/// Finds the authorization server of a server.
pub(super) async fn discover(target: &Target) -> Result<Discovered, DiscoveryFailure> {
    let requests = Arc::new(OAuthRequests::new(&target.config));
    let found = find(target, requests.clone()).await;
    found.map_err(|error| DiscoveryFailure { error, is_unreachable: !requests.was_answered() })
}

async fn find(target: &Target, requests: Arc<OAuthRequests>) -> Result<Discovered, AuthError> {
    let mut manager = AuthorizationManager::new_with_oauth_http_client(target.url.as_str(), requests).await?;
    let found = manager.resolve_metadata().await?;
    check_endpoints(&found.metadata)?;
    let issuer = found.metadata.issuer.clone();
    let is_certain = found.source.is_discovered();
    manager.set_metadata(found.metadata);
    Ok(Discovered { manager, issuer, is_certain })
}

/// Refuses endpoints that others on the way could read.
fn check_endpoints(metadata: &AuthorizationMetadata) -> Result<(), AuthError> {
    let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    for endpoint in endpoints.into_iter().chain(&metadata.registration_endpoint) {
        if !Url::parse(endpoint).is_ok_and(|url| is_private(&url)) {
            return Err(AuthError::MetadataError(format!("`{endpoint}` is no URL with https")));
        }
    }
    Ok(())
}
