#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::*;
use crate::json::Lexer;

fn quantity(text: &str) -> Quantity {
    Lexer::new(text).number().unwrap_or_else(|error| panic!("{text}: {error}")).quantity
}

fn order(left: &str, right: &str) -> Ordering {
    quantity(left).compare(quantity(right))
}

#[test]
fn integers_beyond_two_to_53_keep_their_last_digit() {
    assert_eq!(order("9007199254740993", "9007199254740992.0"), Ordering::Greater);
    assert_eq!(order("9007199254740993.0", "9007199254740992"), Ordering::Greater);
    assert_eq!(order("18446744073709551615", "18446744073709551614"), Ordering::Greater);
    assert_eq!(order("18446744073709551615", "18446744073709551616"), Ordering::Less);
    assert_eq!(order("-9223372036854775808", "-9223372036854775807"), Ordering::Less);
}

#[test]
fn integer_just_below_i64_does_not_round_up_into_it() {
    for below in ["-9223372036854775809", "-9223372036854775809.0", "-9223372036854775809e0"] {
        assert_eq!(quantity(below).compare(Quantity::Signed(i64::MIN)), Ordering::Less, "{below}");
    }
    for equal in ["-9223372036854775808.0", "-9223372036854775808e0"] {
        assert_eq!(quantity(equal).compare(Quantity::Signed(i64::MIN)), Ordering::Equal, "{equal}");
    }
}

#[test]
fn fractions_stand_between_their_neighbours() {
    for (left, right) in [("-1", "-0.5"), ("-0.5", "0"), ("0", "0.5"), ("2", "2.000001")] {
        assert_eq!(order(left, right), Ordering::Less, "{left} {right}");
        assert_eq!(order(right, left), Ordering::Greater, "{right} {left}");
    }
    assert_eq!(order("-0", "0"), Ordering::Equal);
}

#[test]
fn number_beyond_the_doubles_has_no_quantity() {
    for text in ["1e400", "-1e400", &"9".repeat(400)] {
        let error = Lexer::new(text).number().unwrap_err();
        assert_eq!((error.at, error.kind), (0, crate::json::JsonErrorKind::NumberRange), "{text}");
    }
    assert!(quantity("1e-400").is_integer(), "it reads as zero");
}

#[test]
fn integers_written_as_floats_are_exact_integers() {
    for (text, expected) in [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("12.50e1", "125"),
        ("100e-2", "1"),
        ("0.001e3", "1"),
        ("-2.0", "-2"),
        ("0e99999999999999999999", "0"),
        ("-0.0", "-0"),
        ("9223372036854775807.0", "9223372036854775807"),
        ("1e38", "100000000000000000000000000000000000000"),
    ] {
        assert_eq!(plain_integer(text).as_deref(), Some(expected), "{text}");
    }
    for text in ["1.5", "1e-1", "12.55e1", "1e39", "1e99999999999999999999", "5e-99999999999999999999"] {
        assert_eq!(plain_integer(text), None, "{text}");
    }
    assert_eq!(quantity("1.0"), Quantity::Unsigned(1));
    assert_eq!(quantity("-1e3"), Quantity::Signed(-1000));
    assert_eq!(quantity("18446744073709551615.0"), Quantity::Unsigned(u64::MAX));
    assert_eq!(quantity("1.5"), Quantity::Double(1.5));
    assert!(matches!(quantity("-0.0"), Quantity::Double(zero) if zero.is_sign_negative()));
}

proptest! {
    #[test]
    fn quantity_is_what_serde_json_reads(text in "-?(0|[1-9][0-9]{0,22})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?") {
        let theirs: serde_json::Number = serde_json::from_str(&text).unwrap();
        let ours = quantity(&text);
        let below_i64 = ours.to_f64() < -TWO_TO_63 && theirs.as_f64() == Some(-TWO_TO_63);
        prop_assert!(below_i64 || Some(ours.to_f64()) == theirs.as_f64(), "{} {:?}", text, ours);
        if let (Some(theirs), Quantity::Unsigned(ours)) = (theirs.as_u64(), ours) {
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn scaled_integers_are_read_exactly(integer in any::<i64>(), zeros in 0_usize..6) {
        let moved = format!("{integer}{:0<zeros$}e-{zeros}", "");
        let expected = if integer == 0 { quantity(&moved) } else { Quantity::from(integer) };
        prop_assert_eq!(quantity(&moved), expected, "{}", moved);
        prop_assert!(quantity(&moved).is_integer());
    }
}
