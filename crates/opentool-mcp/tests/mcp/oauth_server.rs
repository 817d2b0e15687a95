//! An authorization server, and an MCP server that asks for its tokens.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac_sha256::Hash;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use opentool_http::{HttpClient, HttpConfig, HttpRequest, Url};
use opentool_mcp::{OAuthLogin, PendingLogin, ServerUrl, TokenFile};
use opentool_server::Server;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::client::{Running, start};
use crate::tools::every_way;

/// What the tests look at and turn.
#[derive(Default)]
pub(crate) struct Grants {
    /// The challenge of each code that was given out.
    codes: HashMap<String, String>,
    pub(crate) access: HashSet<String>,
    pub(crate) refresh: HashSet<String>,
    issued: usize,
    pub(crate) refreshed: usize,
    pub(crate) registered: Vec<Value>,
    pub(crate) lifetime: Option<u64>,
    /// What the server calls itself in its description, and when it sends the browser back.
    pub(crate) described_issuer: Option<String>,
    pub(crate) redirected_issuer: Option<String>,
    pub(crate) refuses_user: bool,
}

pub(crate) struct OAuthServer {
    pub(crate) base: String,
    grants: Arc<Mutex<Grants>>,
}

struct Site {
    base: String,
    grants: Arc<Mutex<Grants>>,
    mcp: Running,
    client: HttpClient,
}

impl OAuthServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mcp = start(Server::new(every_way())).await;
        let url = Url::parse(&base).unwrap();
        let client = HttpClient::new(&HttpConfig::new("test"), &url).unwrap();
        let grants = Arc::new(Mutex::new(Grants { lifetime: Some(3600), ..Grants::default() }));
        let site = Arc::new(Site { base: base.clone(), grants: grants.clone(), mcp, client });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let site = site.clone();
                let service = service_fn(move |request| {
                    let site = site.clone();
                    async move { Ok::<_, Infallible>(site.answer(request).await) }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { base, grants }
    }

    pub(crate) fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap()
    }

    pub(crate) fn url(&self) -> ServerUrl {
        ServerUrl::new(format!("{}/mcp", self.base))
    }

    pub(crate) fn login(&self, tokens: &TokenFile) -> OAuthLogin {
        OAuthLogin::new(self.url().tokens(tokens.clone()))
    }

    /// Logs in as a user with a browser does.
    pub(crate) async fn logged_in(&self, tokens: &TokenFile) {
        let login = self.login(tokens).begin().await.unwrap();
        let (waited, page) = tokio::join!(login.wait(), browse(&login));
        waited.unwrap();
        assert_eq!(page.0, 200, "{page:?}");
    }
}

/// Opens a URL as a browser does; returns the status, where it is sent, and the page.
pub(crate) async fn open(url: &str) -> (u16, Option<String>, String) {
    let url = Url::parse(url).unwrap();
    let client = HttpClient::new(&HttpConfig::new("browser"), &url).unwrap();
    let response = client.send(&HttpRequest::get(url)).await.unwrap();
    let location = response.headers().get(LOCATION).map(|value| value.to_str().unwrap().to_owned());
    (response.status(), location, String::from_utf8(response.bytes().await.unwrap()).unwrap())
}

/// Where the authorization server sends the browser of a user who lets us in.
pub(crate) async fn redirected(login: &PendingLogin) -> String {
    open(login.url()).await.1.expect("a redirect")
}

async fn browse(login: &PendingLogin) -> (u16, Option<String>, String) {
    open(&redirected(login).await).await
}

fn form(text: &str) -> HashMap<String, String> {
    Url::parse(&format!("http://form/?{text}")).unwrap().query_pairs().into_owned().collect()
}

fn answer(status: u16, body: &Value) -> Response<String> {
    let mut response = Response::new(body.to_string());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

impl Site {
    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap()
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<String> {
        let (head, mut body) = request.into_parts();
        let mut text = Vec::new();
        while let Some(frame) = std::future::poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
            text.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
        }
        let text = String::from_utf8(text).unwrap();
        match head.uri.path() {
            "/.well-known/oauth-protected-resource/mcp" => {
                let resource = format!("{}/mcp", self.base);
                let servers = [&self.base];
                answer(
                    200,
                    &json!({ "resource": resource, "authorization_servers": servers, "scopes_supported": ["tools"] }),
                )
            }
            "/.well-known/oauth-authorization-server" => self.describe(),
            "/register" => {
                let asked: Value = serde_json::from_str(&text).unwrap();
                let client = json!({ "client_id": "client-1", "redirect_uris": asked["redirect_uris"] });
                self.grants().registered.push(asked);
                answer(201, &client)
            }
            "/authorize" => self.authorize(&form(head.uri.query().unwrap_or_default())),
            "/token" => self.token(&form(&text)),
            "/mcp" => self.relay(head, text).await,
            _ => answer(404, &json!({})),
        }
    }

    fn describe(&self) -> Response<String> {
        let base = &self.base;
        let issuer = self.grants().described_issuer.clone().unwrap_or_else(|| base.clone());
        answer(
            200,
            &json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
            }),
        )
    }

    /// The user lets everybody in, or nobody.
    fn authorize(&self, asked: &HashMap<String, String>) -> Response<String> {
        assert_eq!((&*asked["response_type"], &*asked["code_challenge_method"]), ("code", "S256"));
        assert_eq!((&*asked["scope"], &*asked["resource"]), ("tools", &*format!("{}/mcp", self.base)));
        let mut grants = self.grants();
        let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
        let issuer = grants.redirected_issuer.clone().unwrap_or_else(|| self.base.clone());
        back.query_pairs_mut().append_pair("state", &asked["state"]).append_pair("iss", &issuer);
        if grants.refuses_user {
            let mut pairs = back.query_pairs_mut();
            pairs.append_pair("error", "access_denied").append_pair("error_description", "no \u{1b}[31mway");
        } else {
            grants.issued += 1;
            let code = format!("code-{}", grants.issued);
            back.query_pairs_mut().append_pair("code", &code);
            grants.codes.insert(code, asked["code_challenge"].clone());
        }
        let mut response = Response::new(String::new());
        *response.status_mut() = StatusCode::FOUND;
        response.headers_mut().insert(LOCATION, HeaderValue::try_from(back.as_str()).unwrap());
        response
    }

    fn token(&self, asked: &HashMap<String, String>) -> Response<String> {
        let mut grants = self.grants();
        assert_eq!((&*asked["client_id"], &*asked["resource"]), ("client-1", &*format!("{}/mcp", self.base)));
        let is_good = match &*asked["grant_type"] {
            "authorization_code" => grants.codes.remove(&asked["code"]).is_some_and(|challenge| {
                URL_SAFE_NO_PAD.encode(Hash::hash(asked["code_verifier"].as_bytes())) == challenge
            }),
            // A refresh token is good once.
            "refresh_token" => {
                grants.refreshed += 1;
                grants.refresh.remove(&asked["refresh_token"])
            }
            _ => false,
        };
        if !is_good {
            return answer(400, &json!({ "error": "invalid_grant" }));
        }
        grants.issued += 1;
        let (access, refresh) = (format!("access-{}", grants.issued), format!("refresh-{}", grants.issued));
        grants.access.insert(access.clone());
        grants.refresh.insert(refresh.clone());
        let mut given = json!({ "access_token": access, "token_type": "Bearer", "refresh_token": refresh });
        if let Some(lifetime) = grants.lifetime {
            given["expires_in"] = lifetime.into();
        }
        answer(200, &given)
    }

    /// Passes a request with a good token on to the MCP server.
    async fn relay(&self, head: http::request::Parts, body: String) -> Response<String> {
        let token = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if !token.is_some_and(|token| self.grants().access.contains(token)) {
            let mut refusal = answer(401, &json!({}));
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.base);
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
            refusal.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::try_from(challenge).unwrap());
            return refusal;
        }
        let url = Url::parse(&format!("http://{}/mcp", self.mcp.addr)).unwrap();
        let mut request = match head.method.as_str() {
            "GET" => HttpRequest::get(url),
            "DELETE" => HttpRequest::delete(url),
            _ => HttpRequest::post(url).body(body),
        };
        for (name, value) in &head.headers {
            if !matches!(name.as_str(), "host" | "content-length" | "authorization") {
                request = request.header(name.clone(), value.clone());
            }
        }
        let relayed = self.client.send(&request).await.unwrap();
        let mut response = Response::builder().status(relayed.status());
        for name in ["content-type", "mcp-session-id"] {
            if let Some(value) = relayed.headers().get(name) {
                response = response.header(HeaderName::from_static(name), value);
            }
        }
        response.body(String::from_utf8(relayed.bytes().await.unwrap()).unwrap()).unwrap()
    }
}
