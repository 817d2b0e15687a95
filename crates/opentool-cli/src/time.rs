//! Times as people write them.

use std::time::Duration;

/// `500ms`, `35s`, `2m`, `24h`, `30d`, or seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time such as 500ms, 35s or 2m".to_owned();
    let digits = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u32 = number.parse().map_err(|_| wrong())?;
    match unit {
        "ms" => Ok(Duration::from_millis(number.into())),
        "" | "s" => Ok(Duration::from_secs(number.into())),
        "m" => Ok(Duration::from_secs(60 * u64::from(number))),
        "h" => Ok(Duration::from_secs(60 * 60 * u64::from(number))),
        "d" => Ok(Duration::from_secs(24 * 60 * 60 * u64::from(number))),
        _ => Err(wrong()),
    }
}

/// The same for what needs some time.
pub(crate) fn some_time(text: &str) -> Result<Duration, String> {
    duration(text).and_then(|time| if time.is_zero() { Err("nothing is done in no time".to_owned()) } else { Ok(time) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("35s"), Ok(Duration::from_secs(35)));
        assert_eq!(duration("35"), Ok(Duration::from_secs(35)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(duration("30d"), Ok(Duration::from_secs(30 * 86_400)));
        for wrong in ["", "s", "1w", "-1s", "1.5s", "99999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
