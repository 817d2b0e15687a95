//! TLS from files that are read again when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::file::{FileError, WatchedFiles};

pub(crate) type Certificates = WatchedFiles<Arc<ServerConfig>>;

pub(crate) fn watch(certificates: PathBuf, key: PathBuf) -> Result<Certificates, FileError> {
    WatchedFiles::new(vec![certificates, key], |paths| read(&paths[0], &paths[1]).map(Arc::new))
}

fn read(certificates: &Path, key: &Path) -> Result<ServerConfig, FileError> {
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(certificates, error))?;
    if chain.is_empty() {
        return Err(FileError::new(certificates, "it holds no certificate in PEM form"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| {
            let problem = match error {
                rustls::Error::InconsistentKeys(_) => "the certificate does not belong to the key".to_owned(),
                rustls::Error::InvalidCertificate(_) => "the certificate cannot be read".to_owned(),
                _ => format!("the certificate cannot be used with the key: {error}"),
            };
            FileError::new(certificates, problem)
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn unusable(path: &Path, error: pem::Error) -> FileError {
    match error {
        pem::Error::Io(error) => FileError::io(path, &error),
        pem::Error::NoItemsFound => FileError::new(path, "it holds nothing usable in PEM form"),
        _ => FileError::new(path, "it is no PEM file"),
    }
}
