//! Why a request has no response that can be read: [`HttpError`].

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use rustls::CertificateError;

/// Why there can be no HTTP client: a certificate or a header that cannot be used, or TLS that is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SetupError(String);

impl SetupError {
    /// Makes an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// The HTTP library refuses to build a client.
    pub(crate) fn unbuildable(error: impl fmt::Display) -> Self {
        Self(format!("the HTTP client cannot be set up: {error}"))
    }
}

/// A failure between a request and the end of its response; which server it was is for the caller to add.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The request could not be sent, or the connection closed before a response came.
    #[error("{reason}")]
    Unreachable {
        /// The innermost cause, for instance `Connection refused`.
        reason: String,
        /// Whether there was no connection yet, so that nothing was sent.
        connecting: bool,
        /// Whether connecting took too long.
        timed_out: bool,
        /// The error of the HTTP library, without the URL.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The response broke off.
    #[error("{reason}")]
    Interrupted {
        /// The innermost cause.
        reason: String,
        /// The error of the HTTP library, without the URL.
        source: Box<dyn Error + Send + Sync>,
    },
    /// No response began in time.
    #[error("no answer within {after:?}")]
    NoResponse {
        /// How long the server had.
        after: Duration,
    },
    /// A response that had begun fell silent.
    #[error("nothing came for {after:?} in the middle of it")]
    Idle {
        /// How long nothing came.
        after: Duration,
    },
    /// The body is compressed, although no request asks for that.
    #[error(
        "it is compressed ({encoding}), which was not asked for: look for a proxy on the way that does so, and turn it off there"
    )]
    Encoded {
        /// How, as the server says.
        encoding: String,
    },
    /// The body, or one message of a stream, is too large.
    #[error("it is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

impl HttpError {
    pub(crate) fn unreachable(error: reqwest::Error) -> Self {
        let (connecting, timed_out) = (error.is_connect(), error.is_timeout());
        let error = error.without_url();
        Self::Unreachable { reason: innermost(&error), connecting, timed_out, source: error.into() }
    }

    pub(crate) fn interrupted(error: reqwest::Error) -> Self {
        let error = error.without_url();
        Self::Interrupted { reason: innermost(&error), source: error.into() }
    }
}

/// The message at the end of a chain of errors, which is the one that says what happened, in plain words.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    // An error of input and output does not name as its source what it wraps.
    while let Some(cause) = wrapped(innermost).or_else(|| innermost.source()) {
        innermost = cause;
    }
    if let Some(error) = innermost.downcast_ref::<rustls::Error>() {
        return tls_problem(error);
    }
    let text = innermost.to_string();
    // The number of a system error says nothing more than its name.
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn wrapped<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    Some(inner)
}

/// What a failure of TLS means; the library's own text has the names of its variants in it.
fn tls_problem(error: &rustls::Error) -> String {
    let problem = match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::UnknownIssuer => {
                "its certificate is signed by an authority that is not trusted here (a CA file can name it)"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired",
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another host"
            }
            CertificateError::Revoked => "its certificate was revoked",
            _ => return format!("its certificate cannot be used: {certificate}"),
        },
        rustls::Error::InvalidMessage(_) => "it does not speak TLS: perhaps it wants http:// and not https://",
        rustls::Error::AlertReceived(_) => "it refused the TLS connection",
        _ => return error.to_string(),
    };
    problem.to_owned()
}
