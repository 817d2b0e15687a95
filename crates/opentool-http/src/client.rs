//! The HTTP client underneath: its TLS, and what it must not do on its own: [`Setup`].

use std::fmt;
use std::sync::Arc;

use reqwest::{ClientBuilder, Url, redirect};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// Whom a client is for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    user_agent: &'a str,
    url: &'a Url,
    ca_certificates: Option<&'a [u8]>,
}

/// Why there can be no client.
#[derive(Clone, Debug)]
pub struct SetupError(String);

impl SetupError {
    /// Tells what a client that cannot be built is missing.
    pub fn new(error: impl fmt::Display) -> Self {
        Self(format!("the HTTP client cannot be set up: {error}"))
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

impl<'a> Setup<'a> {
    /// Prepares a client that speaks to the server of a URL under a name of its own.
    pub fn new(user_agent: &'a str, url: &'a Url) -> Self {
        Self { user_agent, url, ca_certificates: None }
    }

    /// Trusts these certificates (PEM) instead of the system's.
    #[must_use]
    pub fn ca_certificates(mut self, pem: Option<&'a [u8]>) -> Self {
        self.ca_certificates = pem;
        self
    }

    /// Begins a client that follows no redirects, repeats nothing, and tells no proxy what it sends.
    ///
    /// # Errors
    ///
    /// Where the certificates cannot be used, or TLS is not to be had.
    pub fn builder(self) -> Result<ClientBuilder, SetupError> {
        let builder = ClientBuilder::new()
            .user_agent(self.user_agent)
            // Whoever answers with a redirect would otherwise choose who gets the key and what is sent with it.
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .tls_backend_preconfigured(self.tls()?);
        // A proxy would read the key; through https it sees only where the tunnel goes.
        Ok(if self.is_https() { builder } else { builder.no_proxy() })
    }

    fn is_https(self) -> bool {
        self.url.scheme() == "https"
    }

    /// The TLS side of the client. It is made here so that one crypto provider is enough for the whole program.
    fn tls(self) -> Result<ClientConfig, SetupError> {
        let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(SetupError::new)?;
        let builder = match self.ca_certificates {
            Some(pem) => builder.with_root_certificates(roots(pem)?),
            // Reading the system's certificates takes a while, and nobody will ask for them.
            None if !self.is_https() => builder.with_root_certificates(RootCertStore::empty()),
            None => {
                let verifier = Verifier::new(provider).map_err(SetupError::new)?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        Ok(builder.with_no_client_auth())
    }
}

fn roots(pem: &[u8]) -> Result<RootCertStore, SetupError> {
    let unusable = |reason: &dyn fmt::Display| SetupError(format!("the CA certificates cannot be used: {reason}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() { Err(unusable(&"there is none in the PEM text")) } else { Ok(roots) }
}
