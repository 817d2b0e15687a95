//! https.

use opentool_chat::Cause;
use opentool_chat::provider::OpenAi;

use super::server::Server;
use super::support::{KEY, Wire, ask, ask_both};

/// A server with a certificate of its own, and the certificate.
async fn start() -> (Server, String) {
    Server::start_tls([Wire::OpenAi.whole("Hi")]).await
}

#[tokio::test]
async fn a_provider_with_a_trusted_certificate_is_asked_through_tls() {
    let (server, certificate) = start().await;
    let provider = OpenAi::new("tiny").base_url(server.url()).ca_certificates(certificate).api_key(KEY);
    for asked in ask_both(&provider).await {
        assert_eq!(asked.unwrap().text(), "Hi");
    }
    assert!(server.url().starts_with("https://") && server.seen().len() == 2);
}

#[tokio::test]
async fn a_provider_with_an_unknown_certificate_gets_nothing() {
    let (server, _) = start().await;
    let (_, other) = start().await;
    let provider = OpenAi::new("tiny").base_url(server.url()).ca_certificates(other).api_key(KEY).retries(0);
    let error = ask(&provider).await.unwrap_err();
    assert!(
        matches!(error.cause(), Cause::Unreachable { .. }) && error.to_string().contains("certificate"),
        "{error:?}"
    );
    // Neither do the certificates of the system vouch for it; a machine without any finds that out even earlier.
    let error = ask(&OpenAi::new("tiny").base_url(server.url()).api_key(KEY).retries(0)).await.unwrap_err();
    assert!(matches!(error.cause(), Cause::Unreachable { .. } | Cause::Setup { .. }), "{error:?}");
    assert!(server.seen().is_empty());
}
