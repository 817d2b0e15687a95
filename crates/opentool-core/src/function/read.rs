//! From the text of a call to the user's types.
//!
//! serde does it in one pass. What it refuses is read again with two changes, where the published schema allows more than serde
//! does: integers may be written like `1.0` or `1e3`, and a [`std::time::Duration`] is a string, while serde
//! reads seconds and nanoseconds.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

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
struct Misfit {
    pointer: String,
    problem: String,
}

impl Misfit {
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
    let integers = plain_integers(text);
    let mut misfit = match parse_owned(&integers) {
        Ok(read) => return Ok(read),
        Err(misfit) => misfit,
    };
    let (mut text, mut error) = match integers {
        Cow::Borrowed(text) => (text.to_owned(), refused),
        Cow::Owned(text) => (text, misfit.error()),
    };
    loop {
        let Some(place) = find(&text, &misfit.pointer) else { return Err(error) };
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
fn parse_owned<'a, T: Deserialize<'a>>(text: &str) -> Result<T, Misfit> {
    let mut deserializer = serde_json::Deserializer::from_reader(text.as_bytes());
    serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| Misfit { pointer: pointer_of(error.path()), problem: without_place(error.inner()) })
}

/// Rewrites the numbers of a JSON text that are integers with a fraction or an exponent, such as `1.0` and `1e3`.
fn plain_integers(text: &str) -> Cow<'_, str> {
    let mut rewritten = String::new();
    let mut copied = 0;
    let mut rest = text;
    while let Some(start) = rest.find(|char: char| matches!(char, '"' | '-' | '0'..='9')) {
        rest = &rest[start..];
        let length = if rest.starts_with('"') {
            string_length(rest)
        } else {
            rest.find(|char: char| !matches!(char, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        if let Some(integer) = plain_integer(token) {
            let at = text.len() - rest.len();
            rewritten.push_str(&text[copied..at]);
            rewritten.push_str(&integer);
            copied = at + length;
        }
        rest = after;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    rewritten.push_str(&text[copied..]);
    Cow::Owned(rewritten)
}

/// The length of the string literal that a text starts with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| match byte {
        _ if escaped => {
            escaped = false;
            false
        }
        b'\\' => {
            escaped = true;
            false
        }
        byte => byte == b'"',
    });
    end.map_or(text.len(), |end| end + 2)
}

/// Writes a number without fraction and exponent, where it has one of them and is an integer of at most 39 digits, as many as
/// a `u128` has.
fn plain_integer(number: &str) -> Option<String> {
    const MAX_DIGITS: usize = 39;
    let (sign, magnitude) = number.strip_prefix('-').map_or(("", number), |magnitude| ("-", magnitude));
    let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty()
        || (mantissa.len() == magnitude.len() && fraction.is_empty())
        || !is_digits(whole)
        || !is_digits(fraction)
    {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let trailing_zeros = digits.len() - digits.trim_end_matches('0').len();
    let exponent: i64 = exponent.parse().ok()?;
    let zeros =
        exponent.checked_add(i64::try_from(trailing_zeros).ok()?)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let zeros = usize::try_from(zeros).ok().filter(|zeros| significant.len() + zeros <= MAX_DIGITS)?;
    Some(format!("{sign}{significant}{}", "0".repeat(zeros)))
}

/// Finds the bytes of a JSON text that a pointer points to.
fn find(text: &str, pointer: &str) -> Option<Range<usize>> {
    let mut found: &RawValue = serde_json::from_str(text).ok()?;
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        found = if found.get().starts_with('[') {
            serde_json::from_str::<Vec<&RawValue>>(found.get()).ok()?.get(name.parse::<usize>().ok()?)?
        } else {
            serde_json::from_str::<HashMap<Cow<'_, str>, &RawValue>>(found.get()).ok()?.get(&*name)?
        };
    }
    let start = found.get().as_ptr().addr() - text.as_ptr().addr();
    Some(start..start + found.get().len())
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
    fn integers_are_written_out() {
        for (number, integer) in [
            ("1.0", Some("1")),
            ("1e3", Some("1000")),
            ("-12.50E+1", Some("-125")),
            ("100e-2", Some("1")),
            ("0.0", Some("0")),
            ("-0.0", Some("0")),
            ("1.5", None),
            ("1e-1", None),
            ("1", None),
            ("-7", None),
            ("1e40", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(plain_integer(number).as_deref(), integer, "{number}");
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
