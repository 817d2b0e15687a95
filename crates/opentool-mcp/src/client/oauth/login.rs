//! How a user logs in at a server: [`OAuthLogin`].

use std::fmt;

use opentool_http::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig,
};

use super::discovery::{Discovered, discover};
use super::redirect::RedirectListener;
use crate::client::error::McpError;
use crate::client::text::shown;
use crate::client::token_file::{SavedTokens, TokenFile};
use crate::client::url::ServerUrl;

/// What a user is asked to let in.
const CLIENT_NAME: &str = "opentool";

/// A login at an MCP server that wants OAuth: authorization code with PKCE.
///
/// ```no_run
/// use opentool_mcp::{McpClient, OAuthLogin, ServerUrl, TokenFile};
///
/// # async fn run() -> Result<(), opentool_mcp::McpError> {
/// let tokens = TokenFile::new("/home/ann/.local/state/tools.example.json");
/// let server = ServerUrl::new("https://tools.example/mcp").tokens(tokens);
///
/// // Once: the user opens the URL in a browser, which comes back to a port of this machine.
/// let login = OAuthLogin::new(server.clone()).begin().await?;
/// println!("Open {}", login.url());
/// login.wait().await?;
///
/// // From then on, also in other processes. Tokens are renewed when they end.
/// let client = McpClient::from_url(server);
/// # Ok(()) }
/// ```
///
/// The server names its authorization server (RFC 9728), which describes itself (RFC 8414 or OpenID Connect); who does not say
/// what is expected is refused. Where no client id is given, one is asked for (RFC 7591).
#[derive(Clone)]
#[must_use = "nothing is asked for until it begins"]
pub struct OAuthLogin {
    server: ServerUrl,
    client_id: Option<String>,
    client_secret: Option<String>,
    scopes: Vec<String>,
    port: Option<u16>,
}

/// A login that waits for the user.
pub struct PendingLogin {
    server: String,
    /// The URL of the server, as it stands beside the tokens.
    resource: String,
    tokens: TokenFile,
    client_secret: Option<String>,
    manager: AuthorizationManager,
    /// Where the flow leaves what it got.
    store: InMemoryCredentialStore,
    listener: RedirectListener,
    url: String,
    state: String,
}

impl OAuthLogin {
    /// Takes a server with the [file](ServerUrl::tokens) that gets the tokens.
    pub fn new(server: ServerUrl) -> Self {
        Self { server, client_id: None, client_secret: None, scopes: Vec::new(), port: None }
    }

    /// Sets the id of a client that was registered before: the authorization server is asked for one.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.client_id = Some(id.into());
        self
    }

    /// Sets the secret of the client that was registered before.
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.client_secret = Some(secret.into());
        self
    }

    /// Sets what is asked for: what the server names.
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the port of this machine to which the browser comes back: one that is free. A client that was registered before
    /// may be bound to one.
    pub fn redirect_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Finds the authorization server, and makes the URL that the user opens.
    ///
    /// # Errors
    ///
    /// Where the server names no authorization server, or one that cannot be used.
    pub async fn begin(self) -> Result<PendingLogin, McpError> {
        let server = self.server.name();
        let failed = |reason: String| McpError::Login { server: server.clone(), reason: shown(&reason) };
        let target = self.server.target(0)?;
        let Some(tokens) = target.tokens.clone() else {
            let reason = "tokens need a file, and a URL with https to which no other key is sent";
            return Err(failed(reason.to_owned()));
        };
        let listener = RedirectListener::bind(self.port).await;
        let listener = listener.map_err(|error| failed(format!("no port for the browser to come back to: {error}")))?;
        let Discovered { mut manager, is_certain, .. } =
            discover(&target).await.map_err(|failure| match worded(&failure.error) {
                reason if failure.is_unreachable => {
                    McpError::Unreachable { server: server.clone(), reason: shown(&reason) }
                }
                reason => failed(reason),
            })?;
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        let scopes =
            if self.scopes.is_empty() { manager.select_initial_scopes(&[]).await } else { self.scopes.clone() };
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client_secret = match &self.client_id {
            Some(id) => {
                let mut client = OAuthClientConfig::new(id, listener.uri());
                client.client_secret.clone_from(&self.client_secret);
                manager.configure_client(client).map_err(|error| failed(worded(&error)))?;
                self.client_secret
            }
            None => match manager.register_client(CLIENT_NAME, listener.uri(), &scopes).await {
                Ok(registered) => registered.client_secret,
                Err(_) if !is_certain => return Err(failed("it names no authorization server".to_owned())),
                Err(error) => {
                    let reason = format!("{}; register a client and give its id", worded(&error));
                    return Err(failed(reason));
                }
            },
        };
        let url = manager.get_authorization_url(&scopes).await.map_err(|error| failed(worded(&error)))?;
        let state = Url::parse(&url).ok().and_then(|url| parameter(&url, "state"));
        let state = state.ok_or_else(|| failed("no URL can be made to open".to_owned()))?;
        let resource = target.resource();
        Ok(PendingLogin { server, resource, tokens, client_secret, manager, store, listener, url, state })
    }
}

impl PendingLogin {
    /// Returns the URL that the user opens in a browser.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the browser comes back to this machine, and writes the tokens to their file.
    ///
    /// # Errors
    ///
    /// Those of [`finish`](Self::finish).
    pub async fn wait(&self) -> Result<(), McpError> {
        let came = self.listener.wait(&self.state).await;
        let came = came.map_err(|error| self.failed(&format!("the browser cannot come back: {error}")))?;
        self.finish(came.as_str()).await
    }

    /// Takes the URL to which the browser was sent, for a browser on another machine, and writes the tokens to their file.
    ///
    /// # Errors
    ///
    /// Where the user refused, the URL is not the answer to this login, or the authorization server gives no tokens.
    pub async fn finish(&self, redirected: &str) -> Result<(), McpError> {
        let url = Url::parse(redirected.trim()).map_err(|_| self.failed("that is no URL"))?;
        if parameter(&url, "state").as_deref() != Some(self.state.as_str()) {
            return Err(self.failed("that URL is not the answer to this login"));
        }
        if let Some(error) = parameter(&url, "error") {
            let described = parameter(&url, "error_description").unwrap_or_default();
            return Err(self.failed(format!("the authorization server says {error}. {described}").trim_end()));
        }
        let code = parameter(&url, "code").ok_or_else(|| self.failed("that URL has no code in it"))?;
        let issuer = parameter(&url, "iss");
        let exchanged = self.manager.exchange_code_for_token_with_issuer(&code, &self.state, issuer.as_deref()).await;
        exchanged.map_err(|error| self.failed(&worded(&error)))?;
        let credentials = self.store.load().await.ok().flatten();
        let credentials = credentials.ok_or_else(|| self.failed("there are no tokens in the answer"))?;
        let (server, client_secret) = (self.resource.clone(), self.client_secret.clone());
        let written = self.tokens.write(&SavedTokens { server, client_secret, credentials }).await;
        written.map_err(|error| self.failed(&format!("`{}` cannot be written: {error}", self.tokens.path().display())))
    }

    fn failed(&self, reason: &str) -> McpError {
        McpError::Login { server: self.server.clone(), reason: shown(reason) }
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// What went wrong, without the names of the library's cases.
pub(super) fn worded(error: &AuthError) -> String {
    match error {
        AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer } => {
            format!("the authorization server calls itself `{received_issuer}`, not `{expected_issuer}`")
        }
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
            format!("the authorization server does not say that it is `{expected_issuer}`")
        }
        AuthError::RegistrationFailed(reason) => format!("no client can be registered: {reason}"),
        AuthError::TokenExchangeFailed(reason) => format!("the authorization server gives no token: {reason}"),
        AuthError::MetadataError(reason) => one_line(reason),
        other => one_line(&other.to_string()),
    }
}

/// The library words a cause a line; the last one says what happened.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(|line| line.trim().trim_start_matches("Caused by: "));
    let first = lines.next().unwrap_or_default();
    match lines.next_back() {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    }
}

impl fmt::Debug for OAuthLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthLogin")
            .field("server", &self.server)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLogin")
            .field("server", &self.server)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_causes_of_an_error_stand_on_one_line() {
        let text = "discovery failed for http://a\n  Caused by: connect\n  Caused by: Connection refused";
        assert_eq!(
            worded(&AuthError::MetadataError(text.to_owned())),
            "discovery failed for http://a: Connection refused"
        );
        assert_eq!(one_line("no metadata"), "no metadata");
    }
}
