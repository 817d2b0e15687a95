//! The headers that decide how a request is treated, found in one pass: [`RequestHeaders`].

use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TIMEOUT: HeaderName = HeaderName::from_static("opentool-timeout-ms");

/// A header that the server itself reads; in the order of [`KnownHeader::index`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownHeader {
    Accept,
    Authorization,
    ContentEncoding,
    ContentType,
    Host,
    Origin,
    TraceParent,
    TraceState,
    IdempotencyKey,
    /// How many milliseconds the caller waits.
    Timeout,
}

impl KnownHeader {
    const COUNT: usize = 10;

    /// The place of a name among them. Constants are compared with the name, and not their texts (`scripts/bench http`).
    fn index(name: &HeaderName) -> Option<usize> {
        let names: [_; Self::COUNT] = [
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
        names.iter().position(|known| *known == name)
    }
}

/// The headers of a request that the server itself reads.
///
/// They are found in one pass: a request has few headers, and each look-up by name costs as much as reading all of their
/// names does (`scripts/bench http`). They are kept as long as the request, whose memory has to be little: so they are not
/// [`HeaderValues`] each.
#[derive(Clone, Copy)]
pub(crate) struct RequestHeaders<'a> {
    all: &'a HeaderMap,
    first: [Option<&'a HeaderValue>; KnownHeader::COUNT],
    /// A bit for each header that is there more than once.
    repeated: u16,
}

impl<'a> RequestHeaders<'a> {
    pub(crate) fn new(all: &'a HeaderMap) -> Self {
        let mut headers = Self { all, first: [None; KnownHeader::COUNT], repeated: 0 };
        for (name, value) in all {
            let Some(index) = KnownHeader::index(name) else { continue };
            match &mut headers.first[index] {
                Some(_) => headers.repeated |= 1 << index,
                first => *first = Some(value),
            }
        }
        headers
    }

    pub(crate) fn get(&self, header: KnownHeader) -> HeaderValues<'a> {
        let (all, index) = (self.all, header as usize);
        let is_repeated = self.repeated & (1 << index) != 0;
        let name = is_repeated.then(|| all.keys().find(|name| KnownHeader::index(name) == Some(index))).flatten();
        HeaderValues { first: self.first[index], repeated: name.map(|name| (all, name)) }
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
        let (accept, host) = (found.get(KnownHeader::Accept), found.get(KnownHeader::Host));
        assert!(accept.all().eq(["a", "b", "c"]));
        assert!(accept.is_repeated() && accept.only().is_none());
        assert!(host.all().eq(["h"]) && host.only().is_some());
        assert_eq!(found.get(KnownHeader::TraceParent).first(), Some(&HeaderValue::from_static("t")));
        let origin = found.get(KnownHeader::Origin);
        assert!(origin.first().is_none() && origin.all().next().is_none());
    }

    #[test]
    fn each_header_is_found_by_its_own_name() {
        for (header, name) in [
            (KnownHeader::Accept, ACCEPT),
            (KnownHeader::Authorization, AUTHORIZATION),
            (KnownHeader::ContentEncoding, CONTENT_ENCODING),
            (KnownHeader::ContentType, CONTENT_TYPE),
            (KnownHeader::Host, HOST),
            (KnownHeader::Origin, ORIGIN),
            (KnownHeader::TraceParent, TRACEPARENT),
            (KnownHeader::TraceState, TRACESTATE),
            (KnownHeader::IdempotencyKey, IDEMPOTENCY_KEY),
            (KnownHeader::Timeout, TIMEOUT),
        ] {
            let headers = HeaderMap::from_iter([(name, HeaderValue::from_static("v"))]);
            assert!(RequestHeaders::new(&headers).get(header).only().is_some(), "{header:?}");
        }
    }
}
