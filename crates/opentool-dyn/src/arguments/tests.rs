#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use opentool_core::check::text::Cursor;
use proptest::prelude::*;

use super::read::short_integer;
use crate::frame::Slot;
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

/// What the closer look makes of the number that a text begins with.
fn looked_at_closely(value: Value, text: &str) -> Option<(u64, usize)> {
    let mut cursor = Cursor::new(text);
    let mut slot = Slot::default();
    super::read::read_value(&Passing::Value(value), &mut cursor, &mut slot).ok()?;
    Some((slot.word, cursor.at()))
}

proptest! {
    #[test]
    fn what_is_read_at_a_glance_is_what_a_closer_look_reads(text in "-?[0-9]{0,22}[.eE]?[0-9]{0,3}[,} ]?", which in 0..INTEGERS.len()) {
        let value = Value::element(INTEGERS[which]);
        if let Some(glanced) = short_integer(value, text.as_bytes(), 0) {
            prop_assert_eq!(Some(glanced), looked_at_closely(value, &text));
        }
    }

    #[test]
    fn integers_of_up_to_eighteen_digits_are_read_at_a_glance(number in -999_999_999_999_999_999_i64..=999_999_999_999_999_999) {
        let text = format!("{number},");
        let value = Value::element(Scalar::LongLong);
        prop_assert_eq!(short_integer(value, text.as_bytes(), 0), Some((value.machine.word_of_integer(number.cast_unsigned()), text.len() - 1)));
    }
}

#[test]
fn arguments_are_checked_without_a_library() {
    let text = r#"{"opendyn":"1.0.0","info":{"title":"T","version":"1","callingConvention":"cdecl"},"functions":[
        {"name":"close","description":"Close.","parameters":[
            {"name":"db","schema":{"type":"string","cType":{"type":"void","isPointer":true}},"isIn":true,"required":true,"x-handle":"db"},
            {"name":"flags","schema":{"type":"integer","cType":{"type":"short","isPointer":false}},"isIn":true,"required":false}]}]}"#;
    let plan = Plan::parse(text).unwrap();
    assert!(super::check(&plan.functions[0], r#"{"db":"db:1"}"#).is_ok());
    assert!(super::check(&plan.functions[0], r#"{"db":"db:1","flags":32767}"#).is_ok());
    for wrong in [r#"{"db":1}"#, r#"{"db":"db:1","flags":32768}"#, r#"{}"#, r#"{"db":null}"#, "[]"] {
        assert!(super::check(&plan.functions[0], wrong).is_err(), "{wrong}");
    }
}
