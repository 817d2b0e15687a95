//! Date and time.

use jiff::{Timestamp, Zoned, civil::Date, tz::TimeZone};
use opentool::{tool, toolbox};

/// The clock and calendar of this machine.
#[derive(Debug)]
pub(super) struct Clock;

/// Why there is no answer. The model reads it.
#[derive(Debug, thiserror::Error)]
#[error("there is no time zone named `{0}`: give an IANA name such as `Europe/Berlin`, or `UTC`")]
pub(super) struct UnknownTimeZone(String);

/// A date and time in a time zone.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(super) struct Moment {
    /// ISO 8601 with the offset from UTC.
    date_time: String,
    /// IANA name of the time zone, where it has one.
    time_zone: Option<String>,
    /// Day of the week in English.
    weekday: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    unix_seconds: i64,
}

impl From<Zoned> for Moment {
    fn from(zoned: Zoned) -> Self {
        Moment {
            date_time: zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            time_zone: zoned.time_zone().iana_name().map(str::to_owned),
            weekday: zoned.strftime("%A").to_string(),
            unix_seconds: zoned.timestamp().as_second(),
        }
    }
}

#[toolbox]
impl Clock {
    /// Get the current date, time and day of the week, in a given time zone or that of the server.
    #[tool(inline, read_only)]
    fn current_date_time(
        /// IANA name of a time zone, for instance `Asia/Shanghai`; otherwise that of the server.
        time_zone: Option<&str>,
    ) -> Result<Moment, UnknownTimeZone> {
        let zone = match time_zone {
            Some(name) => TimeZone::get(name).map_err(|_| UnknownTimeZone(name.to_owned()))?,
            None => TimeZone::system(),
        };
        Ok(Timestamp::now().to_zoned(zone).into())
    }

    /// Count the days from one date to another; negative where the second comes first.
    #[tool(inline, read_only, idempotent, output_name = "days")]
    fn days_between(
        /// The first date, for instance `2026-01-31`.
        from: Date,
        /// The second date.
        to: Date,
    ) -> i32 {
        (to - from).get_days()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use opentool::{ErrorKind, ToolOutput, testing::Probe};
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn the_time_is_now_and_needs_no_argument() {
        let probe = Probe::new(Clock);
        probe.assert_schema("current_date_time", json!({ "required": [] }));
        for arguments in [json!({}), json!({ "time_zone": "UTC" })] {
            let before = Timestamp::now().as_second();
            let answer = probe.call("current_date_time", arguments).await;
            let ToolOutput::Json(json) = answer.output() else { unreachable!("{answer:?}") };
            let moment: Value = serde_json::from_str(json.get()).unwrap();
            let time: Timestamp = moment["date_time"].as_str().unwrap().parse().unwrap();
            assert_eq!(time.as_second(), moment["unix_seconds"].as_i64().unwrap());
            assert!((before..=Timestamp::now().as_second()).contains(&time.as_second()), "{moment}");
            assert!(moment["weekday"].as_str().unwrap().ends_with("day"));
        }
    }

    #[tokio::test]
    async fn an_unknown_time_zone_is_time_with_what_to_give_instead() {
        let answer = Probe::new(Clock).call("current_date_time", json!({ "time_zone": "Mars/Olympus" })).await;
        answer.assert_error(ErrorKind::Failed).assert_message(
            "there is no time zone named `Mars/Olympus`: give an IANA name such as `Europe/Berlin`, or `UTC`",
        );
    }

    #[tokio::test]
    async fn days_are_counted_over_leap_years_in_both_directions() {
        let probe = Probe::new(Clock);
        for (from, to, days) in [
            ("2024-02-28", "2024-03-01", 2),
            ("2026-03-01", "2026-02-28", -1),
            ("2026-01-01", "2026-01-01", 0),
            ("-009999-01-01", "9999-12-31", 7_304_483),
        ] {
            probe.call("days_between", json!({ "from": from, "to": to })).await.assert_json(days);
        }
        let answer = probe.call("days_between", json!({ "from": "2026-02-30", "to": "2026-03-01" })).await;
        answer.assert_error(ErrorKind::InvalidArguments);
    }
}
