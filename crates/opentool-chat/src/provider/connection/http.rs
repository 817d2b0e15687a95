//! The HTTP client underneath: its pool, its TLS, and what it must not do on its own.

use std::fmt;
use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Url, redirect};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::Settings;

/// An HTTP client, whom it speaks to, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    pub(crate) client: reqwest::Client,
    pub(crate) endpoint: Url,
    pub(crate) headers: HeaderMap,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let endpoint = settings.endpoint.clone()?;
        let is_https = endpoint.scheme() == "https";
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("opentool-chat/", env!("CARGO_PKG_VERSION")))
            // Whoever answers with a redirect would otherwise choose who gets the key and the conversation.
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(settings.connect_timeout)
            .tls_backend_preconfigured(tls(settings, is_https)?);
        if !is_https {
            // A proxy would read the key; through https it sees only where the tunnel goes.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| setup(&error))?;
        Ok(Self { client, endpoint, headers: headers(settings)? })
    }
}

fn headers(settings: &Settings) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some((name, value)) = settings.wire_header {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = &settings.key {
        headers.insert(settings.key_header.name(), key.header(settings.key_header.prefix())?);
    }
    for (name, value) in &settings.headers {
        let parsed = HeaderName::try_from(name).map_err(|_| format!("`{name}` cannot be the name of a header"))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of the header `{name}` has characters in it that no header can carry"))?;
        value.set_sensitive(true);
        headers.insert(parsed, value);
    }
    Ok(headers)
}

/// The TLS side of the client. It is made here so that one crypto provider is enough for the whole program.
fn tls(settings: &Settings, is_https: bool) -> Result<ClientConfig, String> {
    let provider = CryptoProvider::get_default().cloned().unwrap_or_else(|| Arc::new(ring::default_provider()));
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?;
    let builder = match &settings.ca_certificates {
        Some(pem) => builder.with_root_certificates(roots(pem)?),
        // Reading the system's certificates takes a while, and nobody will ask for them.
        None if !is_https => builder.with_root_certificates(RootCertStore::empty()),
        None => {
            let verifier = Verifier::new(provider).map_err(|error| setup(&error))?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
    };
    Ok(builder.with_no_client_auth())
}

fn roots(pem: &[u8]) -> Result<RootCertStore, String> {
    let unusable = |reason: &dyn fmt::Display| format!("the CA certificates cannot be used: {reason}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() { Err(unusable(&"there is none in the PEM text")) } else { Ok(roots) }
}

fn setup(error: &dyn std::error::Error) -> String {
    format!("the HTTP client cannot be set up: {error}")
}
