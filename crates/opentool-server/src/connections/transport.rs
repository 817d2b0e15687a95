//! What a listener speaks below HTTP: [`Transport`].

#[cfg(feature = "tls")]
use super::tls::Certificates;

/// Plain TCP, or TLS.
pub(crate) enum Transport {
    Plain,
    #[cfg(feature = "tls")]
    Tls(Certificates),
}

impl Transport {
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }
}
