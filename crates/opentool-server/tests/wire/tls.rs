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

use crate::client::{Connection, MAX_WAIT, Running, call, start};
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
    let mut wire = Connection::new(TlsConnector::from(Arc::new(config)).connect(name, socket).await?);
    for _ in 0..2 {
        wire.send(call("add", r#"{"a":1,"b":2}"#).bytes()).await;
        let reply = wire.reply().await;
        assert_eq!(reply.json()["result"]["result"], 3);
    }
    Ok(3)
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = issue(folder.path());
    let server = Server::new(every_way())
        .configure(|config| config.tls(folder.path().join("cert.pem"), folder.path().join("key.pem")));
    let server = start(server).await;
    assert_eq!(add(&server, &first).await.unwrap(), 3);
    // A client without TLS is closed, and the server goes on.
    let mut plain = server.connect().await;
    plain.send(call("add", "{}").bytes()).await;
    assert!(plain.head().await.is_none());

    let second = issue(folder.path());
    let until = Instant::now() + MAX_WAIT;
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
async fn a_reload_uses_a_new_certificate_at_once_and_says_what_is_wrong_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let first = issue(folder.path());
    let server = Server::new(every_way())
        .configure(|config| config.tls(folder.path().join("cert.pem"), folder.path().join("key.pem")));
    let bound = server.bind("127.0.0.1:0").await.unwrap();
    let (addr, handle, reload) = (bound.local_addr().unwrap(), bound.shutdown_handle(), bound.reload_handle());
    let server = Running { addr, admin: None, handle, reload: reload.clone(), task: tokio::spawn(bound.serve()) };
    assert_eq!(add(&server, &first).await.unwrap(), 3);
    let second = issue(folder.path());
    reload.reload().unwrap();
    assert_eq!(add(&server, &second).await.unwrap(), 3);
    fs::write(folder.path().join("cert.pem"), "nonsense").unwrap();
    let problem = reload.reload().unwrap_err().to_string();
    assert!(problem.ends_with("cert.pem: it holds no certificate in PEM form"), "{problem}");
    assert_eq!(add(&server, &second).await.unwrap(), 3, "what was read before stays in use");
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_an_error_of_binding() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let error = async || {
        let server = Server::new(every_way()).configure(|config| config.tls(&cert, &key));
        server.bind("127.0.0.1:0").await.unwrap_err().to_string()
    };
    assert!(error().await.contains("cert.pem: "), "no file");
    issue(folder.path());
    let good = fs::read(&key).unwrap();
    fs::write(&cert, "nonsense").unwrap();
    assert!(error().await.contains("cert.pem: it holds no certificate in PEM form"), "{}", error().await);
    issue(folder.path());
    fs::write(&key, "nonsense").unwrap();
    assert!(error().await.contains("key.pem: it holds nothing usable in PEM form"), "{}", error().await);
    fs::write(&key, good).unwrap();
    assert!(error().await.contains("does not belong to the key"), "the key of another certificate");
}

#[tokio::test]
async fn a_client_that_stops_in_the_handshake_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    issue(folder.path());
    let server = Server::new(every_way())
        .configure(|config| config.tls(folder.path().join("cert.pem"), folder.path().join("key.pem")))
        .configure(|config| config.header_timeout(Duration::from_millis(200)));
    let server = start(server).await;
    let mut wire = server.connect().await;
    wire.send([22, 3, 1]).await;
    wire.closed().await;
}
