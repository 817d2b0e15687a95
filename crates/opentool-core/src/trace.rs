//! The trace that a request belongs to, received by a frontend and passed on by a source: [`TraceContext`].

use std::fmt;

/// A W3C trace context: the `traceparent` of a request and, where there is one, its `tracestate`.
///
/// A server puts it into the [`ToolContext`](crate::ToolContext) as a typed value; a tool that calls another server
/// sends it along, so that both ends show up in one trace.
///
/// ```
/// use opentool_core::{ToolContext, TraceContext};
///
/// let trace = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
/// assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
/// let context = ToolContext::new().with_typed(trace);
/// assert!(context.typed::<TraceContext>().is_some());
/// assert!(TraceContext::parse("00-4bf9-00f0-01").is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: String,
    tracestate: Option<String>,
}

impl TraceContext {
    /// Reads a `traceparent`; none where it is not one, since a broken trace is as good as no trace.
    #[must_use]
    pub fn parse(traceparent: &str) -> Option<Self> {
        let traceparent = traceparent.trim();
        let mut parts = traceparent.split('-');
        let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let sound = is_hex(version, 2)
            && version != "ff"
            // A later version may say more, but never less.
            && (version != "00" || parts.next().is_none())
            && traceparent.len() <= MAX_TRACEPARENT
            && traceparent.bytes().all(|byte| byte.is_ascii_graphic())
            && is_identity(trace, 32)
            && is_identity(parent, 16)
            && is_hex(flags, 2);
        sound.then(|| Self { traceparent: traceparent.to_owned(), tracestate: None })
    }

    /// Adds what the vendors along the way noted; dropped where it cannot be a header.
    #[must_use]
    pub fn with_tracestate(mut self, tracestate: impl Into<String>) -> Self {
        let tracestate = tracestate.into();
        let sound = !tracestate.is_empty()
            && tracestate.len() <= MAX_TRACESTATE
            && tracestate.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
        self.tracestate = sound.then_some(tracestate);
        self
    }

    /// Returns the header `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> &str {
        &self.traceparent
    }

    /// Returns the header `tracestate`, where there is one.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// Returns the identity of the trace: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        self.traceparent.split('-').nth(1).unwrap_or_default()
    }

    /// Returns the identity of the span that made the request: 16 hexadecimal digits.
    #[must_use]
    pub fn parent_id(&self) -> &str {
        self.traceparent.split('-').nth(2).unwrap_or_default()
    }

    /// Says whether the caller records the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        let flags = self.traceparent.split('-').nth(3).unwrap_or_default();
        u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1)
    }
}

/// Twice what the only version so far needs.
const MAX_TRACEPARENT: usize = 128;
/// The length that the recommendation asks every participant to pass on.
const MAX_TRACESTATE: usize = 512;

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_identity(text: &str, length: usize) -> bool {
    is_hex(text, length) && text.bytes().any(|byte| byte != b'0')
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TraceContext").field(&self.traceparent).finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SOUND: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_taken_apart() {
        let trace = TraceContext::parse(SOUND).unwrap().with_tracestate("vendor=1");
        assert_eq!((trace.traceparent(), trace.tracestate()), (SOUND, Some("vendor=1")));
        assert_eq!(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(trace.parent_id(), "00f067aa0ba902b7");
        assert!(trace.is_sampled());
        assert!(!TraceContext::parse(&SOUND.replace("-01", "-02")).unwrap().is_sampled());
    }

    #[test]
    fn what_is_no_traceparent_is_no_trace() {
        let zeros = "0".repeat(32);
        for broken in [
            String::new(),
            SOUND.to_uppercase(),
            SOUND.replace("4bf92f3577b34da6a3ce929d0e0e4736", &zeros),
            SOUND.replace("00f067aa0ba902b7", "0000000000000000"),
            SOUND.replacen("00", "ff", 1),
            format!("{SOUND}-more"),
            format!("{SOUND}\r\nx: y"),
            format!("01{}-{}", &SOUND[2..], "a".repeat(200)),
        ] {
            assert_eq!(TraceContext::parse(&broken), None, "{broken}");
        }
        assert!(TraceContext::parse(&format!("01{}-more", &SOUND[2..])).is_some(), "a later version may say more");
    }

    #[test]
    fn a_tracestate_that_cannot_be_a_header_is_dropped() {
        for broken in ["", "a=1\nx: y", &"a".repeat(513)] {
            assert_eq!(TraceContext::parse(SOUND).unwrap().with_tracestate(broken).tracestate(), None);
        }
    }
}
