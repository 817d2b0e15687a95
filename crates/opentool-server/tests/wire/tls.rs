//! HTTPS, with certificates that change under the server.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opentool_server::Server;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsConnector;

use crate::raw::{PATIENCE, Running, Wire, call, start};
use crate::tools::every_way;

/// Makes a certificate, puts it where the server looks, and returns it.
fn issue(folder: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    for (name, text) in [("key.pem", signing_key.serialize_pem()), ("cert.pem", cert.pem())] {
        let new = folder.join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, folder.join(name)).unwrap();
    }
    cert.der().clone()
}

/// Calls a tool over TLS, trusting one certificate only.
async fn add(server: &Running, trusted: &CertificateDer<'static>) -> std::io::Result<i64> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(server.addr).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut wire = Wire::new(TlsConnector::from(Arc::new(config)).connect(name, socket).await?);
    for _ in 0..2 {
        wire.send(call("add", r#"{"a":1,"b":2}"#).bytes()).await;
        let reply = wire.reply().await;
        assert_eq!(reply.json()["result"]["result"], 3);
    }
    Ok(3)
}

#[tokio::test]
async fn tools_are_served_over_tls_and_a_new_certificate_is_used_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = issue(folder.path());
    let server = Server::new(every_way()).tls(folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let server = start(server).await;
    assert_eq!(add(&server, &first).await.unwrap(), 3);
    // Somebody who speaks no TLS does no harm.
    let mut plain = server.connect().await;
    plain.send(call("add", "{}").bytes()).await;
    assert!(plain.head().await.is_none());

    let second = issue(folder.path());
    let until = Instant::now() + PATIENCE;
    while add(&server, &second).await.is_err() {
        assert!(Instant::now() < until, "the files are not read again");
        sleep(Duration::from_millis(100)).await;
    }
    add(&server, &first).await.unwrap_err();
    // Files that cannot be used leave the server as it is.
    fs::write(folder.path().join("cert.pem"), "nonsense").unwrap();
    sleep(Duration::from_millis(1500)).await;
    add(&server, &second).await.unwrap();
}

#[tokio::test]
async fn a_client_that_stops_in_the_handshake_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    issue(folder.path());
    let server = Server::new(every_way())
        .tls(folder.path().join("cert.pem"), folder.path().join("key.pem"))
        .header_timeout(Duration::from_millis(200));
    let server = start(server).await;
    let mut wire = server.connect().await;
    wire.send([22, 3, 1]).await;
    wire.closed().await;
}
