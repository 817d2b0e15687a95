//! The tokens of a login in use: [`Authorizer`].

use std::io;
use std::sync::{Mutex as StdMutex, PoisonError};

use opentool_http::{ApiKey, Secrets};
use rmcp::transport::auth::{AuthError, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig};
use tokio::sync::Mutex;

use super::discovery::{Discovered, discover};
use super::login::worded;
use crate::client::error::McpError;
use crate::client::text::shown;
use crate::client::token_file::{SavedTokens, TokenFile};
use crate::client::url::Target;

/// Where a user would be sent back to, of which a renewal makes no use.
const UNUSED_REDIRECT: &str = "http://127.0.0.1/callback";

/// Gives requests their token, and renews it.
pub(crate) struct Authorizer {
    server: String,
    target: Target,
    tokens: TokenFile,
    /// Held while the token is renewed, so that requests that are refused together renew it once.
    renewing: Mutex<()>,
    /// The token that was given last, which no message may repeat.
    last: StdMutex<Option<ApiKey>>,
}

/// A token that is never shown.
#[derive(Clone)]
pub(crate) struct AccessToken {
    text: String,
    key: ApiKey,
}

impl AccessToken {
    fn new(text: String) -> Option<Self> {
        Some(Self { key: ApiKey::new(text.as_str())?, text })
    }

    pub(crate) fn key(&self) -> &ApiKey {
        &self.key
    }
}

impl Authorizer {
    pub(crate) fn new(server: &str, target: Target, tokens: TokenFile) -> Self {
        Self { server: server.to_owned(), target, tokens, renewing: Mutex::default(), last: StdMutex::default() }
    }

    /// Returns the token of the next request; none where no user has logged in.
    pub(crate) async fn token(&self) -> Result<Option<AccessToken>, McpError> {
        match self.read().await? {
            None => Ok(None),
            Some(saved) if saved.is_expired() => self.renewed(None).await.map(Some),
            Some(saved) => Ok(self.take_token(&saved)),
        }
    }

    /// Removes the token from a text.
    pub(crate) fn redact(&self, text: String) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Secrets::from_iter(last).redact(text)
    }

    fn take_token(&self, saved: &SavedTokens) -> Option<AccessToken> {
        let token = saved.access_token().and_then(AccessToken::new)?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.key.clone());
        Some(token)
    }

    /// Returns a token in place of one that was refused or has ended.
    pub(crate) async fn renewed(&self, refused: Option<&AccessToken>) -> Result<AccessToken, McpError> {
        let _renewing = self.renewing.lock().await;
        // The tokens may be shared with other processes, and are good for one renewal.
        let _lock = self.tokens.lock().await.map_err(|error| self.unusable(&error))?;
        let Some(saved) = self.read().await? else { return Err(self.login_required("no user has logged in")) };
        if let Some(token) = self.take_token(&saved)
            && refused.is_none_or(|refused| refused.text != token.text)
            && !saved.is_expired()
        {
            return Ok(token);
        }
        if !saved.has_refresh_token() {
            return Err(self.login_required("the login has ended"));
        }
        let renewed = self.renew(saved).await?;
        self.tokens.write(&renewed).await.map_err(|error| self.unusable(&error))?;
        tracing::info!(target: "opentool::mcp", server = self.server, "the token of the server was renewed");
        self.take_token(&renewed).ok_or_else(|| self.login_required("the new token is empty"))
    }

    async fn renew(&self, saved: SavedTokens) -> Result<SavedTokens, McpError> {
        let unreachable = |error: AuthError| McpError::Unreachable {
            server: self.server.clone(),
            reason: shown(&format!("its token cannot be renewed: {}", worded(&error))),
        };
        let Discovered { mut manager, issuer, .. } =
            discover(&self.target).await.map_err(|failure| unreachable(failure.error))?;
        let SavedTokens { server, client_secret, credentials } = saved;
        if let (Some(before), Some(now)) = (&credentials.issuer, &issuer)
            && before != now
        {
            return Err(self.login_required(&format!("its authorization server was `{before}` and is `{now}`")));
        }
        let mut client = OAuthClientConfig::new(&credentials.client_id, UNUSED_REDIRECT);
        client.client_secret.clone_from(&client_secret);
        manager.configure_client(client).map_err(unreachable)?;
        let store = InMemoryCredentialStore::new();
        store.save(credentials).await.map_err(unreachable)?;
        manager.set_credential_store(store.clone());
        match manager.refresh_token().await {
            Ok(_) => {}
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                return Err(self.login_required("the login was revoked, or has ended"));
            }
            Err(error) => return Err(unreachable(error)),
        }
        match store.load().await.map_err(unreachable)? {
            Some(credentials) => Ok(SavedTokens { server, client_secret, credentials }),
            None => Err(self.login_required("there is no new token")),
        }
    }

    async fn read(&self) -> Result<Option<SavedTokens>, McpError> {
        self.tokens.read(&self.target.resource()).await.map_err(|error| self.unusable(&error))
    }

    pub(crate) fn login_required(&self, reason: &str) -> McpError {
        let (server, url) = (self.server.clone(), self.target.resource());
        McpError::LoginRequired { server, url, reason: shown(reason) }
    }

    fn unusable(&self, error: &io::Error) -> McpError {
        let reason = format!("the file of its tokens, `{}`, cannot be used: {error}", self.tokens.path().display());
        McpError::Login { server: self.server.clone(), reason }
    }
}
