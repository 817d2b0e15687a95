//! When a server wants to be asked again: [`retry_after`].

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// A longer wait than this is a mistake of the server, not an answer.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Reads `Retry-After`, in seconds or as a date, or the `retry-after-ms` that some providers send.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let wait = if let Some(milliseconds) = number("retry-after-ms") {
        Duration::try_from_secs_f64(milliseconds / 1000.0).ok()?
    } else if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        Duration::try_from_secs_f64(seconds).ok()?
    } else {
        // A date that has passed means now.
        let date = httpdate::parse_http_date(text(RETRY_AFTER.as_str())?).ok()?;
        return Some(date.duration_since(now).unwrap_or_default());
    };
    (wait <= LONGEST).then_some(wait)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn retry_after_is_seconds_milliseconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (name, value, expected) in [
            ("retry-after", "7", Some(Duration::from_secs(7))),
            ("retry-after", " 120 ", Some(Duration::from_secs(120))),
            ("retry-after", "0", Some(Duration::ZERO)),
            ("retry-after", "0.5", Some(Duration::from_millis(500))),
            ("retry-after", "31622400", Some(LONGEST)),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
            ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT", Some(Duration::from_secs(60))),
            ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(Duration::ZERO)),
            ("retry-after", "", None),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after", "1e300", None),
            ("retry-after", "31622401", None),
            ("retry-after", "99999999999999999999", None),
            ("x-other", "7", None),
        ] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
        }
    }
}
