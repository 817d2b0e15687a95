//! The HTTP client underneath, and its pool.

use opentool_http::{Setup, SetupError};
use reqwest::header::HeaderValue;

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
        let authorization = settings.key.as_ref().map(|key| key.header("Bearer ")).transpose().map_err(setup)?;
        let client = Setup::new(concat!("opentool-client/", env!("CARGO_PKG_VERSION")), address.url())
            .ca_certificates(settings.ca_certificates.as_deref())
            .builder()
            .map_err(setup)?
            .connect_timeout(settings.connect_timeout)
            .pool_idle_timeout(settings.idle_timeout)
            .pool_max_idle_per_host(settings.max_idle_connections)
            .build()
            .map_err(|error| setup(SetupError::new(error)))?;
        Ok(Self { client, address, authorization })
    }
}

fn setup(error: impl std::error::Error) -> ClientError {
    ClientError::Setup { reason: error.to_string() }
}
