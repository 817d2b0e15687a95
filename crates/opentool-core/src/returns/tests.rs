#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{IntoToolError, Text, into_output};
use crate::{ErrorKind, Failure, Part, ToolError, ToolOutput};

fn output<T: Serialize + 'static>(value: T) -> ToolOutput {
    into_output(value).unwrap()
}

fn json_text<T: Serialize + 'static>(value: T) -> String {
    match output(value) {
        ToolOutput::Json(raw) => raw.get().to_owned(),
        other => panic!("not JSON: {other:?}"),
    }
}

#[test]
fn strings_of_every_kind_are_text_even_where_they_look_like_json() {
    let text = || ToolOutput::text("{\"a\":1}");
    assert_eq!(output("{\"a\":1}"), text());
    assert_eq!(output(String::from("{\"a\":1}")), text());
    assert_eq!(output(Cow::Borrowed("{\"a\":1}")), text());
    assert_eq!(output::<Box<str>>("{\"a\":1}".into()), text());
    assert_eq!(output::<Arc<str>>("{\"a\":1}".into()), text());
    assert_eq!(output(Some(String::from("{\"a\":1}"))), text());
    assert_eq!(output(Some("{\"a\":1}")), text());
    assert_eq!(output(Some(Arc::<str>::from("{\"a\":1}"))), text());
}

#[test]
fn values_are_json_even_where_they_are_strings_inside() {
    #[derive(Serialize)]
    enum Colour {
        Red,
    }
    #[derive(Serialize)]
    struct UserId(String);
    assert_eq!(json_text(3_i64), "3");
    assert_eq!(json_text(1.5_f32), "1.5");
    assert_eq!(json_text(true), "true");
    assert_eq!(json_text('c'), "\"c\"");
    assert_eq!(json_text(Colour::Red), "\"Red\"");
    assert_eq!(json_text(UserId("u1".into())), "\"u1\"");
    assert_eq!(json_text(Value::String("s".into())), "\"s\"");
    assert_eq!(json_text(vec![Some(1), None]), "[1,null]");
    assert_eq!(json_text((1, "two")), "[1,\"two\"]");
    assert_eq!(json_text(BTreeMap::from([("k", json!({"n": 1}))])), "{\"k\":{\"n\":1}}");
    assert_eq!(json_text(Ipv4Addr::LOCALHOST), "\"127.0.0.1\"");
    assert_eq!(json_text(u128::MAX), u128::MAX.to_string());
}

#[test]
fn anything_that_prints_is_text_inside_of_text() {
    assert_eq!(output(Text(Ipv4Addr::LOCALHOST)), ToolOutput::text("127.0.0.1"));
    assert_eq!(output(Text("a \"quoted\"\nline")), ToolOutput::text("a \"quoted\"\nline"));
    assert_eq!(output(Some(Text(5))), ToolOutput::text("5"));
    assert_eq!(json_text(vec![Text(5)]), "[\"5\"]", "only the whole result is text");
}

#[test]
fn unit_and_none_are_no_value() {
    #[derive(Serialize)]
    struct Done;
    assert_eq!(output(()), ToolOutput::Empty);
    assert_eq!(output(Done), ToolOutput::Empty);
    assert_eq!(output(None::<String>), ToolOutput::Empty);
    assert_eq!(output(None::<i64>), ToolOutput::Empty);
    assert_eq!(output(Some(None::<i64>)), ToolOutput::Empty);
    assert_eq!(output(Value::Null), ToolOutput::Empty);
    assert_eq!(json_text(Some(vec![1])), "[1]");
}

#[test]
fn a_result_that_is_a_value_is_its_content_or_a_failure() {
    type Answer<T> = Result<T, String>;
    assert_eq!(json_text(Answer::Ok(5)), "5");
    assert_eq!(json_text(Some(Answer::Ok(vec![1]))), "[1]");
    assert_eq!(output(Answer::Ok("plain".to_owned())), ToolOutput::text("plain"));
    assert_eq!(output(Answer::Ok(Some("plain"))), ToolOutput::text("plain"));
    assert_eq!(output(Answer::Ok(Text(5))), ToolOutput::text("5"));
    assert_eq!(output(Answer::Ok(())), ToolOutput::Empty);
    assert_eq!(output(Answer::Ok(None::<u8>)), ToolOutput::Empty);
    assert_eq!(output(Answer::Ok(ToolOutput::text("whole"))), ToolOutput::text("whole"));
    assert_eq!(json_text(vec![Answer::Ok(1), Answer::Err("no".into())]), r#"[{"Ok":1},{"Err":"no"}]"#);

    let failed = |error: ToolError| (error.kind(), error.message().to_owned());
    assert_eq!(failed(into_output(Answer::<u8>::Err("no 1".into())).unwrap_err()), (ErrorKind::Failed, "no 1".into()));
    assert_eq!(failed(into_output(Some(Err::<u8, _>("no 2"))).unwrap_err()), (ErrorKind::Failed, "no 2".into()));
    assert_eq!(
        failed(into_output(Err::<u8, _>(json!({"n": 3}))).unwrap_err()),
        (ErrorKind::Failed, r#"{"n":3}"#.into())
    );
    let kept = into_output(Err::<u8, _>(ToolError::denied("not you").with_code(7))).unwrap_err();
    assert_eq!((kept.kind(), kept.message(), kept.code()), (ErrorKind::Denied, "not you", Some(7)));
}

#[test]
fn an_output_is_passed_on_as_it_is() {
    let parts = ToolOutput::Parts(vec![Part::text("a"), Part::text("b")]);
    assert_eq!(output(parts.clone()), parts);
    assert_eq!(output(Some(parts.clone())), parts);
    assert_eq!(output(None::<ToolOutput>), ToolOutput::Empty);
}

#[test]
fn a_result_of_any_size_is_serialised_once() {
    struct Once(Cell<bool>, usize);
    impl Serialize for Once {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert!(!self.0.replace(true), "serialised a second time");
            serializer.collect_seq(std::iter::repeat_n("é", self.1))
        }
    }
    for length in [0, 1, 11, 12, 13, 60, 1000] {
        let expected = format!("[{}]", vec!["\"é\""; length].join(","));
        assert_eq!(json_text(Once(Cell::new(false), length)), expected);
    }
    for length in 60..70 {
        assert_eq!(json_text(vec!["x".repeat(length)]), format!("[\"{}\"]", "x".repeat(length)));
    }
}

#[test]
fn a_result_that_cannot_be_serialised_is_an_error() {
    struct Broken;
    impl Serialize for Broken {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no way to write this"))
        }
    }
    for error in [into_output(Broken).unwrap_err(), into_output(HashMap::from([(vec![1], 1)])).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::InvalidResult);
    }
}

#[test]
fn a_tool_error_survives_every_wrapping() {
    let error = || ToolError::fatal("the disk is gone").with_code(7);
    let boxed: Box<dyn std::error::Error + Send + Sync> = error().into();
    for kept in [error().into_tool_error(), Failure::from(error()).into_tool_error(), boxed.into_tool_error()] {
        assert_eq!((kept.code(), kept.is_fatal(), kept.message()), (Some(7), true, "the disk is gone"));
    }
    assert_eq!("plain".into_tool_error().message(), "plain");
    assert_eq!(String::from("owned").into_tool_error().message(), "owned");
    let io = std::io::Error::other("cannot read");
    let error_seen = io.into_tool_error();
    assert_eq!((error_seen.message(), error_seen.is_fatal()), ("cannot read", false));
    assert_eq!(error_seen.source_type(), Some("std::io::error::Error"));
    assert_eq!(error().into_tool_error().source_type(), None, "it is its own error");
}
