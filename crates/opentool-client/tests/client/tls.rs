//! https.

use opentool_client::{Client, ClientError};

use crate::add;
use crate::script::{Server, result};

/// A server with a certificate of its own, and the certificate.
async fn start() -> (Server, String) {
    Server::start_tls([result(r#"{"sum":3}"#)]).await
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_called_through_tls() {
    let (server, certificate) = start().await;
    assert!(server.url().starts_with("https://"));
    let client = Client::new(server.url()).ca_certificates(certificate).api_key("s3cret");
    assert_eq!(client.call(add()).await.unwrap().result["sum"], 3);
    assert_eq!(server.only_request().header("authorization"), Some("Bearer s3cret"));
}

#[tokio::test]
async fn a_server_with_an_unknown_certificate_gets_no_key() {
    let (server, _) = start().await;
    let (_, other) = start().await;
    let error = Client::new(server.url()).ca_certificates(other).api_key("s3cret").call(add()).await.unwrap_err();
    assert!(matches!(error, ClientError::NoAccess { status: None, .. }), "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn the_system_s_certificates_are_the_default() {
    let (server, _) = start().await;
    let error = Client::new(server.url()).api_key("s3cret").call(add()).await.unwrap_err();
    // On a machine without certificates, this is found before the first connection.
    assert!(matches!(error, ClientError::NoAccess { status: None, .. } | ClientError::Setup { .. }), "{error:?}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn invalid_certificates_are_an_error_of_the_first_request() {
    for pem in ["", "not a certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let error = Client::new("https://127.0.0.1:1").ca_certificates(pem).version().await.unwrap_err();
        assert!(matches!(error, ClientError::Setup { .. }), "{error:?}");
        assert!(error.to_string().contains("the CA certificates cannot be used: "), "{error}");
    }
}
