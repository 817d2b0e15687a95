//! From the text of a call to the user's types.
//!
//! serde does it in one pass. What it refuses is read again with two changes, where the published schema allows more than serde
//! does: integers may be written like `1.0` or `1e3`, and a [`std::time::Duration`] is a string, while serde
//! reads seconds and nanoseconds.

use std::borrow::Cow;
use std::time::Duration;

use opentool_spec::json;
use serde::Deserialize;

use crate::arguments::{pointer_of, without_place};
use crate::{Arguments, ToolError};

/// Reads the arguments of a call.
///
/// # Errors
///
/// Where the text does not fit the type: the same error as for a violation of the schema, with the JSON pointer.
#[inline]
pub fn read<'a, T: Deserialize<'a>>(arguments: &'a Arguments) -> Result<T, ToolError> {
    arguments.parse().or_else(|error| read_rewritten(arguments.as_str(), error))
}

/// Why a text does not fit a type, and where.
struct Mismatch {
    pointer: String,
    problem: String,
}

impl Mismatch {
    fn is_within(&self, pointer: &str) -> bool {
        self.pointer.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn error(&self) -> ToolError {
        ToolError::invalid_arguments(self.pointer.as_str(), &self.problem)
    }
}

/// Reads again, with integers and durations written as serde wants them.
///
/// The text is rewritten and not a [`Value`](serde_json::Value) of it, in which large numbers would have been rounded.
#[cold]
fn read_rewritten<'a, T: Deserialize<'a>>(text: &str, refused: ToolError) -> Result<T, ToolError> {
    let integers = json::plain_integers(text);
    let mut misfit = match parse_owned(&integers) {
        Ok(read) => return Ok(read),
        Err(misfit) => misfit,
    };
    let (mut text, mut error) = match integers {
        Cow::Borrowed(text) => (text.to_owned(), refused),
        Cow::Owned(text) => (text, misfit.error()),
    };
    loop {
        let Some(place) = json::pointer::find(&text, &misfit.pointer) else { return Err(error) };
        let Ok(written) = serde_json::from_str::<String>(&text[place.clone()]) else { return Err(error) };
        let duration = parse_duration(&written);
        let (secs, nanos) = duration.map_or((0, 0), |duration| (duration.as_secs(), duration.subsec_nanos()));
        text.replace_range(place, &format!(r#"{{"secs":{secs},"nanos":{nanos}}}"#));
        let again = parse_owned(&text);
        // Only a type that reads the object wants a duration there.
        if again.as_ref().is_err_and(|again| again.is_within(&misfit.pointer)) {
            return Err(error);
        }
        if duration.is_none() {
            let problem = format!("{written:?} is no duration; write it like \"PT1H30M\" or \"PT2.5S\"");
            return Err(ToolError::invalid_arguments(misfit.pointer, problem));
        }
        misfit = match again {
            Ok(read) => return Ok(read),
            Err(next) => next,
        };
        error = misfit.error();
    }
}

/// Reads a type without borrowing from the text, which need not live as long as what is read.
fn parse_owned<'a, T: Deserialize<'a>>(text: &str) -> Result<T, Mismatch> {
    let mut deserializer = serde_json::Deserializer::from_reader(text.as_bytes());
    serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| Mismatch { pointer: pointer_of(error.path()), problem: without_place(error.inner()) })
}

/// Reads an ISO-8601 duration without years and months, whose length is not fixed.
fn parse_duration(text: &str) -> Option<Duration> {
    let rest = text.trim().strip_prefix(['P', 'p'])?;
    let (date, time) = match rest.split_once(['T', 't']) {
        Some((date, time)) if !time.is_empty() => (date, time),
        Some(_) => return None,
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let days = components(date, &[('W', 604_800), ('D', 86_400)])?;
    days.checked_add(components(time, &[('H', 3_600), ('M', 60), ('S', 1)])?)
}

/// Adds up numbers with units, each unit at most once and in order.
fn components(mut text: &str, units: &[(char, u32)]) -> Option<Duration> {
    let mut total = Duration::ZERO;
    for &(unit, seconds) in units {
        let Some(end) = text.find([unit, unit.to_ascii_lowercase()]) else { continue };
        let (number, rest) = text.split_at(end);
        total = total.checked_add(scaled(number, seconds)?)?;
        text = &rest[1..];
    }
    text.is_empty().then_some(total)
}

/// A decimal number of so many seconds, exact to the nanosecond.
fn scaled(number: &str, seconds: u32) -> Option<Duration> {
    let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || (number.len() != whole.len() && fraction.is_empty()) {
        return None;
    }
    let nanos: u64 = format!("{fraction:0<9.9}").parse().ok()?;
    let whole = Duration::from_secs(whole.parse::<u64>().ok()?.checked_mul(seconds.into())?);
    whole.checked_add(Duration::from_nanos(nanos).checked_mul(seconds)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeMap;

    use serde_json::value::RawValue;

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn durations_are_read_as_iso_8601() {
        for (text, expected) in [
            ("PT5S", Duration::from_secs(5)),
            ("PT1H30M", Duration::from_secs(5400)),
            ("PT2.5S", Duration::from_millis(2500)),
            ("PT0,000000001S", Duration::from_nanos(1)),
            ("P1DT1S", Duration::from_secs(86_401)),
            ("P2W", Duration::from_secs(1_209_600)),
            ("PT0.5H", Duration::from_secs(1800)),
            ("pt1m", Duration::from_secs(60)),
        ] {
            assert_eq!(parse_duration(text), Some(expected), "{text}");
        }
        for wrong in ["", "P", "PT", "P1DT", "5s", "PT5", "PTS", "PT-5S", "P1Y", "PT5S5S", "PT1M1H", "PT.5S", "PT5.S"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
        assert_eq!(parse_duration(&format!("PT{}H", u64::MAX)), None, "too long");
    }

    #[derive(Deserialize, Debug, PartialEq)]
    struct Plan<'a> {
        name: std::borrow::Cow<'a, str>,
        first: Duration,
        more: Vec<Option<Duration>>,
        by_name: BTreeMap<String, Duration>,
    }

    #[test]
    fn durations_are_read_wherever_they_stand() {
        let text = r#"{"name":"x","first":"PT1S","more":["PT2S",null],"by_name":{"a/b":"PT3S"}}"#;
        let seconds = Duration::from_secs;
        let expected = Plan {
            name: "x".into(),
            first: seconds(1),
            more: vec![Some(seconds(2)), None],
            by_name: BTreeMap::from([("a/b".to_owned(), seconds(3))]),
        };
        assert_eq!(read::<Plan<'_>>(&Arguments::from(text)).unwrap(), expected);
    }

    #[test]
    fn integers_may_have_a_fraction_or_an_exponent() {
        #[derive(Deserialize, Debug, PartialEq)]
        struct Order {
            #[serde(flatten)]
            count: Count,
            big: u64,
            price: f64,
            text: String,
        }
        #[derive(Deserialize, Debug, PartialEq)]
        struct Count {
            count: i64,
        }
        let text = r#"{"count":-1.0,"big":90071992547409930e-1,"price":2.0,"text":"1.0 \"1e3"}"#;
        let expected =
            Order { count: Count { count: -1 }, big: 9_007_199_254_740_993, price: 2.0, text: "1.0 \"1e3".to_owned() };
        assert_eq!(read::<Order>(&Arguments::from(text)).unwrap(), expected);
        for text in [r#"{"count":1.5}"#, r#"{"count":1e-1}"#, r#"{"count":1e300}"#] {
            let error = read::<Count>(&Arguments::from(text)).unwrap_err();
            assert_eq!(error.data().unwrap()["problems"][0]["pointer"], "/count", "{error}");
        }
    }

    #[test]
    fn text_beside_a_duration_is_read_as_it_was_written() {
        #[derive(Deserialize, Debug)]
        struct Order {
            id: u128,
            raw: Box<RawValue>,
            wait: Duration,
        }
        let id = u128::from(u64::MAX) * 2 + 3;
        let text = format!(r#"{{"id":{id}, "raw": {{"b":1.10,"b":2}}, "wait" : "PT1S" }}"#);
        let order: Order = read(&Arguments::from(text)).unwrap();
        assert_eq!((order.id, order.raw.get(), order.wait), (id, r#"{"b":1.10,"b":2}"#, Duration::from_secs(1)));
    }

    #[test]
    fn a_wrong_duration_is_an_argument_error_with_its_pointer() {
        for (text, pointer, word) in [
            (r#"{"first":"soon"}"#, "/first", "\"soon\" is no duration"),
            (r#"{"first":5}"#, "/first", "invalid type: integer"),
            (r#"{"first":"PT1S","second":"later"}"#, "/second", "\"later\" is no duration"),
            (r#"{"first":"PT1S"}"#, "", "missing field `second`"),
        ] {
            #[derive(Deserialize, Debug)]
            #[expect(dead_code, reason = "only its refusal matters")]
            struct Two {
                first: Duration,
                second: Duration,
            }
            let error = read::<Two>(&Arguments::from(text)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArguments);
            assert_eq!(error.data().unwrap()["problems"][0]["pointer"], pointer, "{error}");
            assert!(error.message().contains(word), "{error}");
        }
    }
}
