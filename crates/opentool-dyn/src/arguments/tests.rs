#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use opentool_spec::json::Lexer;
use proptest::prelude::*;

use super::read::short_integer;
use crate::frame::{Frame, Slot};
use crate::plan::{Passing, Plan, Scalar, Value};

const INTEGERS: [Scalar; 10] = [
    Scalar::Char,
    Scalar::UnsignedChar,
    Scalar::Short,
    Scalar::UnsignedShort,
    Scalar::Int,
    Scalar::UnsignedInt,
    Scalar::Long,
    Scalar::UnsignedLong,
    Scalar::LongLong,
    Scalar::UnsignedLongLong,
];

/// What the slow path makes of the number that a text begins with.
fn read_slowly(value: Value, text: &str) -> Option<(u64, usize)> {
    let mut lexer = Lexer::new(text);
    let mut slot = Slot::default();
    super::objects::read_value(&Passing::Value(value), &mut lexer, &mut slot).ok()?;
    Some((slot.word, lexer.position()))
}

proptest! {
    #[test]
    fn fast_path_reads_what_the_slow_path_reads(text in "-?[0-9]{0,22}[.eE]?[0-9]{0,3}[,} ]?", which in 0..INTEGERS.len()) {
        let value = Value::element(INTEGERS[which]);
        if let Some(fast) = short_integer(value, text.as_bytes(), 0) {
            prop_assert_eq!(Some(fast), read_slowly(value, &text));
        }
    }

    #[test]
    fn integers_of_eighteen_digits_take_the_fast_path(number in -999_999_999_999_999_999_i64..=999_999_999_999_999_999) {
        let text = format!("{number},");
        let value = Value::element(Scalar::LongLong);
        prop_assert_eq!(short_integer(value, text.as_bytes(), 0), Some((value.machine.word_of_integer(number.cast_unsigned()), text.len() - 1)));
    }
}

/// Reads arguments of the first function of a plan.
fn read(plan: &Plan, text: &str) -> Result<(), opentool_core::ToolError> {
    let function = &plan.functions[0];
    Frame::with(function.parameters.len(), |frame| {
        let read = super::read(function, text, frame);
        frame.clear(function.parameters.len());
        read
    })
}

#[test]
fn arguments_are_read_without_a_library() {
    let text = r#"{"opendyn":"1.0.0","info":{"title":"T","version":"1","callingConvention":"cdecl"},"functions":[
        {"name":"close","description":"Close.","parameters":[
            {"name":"db","schema":{"type":"string","cType":{"type":"void","isPointer":true}},"isIn":true,"required":true,"x-handle":"db"},
            {"name":"flags","schema":{"type":"integer","cType":{"type":"short","isPointer":false}},"isIn":true,"required":false}]}]}"#;
    let plan = Plan::parse(text).unwrap();
    assert!(read(&plan, r#"{"db":"db:1"}"#).is_ok());
    assert!(read(&plan, r#"{"db":"db:1","flags":32767}"#).is_ok());
    for wrong in [r#"{"db":1}"#, r#"{"db":"db:1","flags":32768}"#, r#"{}"#, r#"{"db":null}"#, "[]"] {
        assert!(read(&plan, wrong).is_err(), "{wrong}");
    }
}

#[test]
fn integers_may_be_written_as_floats() {
    let value = Value::element(Scalar::LongLong);
    let word = |integer: i64| Some(value.machine.word_of_integer(integer.cast_unsigned()));
    let read = |text: &str| read_slowly(value, text).map(|(word, _)| word);
    assert_eq!(read("1.0"), word(1));
    assert_eq!(read("1e3"), word(1000));
    assert_eq!(read("-0.0"), word(0));
    assert_eq!(read("-25e-1"), None);
    assert_eq!(read("9223372036854775807.0"), word(i64::MAX), "exact beyond 2^53");
    assert_eq!(read("1e18"), word(1_000_000_000_000_000_000));
    assert_eq!(read("1e19"), None);
    assert_eq!(read("9223372036854775808.0"), None);
}
