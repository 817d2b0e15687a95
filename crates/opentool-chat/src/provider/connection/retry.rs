//! When to ask again.

use std::time::{Duration, SystemTime};

use opentool_http::jittered;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::Settings;
use crate::{Cause, ChatError};

/// When the provider wants to be asked again: in milliseconds, seconds or at a time.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let number = |name: &str| -> Option<f64> { headers.get(name)?.to_str().ok()?.trim().parse().ok() };
    let duration = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    if let Some(milliseconds) = number("retry-after-ms") {
        return duration(milliseconds / 1000.0);
    }
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return duration(seconds);
    }
    let date = httpdate::parse_http_date(headers.get(RETRY_AFTER)?.to_str().ok()?.trim()).ok()?;
    // A time that has passed means now.
    Some(date.duration_since(now).unwrap_or_default())
}

/// How long to wait before an attempt after this failure; none where another attempt makes no sense.
pub(crate) fn wait_before(attempt: u32, settings: &Settings, failure: &ChatError) -> Option<Duration> {
    if attempt > settings.retries || !failure.is_retryable() {
        return None;
    }
    match failure.cause() {
        // It took its time already; a second time would be as long.
        Cause::Unreachable { timed_out: true, .. } => return None,
        // Nothing that waiting mends.
        Cause::Refused { code: Some(code), .. } if code == "insufficient_quota" => return None,
        _ => {}
    }
    match failure.retry_after() {
        Some(wait) => (wait <= settings.longest_wait).then_some(wait),
        None => {
            let doubled = settings.backoff.saturating_mul(1 << (attempt - 1).min(16));
            Some(jittered(doubled.min(settings.longest_wait)))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::provider::connection::KeyHeader;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())])
    }

    #[test]
    fn retry_after_is_seconds_milliseconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (name, value, expected) in [
            ("retry-after", "7", Some(Duration::from_secs(7))),
            ("retry-after", "0.5", Some(Duration::from_millis(500))),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
            ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT", Some(Duration::from_secs(60))),
            ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(Duration::ZERO)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after", "1e300", None),
            ("x-other", "7", None),
        ] {
            assert_eq!(retry_after(&headers(name, value), now), expected, "{name}: {value}");
        }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_the_provider_may_ask_for_no_more_than_that() {
        let mut settings = Settings::new(Err(String::new()), KeyHeader::Bearer);
        settings.retries = 40;
        let busy = || ChatError::refused("openai", 503, "busy");
        for (attempt, longest) in [(1, 500), (2, 1000), (3, 2000), (40, 60_000)] {
            let wait = wait_before(attempt, &settings, &busy()).unwrap().as_millis();
            assert!((longest / 2..=longest).contains(&wait), "{attempt}: {wait}");
        }
        assert_eq!(wait_before(41, &settings, &busy()), None);
        let after = |seconds| wait_before(1, &settings, &busy().with_retry_after(Duration::from_secs(seconds)));
        assert_eq!((after(60), after(61)), (Some(Duration::from_secs(60)), None));
    }

    #[test]
    fn what_waiting_does_not_mend_is_not_tried_again() {
        let settings = Settings::new(Err(String::new()), KeyHeader::Bearer);
        for failure in [
            ChatError::refused("openai", 401, "who are you?"),
            ChatError::refused("openai", 429, "pay first").with_code("insufficient_quota"),
            ChatError::timed_out("openai", "no answer within 600s"),
            ChatError::unreadable("openai", "HTML"),
        ] {
            assert_eq!(wait_before(1, &settings, &failure), None, "{failure}");
        }
        assert!(wait_before(1, &settings, &ChatError::unreachable("openai", "refused")).is_some());
    }
}
