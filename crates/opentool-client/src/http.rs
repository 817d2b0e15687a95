//! The HTTP client underneath: its pool, its TLS, and what it must not do on its own.

use std::sync::Arc;

use reqwest::header::HeaderValue;
use reqwest::redirect;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::ClientError;
use crate::address::Address;
use crate::settings::Settings;

/// An HTTP client, whom it speaks to, and as whom.
pub(crate) struct Http {
    pub(crate) client: reqwest::Client,
    pub(crate) address: Address,
    pub(crate) authorization: Option<HeaderValue>,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, ClientError> {
        let address = settings.address.clone()?;
        let authorization = settings.key.as_ref().map(|key| key.header()).transpose()?;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("opentool-client/", env!("CARGO_PKG_VERSION")))
            // Whoever answers with a redirect would otherwise choose who gets the key and the arguments.
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(settings.connect_timeout)
            .pool_idle_timeout(settings.idle_timeout)
            .pool_max_idle_per_host(settings.max_idle_connections)
            .tls_backend_preconfigured(tls(settings, &address)?);
        if !address.is_https() {
            // A proxy would read the key; through https it sees only where the tunnel goes.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| setup(&error))?;
        Ok(Self { client, address, authorization })
    }
}

/// The TLS side of the client. It is made here so that one crypto provider is enough for the whole program.
fn tls(settings: &Settings, address: &Address) -> Result<ClientConfig, ClientError> {
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?;
    let builder = match &settings.ca_certificates {
        Some(pem) => builder.with_root_certificates(roots(pem)?),
        // Reading the system's certificates takes a while, and nobody will ask for them.
        None if !address.is_https() => builder.with_root_certificates(RootCertStore::empty()),
        None => {
            let verifier = Verifier::new(provider).map_err(|error| setup(&error))?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    Ok(builder.with_no_client_auth())
}

fn roots(pem: &[u8]) -> Result<RootCertStore, ClientError> {
    let unusable = |reason: &dyn std::fmt::Display| ClientError::Setup {
        reason: format!("the CA certificates cannot be used: {reason}"),
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() { Err(unusable(&"there is none in the PEM text")) } else { Ok(roots) }
}

fn setup(error: &dyn std::error::Error) -> ClientError {
    ClientError::Setup { reason: error.to_string() }
}
