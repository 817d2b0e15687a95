//! Logging in at a server (OAuth), and what becomes of the tokens.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use opentool_core::ErrorKind;
use opentool_core::testing::Probe;
use opentool_mcp::{McpClient, McpError, OAuthLogin, ServerUrl, TokenFile};
use serde_json::Value;
use tempfile::TempDir;

use crate::oauth_server::{OAuthServer, open, redirected};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn tokens_in(folder: &TempDir) -> TokenFile {
    TokenFile::new(folder.path().join("made/for/it/tokens.json"))
}

fn saved(tokens: &TokenFile) -> Value {
    serde_json::from_slice(&fs::read(tokens.path()).unwrap()).unwrap()
}

fn client(server: &OAuthServer, tokens: &TokenFile) -> McpClient {
    McpClient::from_url(server.url().tokens(tokens.clone()))
}

async fn called(client: &McpClient) {
    Probe::new(client.clone()).call("add", r#"{"a":1,"b":2}"#).await.assert_text("3");
}

#[tokio::test]
async fn a_user_logs_in_and_the_tools_are_called() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    server.logged_in(&tokens).await;
    called(&client(&server, &tokens)).await;
    let mode = fs::metadata(tokens.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(saved(&tokens)["server"], format!("{}/mcp", server.base));
    let registered = server.grants().registered.clone();
    assert_eq!((registered.len(), &registered[0]["client_name"]), (1, &Value::from("opentool")));
    assert!(registered[0]["redirect_uris"][0].as_str().unwrap().starts_with("http://127.0.0.1:"));
    assert_eq!(server.grants().refreshed, 0);
    tokens.remove().unwrap();
    assert!(!tokens.path().exists() && tokens.remove().is_ok());
}

#[tokio::test]
async fn a_browser_on_another_machine_is_answered_by_hand() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    let login = server.login(&tokens).client_id("client-1").begin().await.unwrap();
    assert!(server.grants().registered.is_empty(), "the client is known already");
    login.finish(&redirected(&login).await).await.unwrap();
    called(&client(&server, &tokens)).await;
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    server.grants().lifetime = Some(20);
    server.logged_in(&tokens).await;
    let before = saved(&tokens)["token_response"]["access_token"].clone();
    server.grants().lifetime = Some(3600);
    called(&client(&server, &tokens)).await;
    assert_eq!(server.grants().refreshed, 1);
    assert_ne!(saved(&tokens)["token_response"]["access_token"], before);
    called(&client(&server, &tokens)).await;
    assert_eq!(server.grants().refreshed, 1, "the new one is kept");
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once_for_all_calls() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    server.logged_in(&tokens).await;
    let clients = [client(&server, &tokens), client(&server, &tokens)];
    for client in &clients {
        called(client).await;
    }
    server.grants().access.clear();
    // The second client is as another process: it knows of the first only by the file.
    let calls = clients.iter().flat_map(|client| (0..10).map(move |_| called(client)));
    futures_util::future::join_all(calls).await;
    assert_eq!(server.grants().refreshed, 1);
}

#[tokio::test]
async fn a_revoked_login_is_an_error_that_says_what_to_do() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    server.logged_in(&tokens).await;
    let client = client(&server, &tokens).name("weather");
    called(&client).await;
    {
        let mut grants = server.grants();
        grants.access.clear();
        grants.refresh.clear();
    }
    let answer = Probe::new(client.clone()).call("add", r#"{"a":1,"b":2}"#).await;
    answer.assert_error(ErrorKind::Unavailable);
    let error = answer.outcome().error().unwrap();
    let command = format!("run `opentool mcp login {}/mcp`", server.base);
    let detail = error.detail().unwrap();
    assert!(detail.contains("`weather`") && detail.contains("revoked") && detail.ends_with(&command), "{detail}");
    assert!(!error.is_retryable() && !error.message().contains("127.0.0.1"), "{error:?}");
    assert!(!format!("{error:?}").contains("access-") && !format!("{error:?}").contains("refresh-"));
    server.logged_in(&tokens).await;
    called(&client).await;
}

#[tokio::test]
async fn without_a_login_the_error_says_what_to_do() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let command = format!("run `opentool mcp login {}/mcp`", server.base);
    for url in [server.url(), server.url().tokens(tokens_in(&folder))] {
        let error = McpClient::from_url(url).toolbox().await.unwrap_err();
        assert!(matches!(error, McpError::LoginRequired { .. }), "{error:?}");
        assert!(error.to_string().ends_with(&command), "{error}");
    }
}

#[tokio::test]
async fn an_answer_with_the_wrong_state_changes_nothing() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    let login = server.login(&tokens).begin().await.unwrap();
    let good = redirected(&login).await;
    let (callback, _) = good.split_once('?').unwrap();
    let forged = format!("{callback}?code=stolen&state=guessed");
    let error = login.finish(&forged).await.unwrap_err();
    assert!(error.to_string().contains("not the answer to this login"), "{error}");
    let browsing = async {
        assert_eq!(open(&forged).await.0, 400);
        assert_eq!(open(callback).await.0, 400);
        assert_eq!(open(&callback.replace("/callback", "/favicon.ico")).await.0, 404);
        assert!(!tokens.path().exists());
        assert_eq!(open(&good).await.0, 200);
    };
    let (waited, ()) = tokio::join!(login.wait(), browsing);
    waited.unwrap();
    called(&client(&server, &tokens)).await;
}

#[tokio::test]
async fn an_authorization_server_that_is_another_one_is_refused() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    server.grants().described_issuer = Some("https://evil.example".to_owned());
    let error = server.login(&tokens).begin().await.unwrap_err();
    assert!(error.to_string().contains("calls itself `https://evil.example`"), "{error}");
    server.grants().described_issuer = None;
    server.grants().redirected_issuer = Some("https://evil.example".to_owned());
    let login = server.login(&tokens).begin().await.unwrap();
    let error = login.finish(&redirected(&login).await).await.unwrap_err();
    assert!(error.to_string().contains("calls itself `https://evil.example`"), "{error}");
    assert!(!tokens.path().exists());
}

#[tokio::test]
async fn a_user_who_refuses_is_an_error() {
    let (server, folder) = (OAuthServer::start().await, folder());
    server.grants().refuses_user = true;
    let login = server.login(&tokens_in(&folder)).begin().await.unwrap();
    let error = login.finish(&redirected(&login).await).await.unwrap_err();
    assert!(error.to_string().ends_with("says access_denied. no \\u{1b}[31mway"), "{error}");
}

#[tokio::test]
async fn tokens_go_to_no_other_server() {
    let (server, folder) = (OAuthServer::start().await, folder());
    let tokens = tokens_in(&folder);
    server.logged_in(&tokens).await;
    let other = crate::client::start(opentool_server::Server::new(crate::tools::every_way())).await;
    let url = ServerUrl::new(format!("http://{}/mcp", other.addr)).tokens(tokens);
    let error = McpClient::from_url(url.clone()).toolbox().await.unwrap_err();
    assert!(error.to_string().contains(&format!("its tokens are for `{}/mcp`", server.base)), "{error}");
    let error = OAuthLogin::new(url).begin().await.unwrap_err();
    assert!(error.to_string().contains("names no authorization server"), "{error}");
    for url in [ServerUrl::new("https://a.example/mcp"), ServerUrl::new("http://a.example/mcp").tokens_in("/nowhere")] {
        let error = OAuthLogin::new(url).begin().await.unwrap_err();
        assert!(error.to_string().contains("tokens need a file, and a URL with https"), "{error}");
    }
}
