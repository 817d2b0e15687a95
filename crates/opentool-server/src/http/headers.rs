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
    pub(crate) accept: HeaderValues<'a>,
    pub(crate) authorization: HeaderValues<'a>,
    pub(crate) content_encoding: HeaderValues<'a>,
    pub(crate) content_type: HeaderValues<'a>,
    pub(crate) host: HeaderValues<'a>,
    pub(crate) origin: HeaderValues<'a>,
    pub(crate) traceparent: HeaderValues<'a>,
    pub(crate) tracestate: HeaderValues<'a>,
    pub(crate) idempotency_key: HeaderValues<'a>,
    /// How many milliseconds the caller waits.
    pub(crate) timeout: HeaderValues<'a>,
}

impl<'a> RequestHeaders<'a> {
    pub(crate) fn new(headers: &'a HeaderMap) -> Self {
        let names = [
            &ACCEPT,
            &AUTHORIZATION,
            &CONTENT_ENCODING,
            &CONTENT_TYPE,
            &HOST,
            &ORIGIN,
            &TRACEPARENT,
            &TRACESTATE,
            &IDEMPOTENCY_KEY,
            &TIMEOUT,
        ];
        let [
            accept,
            authorization,
            content_encoding,
            content_type,
            host,
            origin,
            traceparent,
            tracestate,
            idempotency_key,
            timeout,
        ] = find(headers, names);
        Self {
            accept,
            authorization,
            content_encoding,
            content_type,
            host,
            origin,
            traceparent,
            tracestate,
            idempotency_key,
            timeout,
        }
    }
}

/// Finds the values of some headers, in the order of the names.
pub(crate) fn find<'a, const N: usize>(headers: &'a HeaderMap, names: [&HeaderName; N]) -> [HeaderValues<'a>; N] {
    let mut found = [HeaderValues::default(); N];
    for (name, value) in headers {
        let Some(index) = names.iter().position(|wanted| *wanted == name) else { continue };
        let header = &mut found[index];
        match header.first {
            None => header.first = Some(value),
            Some(_) => header.repeated = Some((headers, name)),
        }
    }
    found
}

/// The values of one header of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeaderValues<'a> {
    first: Option<&'a HeaderValue>,
    /// Where there are several: all headers, and the name.
    repeated: Option<(&'a HeaderMap, &'a HeaderName)>,
}

impl<'a> HeaderValues<'a> {
    /// Returns the first value.
    #[must_use]
    pub fn first(self) -> Option<&'a HeaderValue> {
        self.first
    }

    /// Returns the value, where there is exactly one.
    #[must_use]
    pub fn only(self) -> Option<&'a HeaderValue> {
        self.first.filter(|_| !self.is_repeated())
    }

    /// Says whether the header is there more than once.
    #[must_use]
    pub fn is_repeated(self) -> bool {
        self.repeated.is_some()
    }

    /// Returns all values.
    pub fn all(self) -> impl Iterator<Item = &'a HeaderValue> {
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
