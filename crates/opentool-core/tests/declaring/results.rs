use std::error::Error;
use std::fmt;

use opentool_core::{ErrorKind, Failure, FnTool, Text, ToolError, ToolOutput, tool};
use serde_json::{Map, Value, json};

use crate::{call, json};

#[tokio::test]
async fn text_or_json_is_decided_by_the_type() {
    #[tool]
    fn text() -> String {
        "[1]".to_owned()
    }
    #[tool]
    fn borrowed(word: &str) -> &str {
        word
    }
    #[tool]
    fn value() -> Value {
        json!("[1]")
    }
    #[tool]
    fn displayed() -> Text<u8> {
        Text(5)
    }
    #[tool]
    fn list() -> Vec<u8> {
        vec![1]
    }
    assert_eq!(call(text::tool(), json!({})).await.unwrap(), ToolOutput::text("[1]"));
    assert_eq!(call(borrowed::tool(), json!({"word": "w"})).await.unwrap(), ToolOutput::text("w"));
    assert_eq!(json(call(value::tool(), json!({})).await.unwrap()), "[1]");
    assert_eq!(call(displayed::tool(), json!({})).await.unwrap(), ToolOutput::text("5"));
    assert_eq!(json(call(list::tool(), json!({})).await.unwrap()), json!([1]));
}

#[tokio::test]
async fn an_err_fails_at_every_depth() {
    #[tool]
    fn perhaps(n: i64) -> Option<Result<i64, String>> {
        Some(if n > 0 { Ok(n) } else { Err(format!("no {n}")) })
    }
    assert_eq!(perhaps::definition().unwrap().output_schema(), None, "its content is the result");
    let closure =
        || FnTool::new("check", |map: Map<String, Value>| if map.is_empty() { Err("nothing") } else { Ok("some") });
    assert_eq!(json(call(perhaps::tool(), json!({"n": 2})).await.unwrap()), 2);
    assert_eq!(call(closure(), json!({"n": 2})).await.unwrap(), ToolOutput::text("some"));
    let failed =
        [call(perhaps::tool(), json!({"n": 0})).await, call(closure(), json!({})).await].map(Result::unwrap_err);
    assert!(failed.iter().all(|error| error.kind() == ErrorKind::Failed));
    assert_eq!(failed.map(|error| error.to_string()), ["no 0", "nothing"]);
}

#[tokio::test]
async fn no_value_is_empty() {
    #[tool]
    fn unit() {}
    #[tool]
    fn none() -> Option<u8> {
        None
    }
    #[tool]
    async fn fine() -> Result<(), Failure> {
        Ok(())
    }
    for output in
        [call(unit::tool(), json!({})).await, call(none::tool(), json!({})).await, call(fine::tool(), json!({})).await]
    {
        assert_eq!(output.unwrap(), ToolOutput::Empty);
    }
}

#[derive(Debug)]
struct Closed {
    until: u8,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "closed until {} o'clock", self.until)
    }
}

impl Error for Closed {}

type Answer<T> = Result<T, Closed>;

mod own {
    /// A `Result` that is none.
    #[derive(serde::Serialize)]
    pub struct Result {
        pub code: u8,
    }
}

#[tokio::test]
async fn a_result_is_known_under_any_alias() {
    #[tool]
    fn aliased(open: bool) -> Answer<String> {
        if open { Ok("welcome".to_owned()) } else { Err(Closed { until: 8 }) }
    }
    #[tool]
    fn io() -> std::io::Result<u8> {
        Err(std::io::Error::other("no disk"))
    }
    #[tool]
    fn text() -> Result<u8, String> {
        Err("just text".to_owned())
    }
    #[tool]
    fn boxed() -> Result<u8, Box<dyn Error + Send + Sync>> {
        Err(Closed { until: 9 })?
    }
    #[tool]
    fn not_a_result() -> own::Result {
        own::Result { code: 7 }
    }
    let welcome = call(aliased::tool(), json!({"open": true})).await.unwrap();
    assert_eq!(welcome, ToolOutput::text("welcome"));
    let closed = call(aliased::tool(), json!({"open": false})).await.unwrap_err();
    assert_eq!((closed.kind(), closed.message()), (ErrorKind::Failed, "closed until 8 o'clock"));
    assert!(!closed.is_fatal());
    assert_eq!(call(io::tool(), json!({})).await.unwrap_err().message(), "no disk");
    assert_eq!(call(text::tool(), json!({})).await.unwrap_err().message(), "just text");
    assert_eq!(call(boxed::tool(), json!({})).await.unwrap_err().message(), "closed until 9 o'clock");
    assert_eq!(json(call(not_a_result::tool(), json!({})).await.unwrap()), json!({"code": 7}));
}

#[tokio::test]
async fn a_tool_error_reaches_the_executor_as_it_was_made() {
    #[tool]
    fn fatal() -> Result<(), ToolError> {
        Err(ToolError::fatal(Closed { until: 1 }).with_code(7))
    }
    #[tool]
    async fn inside() -> Result<(), Failure> {
        Err(ToolError::retry("again"))?
    }
    let error = call(fatal::tool(), json!({})).await.unwrap_err();
    assert!(error.is_fatal());
    assert_eq!(error.code(), Some(7));
    assert!(call(inside::tool(), json!({})).await.unwrap_err().is_retryable());
}

#[test]
fn the_schema_of_the_result_is_published_where_its_type_has_one() {
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Weather {
        degrees: f32,
    }
    #[derive(serde::Serialize)]
    struct Opaque;
    #[tool]
    fn weather() -> Result<Weather, Closed> {
        Ok(Weather { degrees: 0.5 })
    }
    #[tool]
    async fn count() -> u8 {
        1
    }
    #[tool]
    fn opaque() -> Opaque {
        Opaque
    }
    #[tool]
    fn unit() {}
    #[tool]
    fn free() -> Value {
        Value::Null
    }
    #[tool]
    fn output() -> Result<ToolOutput, Closed> {
        Ok(ToolOutput::Empty)
    }
    let schema = weather::definition().unwrap().output_schema().cloned().unwrap();
    assert_eq!(schema["properties"]["degrees"]["type"], "number");
    assert_eq!(count::definition().unwrap().output_schema().unwrap()["maximum"], 255);
    for silent in [opaque::definition(), unit::definition(), free::definition(), output::definition()] {
        assert_eq!(silent.unwrap().output_schema(), None);
    }
}

#[tokio::test]
async fn a_result_that_cannot_be_written_is_an_error_of_its_own_kind() {
    let tool = FnTool::new("broken", || std::collections::HashMap::from([((1, 2), 3)]));
    let error = call(tool, json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResult);
}
