//! The HTTP library's client: its TLS, and what it must not do by itself.

use std::fmt;
use std::sync::Arc;

use reqwest::{ClientBuilder, Url, redirect};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::error::SetupError;

/// Begins a client that follows no redirects, repeats nothing by itself, and uses a proxy for https only.
pub(crate) fn builder(
    user_agent: &str,
    url: &Url,
    ca_certificates: Option<&[u8]>,
) -> Result<ClientBuilder, SetupError> {
    let is_https = url.scheme() == "https";
    let builder = ClientBuilder::new()
        .user_agent(user_agent)
        // A server that redirects would choose who gets the key and the body.
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tls_backend_preconfigured(tls(is_https, ca_certificates)?);
    // A proxy would read the key; of https it sees only the address of the tunnel.
    Ok(if is_https { builder } else { builder.no_proxy() })
}

/// The TLS configuration, made here so that one crypto provider is enough for the whole program.
fn tls(is_https: bool, ca_certificates: Option<&[u8]>) -> Result<ClientConfig, SetupError> {
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(SetupError::unbuildable)?;
    let builder = match ca_certificates {
        Some(pem) => builder.with_root_certificates(roots(pem)?),
        // Reading the system's certificates takes a while, and plain http needs none.
        None if !is_https => builder.with_root_certificates(RootCertStore::empty()),
        None => {
            let verifier = Verifier::new(provider).map_err(SetupError::unbuildable)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    Ok(builder.with_no_client_auth())
}

fn roots(pem: &[u8]) -> Result<RootCertStore, SetupError> {
    let unusable = |reason: &dyn fmt::Display| SetupError::new(format!("the CA certificates cannot be used: {reason}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() { Err(unusable(&"there is none in the PEM text")) } else { Ok(roots) }
}
