//! What every provider's builder can choose.

/// Writes the methods that choose how a provider is reached, once for all providers.
///
/// The provider has a field `link: Link` and a function `endpoint(base_url: &str) -> Result<Url, String>`.
macro_rules! connection_settings {
    ($provider:ident) => {
        impl $provider {
            /// Sets where the provider is. What is wrong with an address is told by the first request.
            #[must_use]
            pub fn base_url(mut self, url: impl AsRef<str>) -> Self {
                self.link.set(|settings| settings.endpoint = Self::endpoint(url.as_ref()));
                self
            }

            /// Sets the API key, which appears in no error, no log and no `Debug`.
            #[must_use]
            pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
                self.link.set(|settings| settings.key = $crate::provider::connection::ApiKey::new(key.as_ref().trim()));
                self
            }

            /// Sets the model that is asked where a request's options name none.
            #[must_use]
            pub fn default_model(mut self, model: impl Into<String>) -> Self {
                self.link.set(|settings| settings.model = Some(model.into()));
                self
            }

            /// Adds a header to every request; like the key, its value is never shown.
            #[must_use]
            pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.link.set(|settings| settings.headers.push((name.into(), value.into())));
                self
            }

            /// Sets how long connecting may take; 10 s unless set.
            #[must_use]
            pub fn connect_timeout(mut self, time: std::time::Duration) -> Self {
                self.link.set(|settings| settings.connect_timeout = time);
                self
            }

            /// Sets how long the first byte of an answer may take; 600 s unless set, since without streaming it comes
            /// when the last word is written.
            #[must_use]
            pub fn response_timeout(mut self, time: std::time::Duration) -> Self {
                self.link.set(|settings| settings.response_timeout = time);
                self
            }

            /// Sets how long an answer that has begun may be silent; 120 s unless set.
            #[must_use]
            pub fn idle_timeout(mut self, time: std::time::Duration) -> Self {
                self.link.set(|settings| settings.idle_timeout = time);
                self
            }

            /// Sets how often a request is sent again when the provider is overloaded, out of order or out of reach; 2 unless set.
            ///
            /// Never once an answer has begun.
            #[must_use]
            pub fn retries(mut self, retries: u32) -> Self {
                self.link.set(|settings| settings.retries = retries);
                self
            }

            /// Sets the wait before the first retry, which doubles with every further one; 500 ms unless set.
            ///
            /// Where the provider says when to come back, that is what counts.
            #[must_use]
            pub fn backoff(mut self, wait: std::time::Duration) -> Self {
                self.link.set(|settings| settings.backoff = wait);
                self
            }

            /// Sets the longest wait before a retry; 60 s unless set. A provider that wants more gets no retry: the error
            /// [says](crate::ChatError::retry_after) when to try again.
            #[must_use]
            pub fn longest_wait(mut self, wait: std::time::Duration) -> Self {
                self.link.set(|settings| settings.longest_wait = wait);
                self
            }

            /// Sets how many bytes an answer may have; 32 MiB unless set.
            #[must_use]
            pub fn max_response_size(mut self, bytes: usize) -> Self {
                self.link.set(|settings| settings.max_response_size = bytes);
                self
            }

            /// Trusts these certificates (PEM) instead of the system's.
            #[must_use]
            pub fn ca_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
                self.link.set(|settings| settings.ca_certificates = Some(pem.into()));
                self
            }
        }
    };
}

pub(crate) use connection_settings;

/// Reads a variable of the environment, without the blanks around it; a blank one is none.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}
