//! The headers that decide how a request is treated, found in one pass: [`RequestHeaders`].

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TIMEOUT: HeaderName = HeaderName::from_static("opentool-timeout-ms");

/// The headers of a request that the server itself reads.
///
/// They are found in one pass: a request has few headers, and each look-up by name costs as much as reading all of their
/// names does (`scripts/bench http`).
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestHeaders<'a> {
    pub(crate) accept: Header<'a>,
    pub(crate) authorization: Header<'a>,
    pub(crate) content_encoding: Header<'a>,
    pub(crate) content_type: Header<'a>,
    pub(crate) host: Header<'a>,
    pub(crate) origin: Header<'a>,
    pub(crate) traceparent: Header<'a>,
    pub(crate) tracestate: Header<'a>,
    pub(crate) idempotency_key: Header<'a>,
    /// How many milliseconds the caller waits.
    pub(crate) timeout: Header<'a>,
}

/// The values of one header.
#[derive(Clone, Copy, Default)]
pub(crate) struct Header<'a> {
    first: Option<&'a HeaderValue>,
    /// Where there are several: all headers, and the name.
    repeated: Option<(&'a HeaderMap, &'a HeaderName)>,
}

impl<'a> RequestHeaders<'a> {
    pub(crate) fn new(headers: &'a HeaderMap) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            let header = if *name == HOST {
                &mut found.host
            } else if *name == CONTENT_TYPE {
                &mut found.content_type
            } else if *name == ACCEPT {
                &mut found.accept
            } else if *name == AUTHORIZATION {
                &mut found.authorization
            } else if *name == ORIGIN {
                &mut found.origin
            } else if *name == CONTENT_ENCODING {
                &mut found.content_encoding
            } else if *name == TRACEPARENT {
                &mut found.traceparent
            } else if *name == TRACESTATE {
                &mut found.tracestate
            } else if *name == IDEMPOTENCY_KEY {
                &mut found.idempotency_key
            } else if *name == TIMEOUT {
                &mut found.timeout
            } else {
                continue;
            };
            match header.first {
                None => header.first = Some(value),
                Some(_) => header.repeated = Some((headers, name)),
            }
        }
        found
    }
}

impl<'a> Header<'a> {
    /// Returns the first value.
    pub(crate) fn first(self) -> Option<&'a HeaderValue> {
        self.first
    }

    /// Returns the value, where there is exactly one.
    pub(crate) fn only(self) -> Option<&'a HeaderValue> {
        self.first.filter(|_| !self.is_repeated())
    }

    pub(crate) fn is_repeated(self) -> bool {
        self.repeated.is_some()
    }

    /// Returns all values.
    pub(crate) fn all(self) -> impl Iterator<Item = &'a HeaderValue> {
        let others = self.repeated.map(|(headers, name)| headers.get_all(name).iter().skip(1));
        self.first.into_iter().chain(others.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_a_repeated_header_is_found() {
        let mut headers = HeaderMap::new();
        for (name, value) in [(ACCEPT, "a"), (HOST, "h"), (ACCEPT, "b"), (TRACEPARENT, "t"), (ACCEPT, "c")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let found = RequestHeaders::new(&headers);
        assert!(found.accept.all().eq(["a", "b", "c"]));
        assert!(found.accept.is_repeated() && found.accept.only().is_none());
        assert!(found.host.all().eq(["h"]) && found.host.only().is_some());
        assert_eq!(found.traceparent.first(), Some(&HeaderValue::from_static("t")));
        assert!(found.origin.first().is_none() && found.origin.all().next().is_none());
    }
}
