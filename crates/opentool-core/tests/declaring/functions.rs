use std::sync::Arc;
use std::time::Duration;

use opentool_core::{Concurrency, ErrorKind, ResultConverter, Tool, ToolContext, ToolError, ToolOutput, Toolbox, tool};
use serde_json::json;

use crate::{call, call_with, definition, json, required, the_tool};

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::test]
async fn a_function_stays_callable_and_is_a_tool_under_the_same_name() {
    assert_eq!(add(1, 2), 3);
    assert_eq!([1, 2].map(|n| add(n, n)), [2, 4]);
    let pointer: fn(i64, i64) -> i64 = add;
    assert_eq!(pointer(2, 2), 4);

    assert_eq!(json(call(add::tool(), json!({"a": 1, "b": 2})).await.unwrap()), json!(3));
}

#[test]
fn a_definition_is_had_without_calling_the_tool() {
    #[tool]
    fn never() {
        unreachable!("only its definition is wanted");
    }
    assert_eq!(never::definition().unwrap().name(), "never");
    assert_eq!(add::definition().unwrap(), definition(add::tool()));
}

#[test]
fn the_description_is_the_attribute_else_the_doc_comment_else_the_name() {
    /// From the comment.
    #[tool(description = "From the attribute.")]
    fn both() {}

    /// From the comment.
    #[tool]
    fn comment() {}

    #[tool]
    fn bare() {}

    #[tool(name = "other")]
    fn renamed() {}

    assert_eq!(both::definition().unwrap().description(), "From the attribute.");
    assert_eq!(comment::definition().unwrap().description(), "From the comment.");
    assert_eq!(bare::definition().unwrap().description(), "bare");
    assert_eq!(renamed::definition().unwrap().description(), "other");
}

#[test]
fn a_description_keeps_its_paragraphs_and_loses_the_form_of_the_comment() {
    /// Look something up.
    ///
    /// - in the index
    ///   - deeply
    #[tool]
    fn lines() {}

    /** Look something up.

    In the index. */
    #[tool]
    fn block() {}

    /**
     * With stars.
     *
     * - kept
     */
    #[tool]
    fn stars() {}

    #[doc = concat!("Made ", "of pieces.")]
    #[tool]
    fn pieces() {}

    const WORDS: &str = "A constant.";
    #[tool(description = WORDS)]
    fn constant() {}

    assert_eq!(lines::definition().unwrap().description(), "Look something up.\n\n- in the index\n  - deeply");
    assert_eq!(block::definition().unwrap().description(), "Look something up.\n\nIn the index.");
    assert_eq!(stars::definition().unwrap().description(), "With stars.\n\n- kept");
    assert_eq!(pieces::definition().unwrap().description(), "Made of pieces.");
    assert_eq!(constant::definition().unwrap().description(), "A constant.");
}

#[test]
fn the_name_is_the_attribute_else_that_of_the_function() {
    #[tool(name = "get-weather")]
    fn weather() {}

    #[tool]
    fn r#type() {}

    assert_eq!(weather::definition().unwrap().name(), "get-weather");
    assert_eq!(r#type::definition().unwrap().name(), "type");
}

#[test]
fn every_option_reaches_the_metadata() {
    struct Shout;
    impl ResultConverter for Shout {
        fn convert(&self, output: ToolOutput) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text(output.to_text().to_uppercase()))
        }
    }

    #[tool(return_direct, read_only, idempotent, open_world, serial, timeout = "1500ms", converter = Shout)]
    fn first() {}
    #[tool(destructive, approval, exclusive, timeout = "2m", idempotent = false)]
    fn second() {}

    let tool = the_tool(first::tool());
    let metadata = tool.metadata();
    assert!(metadata.is_return_direct() && metadata.is_read_only() && metadata.is_idempotent());
    assert!(!metadata.is_destructive() && !metadata.needs_approval());
    assert_eq!((metadata.open_world(), metadata.destructive()), (Some(true), None));
    assert_eq!(metadata.concurrency(), Concurrency::Serial);
    assert_eq!(metadata.timeout(), Some(Duration::from_millis(1500)));
    assert!(metadata.converter().is_some());

    let tool = the_tool(second::tool());
    let metadata = tool.metadata();
    assert!(metadata.is_destructive() && metadata.needs_approval());
    assert!(!metadata.is_return_direct() && !metadata.is_read_only() && !metadata.is_idempotent());
    assert_eq!((metadata.open_world(), metadata.idempotent()), (None, Some(false)));
    assert_eq!(metadata.concurrency(), Concurrency::Exclusive);
    assert_eq!(metadata.timeout(), Some(Duration::from_secs(120)));

    let tool = the_tool(add::tool());
    let metadata = tool.metadata();
    assert_eq!((metadata.concurrency(), metadata.timeout()), (Concurrency::Shared, None));
    assert!(metadata.converter().is_none());
}

#[test]
fn a_flag_that_is_off_contradicts_nothing() {
    #[tool(read_only = true, destructive = false, serial, exclusive = false)]
    fn reading() {}
    #[tool(destructive, read_only = false, exclusive, serial = false)]
    fn wiping() {}

    let reading = the_tool(reading::tool());
    assert!(reading.metadata().is_read_only() && !reading.metadata().is_destructive());
    assert_eq!(reading.metadata().concurrency(), Concurrency::Serial);
    let wiping = the_tool(wiping::tool());
    assert!(wiping.metadata().is_destructive() && !wiping.metadata().is_read_only());
    assert_eq!(wiping.metadata().concurrency(), Concurrency::Exclusive);
}

#[tokio::test]
async fn a_converter_changes_what_the_tool_answered() {
    fn shout(output: ToolOutput) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(output.to_text().to_uppercase()))
    }
    #[tool(converter = shout)]
    fn quiet() -> &'static str {
        "psst"
    }
    assert_eq!(call(quiet::tool(), json!({})).await.unwrap(), ToolOutput::text("PSST"));
}

#[tokio::test]
async fn the_context_may_be_anywhere_and_is_not_in_the_schema() {
    #[tool]
    fn first(context: &ToolContext, word: String) -> String {
        format!("{word} {}", context.get("tenant").unwrap())
    }
    #[tool]
    async fn middle(a: &str, cx: &ToolContext, b: &str) -> String {
        format!("{a}{b} {} {}", cx.get("tenant").unwrap(), cx.tool_name())
    }
    #[tool]
    fn alone(cx: &opentool_core::ToolContext) -> bool {
        cx.get("tenant").is_some()
    }

    let context = ToolContext::new().with("tenant", "acme");
    let first = call_with(first::tool(), json!({"word": "hi"}), &context).await.unwrap();
    assert_eq!(first, ToolOutput::text("hi \"acme\""));
    let middle_answer = call_with(middle::tool(), json!({"a": "x", "b": "y"}), &context).await.unwrap();
    assert_eq!(middle_answer, ToolOutput::text("xy \"acme\" middle"));
    assert_eq!(json(call(alone::tool(), json!({})).await.unwrap()), json!(false), "an empty context works");

    let schema = middle::definition().unwrap().input_schema().clone();
    assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test]
async fn a_plain_function_runs_on_another_thread() {
    #[tool]
    fn thread(name: &str, cx: &ToolContext) -> String {
        assert_eq!(cx.tool_name(), "thread");
        format!("{name} {:?}", std::thread::current().id())
    }
    let here = format!("caller {:?}", std::thread::current().id());
    let there = call(thread::tool(), json!({"name": "caller"})).await.unwrap().to_text();
    assert!(there.starts_with("caller ThreadId"));
    assert_ne!(here, there);
}

#[tokio::test]
async fn inline_and_async_functions_run_on_the_callers_thread() {
    #[tool(inline)]
    fn inline() -> String {
        format!("{:?}", std::thread::current().id())
    }
    #[tool]
    async fn asynchronous() -> String {
        format!("{:?}", std::thread::current().id())
    }
    let here = format!("{:?}", std::thread::current().id());
    assert_eq!(call(inline::tool(), json!({})).await.unwrap().to_text(), here);
    assert_eq!(call(asynchronous::tool(), json!({})).await.unwrap().to_text(), here);
}

#[tokio::test]
async fn a_plain_method_on_the_pool_has_its_state_and_context() {
    struct Greeter(String);
    #[opentool_core::toolbox]
    impl Greeter {
        #[tool]
        fn greet(&self, name: &str, cx: &ToolContext) -> String {
            format!("{} {name} from {}", self.0, cx.tool_name())
        }
    }
    let answer = call(Greeter("hello".to_owned()), json!({"name": "Ada"})).await.unwrap();
    assert_eq!(answer.to_text(), "hello Ada from greet");
}

#[tokio::test]
async fn text_is_borrowed_from_the_arguments_unless_it_has_escapes() {
    #[tool(inline)]
    fn address(text: &str) -> (usize, String) {
        (text.as_ptr().addr(), text.to_owned())
    }
    let tool = the_tool(address::tool());
    let arguments = opentool_core::Arguments::from(r#"{"text":"plain"}"#);
    let context = ToolContext::new();
    let output = tool.call(opentool_core::Invocation::new(&arguments, &context)).await.unwrap();
    let (address, text): (usize, String) = serde_json::from_value(json(output)).unwrap();
    let own = arguments.as_str().as_bytes().as_ptr_range();
    assert!((own.start.addr()..own.end.addr()).contains(&address), "copied {text}");

    let output = call(address::tool(), json!({"text": "with \"escapes\"\n"})).await.unwrap();
    assert_eq!(json(output)[1], "with \"escapes\"\n");
}

#[test]
fn functions_of_any_visibility_and_in_any_place_are_tools() {
    mod inner {
        use opentool_core::tool;

        /// The width of a box.
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        pub struct Millimetres(pub u16);

        #[tool]
        pub fn exported(width: Millimetres) -> u16 {
            width.0
        }

        #[tool]
        pub(super) fn restricted() {}

        #[cfg(any())]
        #[tool]
        pub fn absent(missing: DoesNotExist) {}
    }
    use inner::exported;
    assert_eq!(exported(inner::Millimetres(2)), 2);
    let known = exported::definition().unwrap();
    assert!(known.input_schema().to_string().contains("65535"), "{known:?}");
    assert_eq!(inner::restricted::definition().unwrap().name(), "restricted");
}

#[tokio::test]
async fn a_parameter_may_have_the_name_of_its_function_or_of_what_is_emitted() {
    #[tool]
    fn echo(echo: String, this: u8, invocation: &str, called: bool) -> String {
        format!("{echo} {this} {invocation} {called}")
    }
    #[tool]
    async fn later(later: Vec<u8>, context: &ToolContext, returned: Option<u8>) -> usize {
        let _ = (context, returned);
        later.len()
    }
    let arguments = json!({"echo": "x", "this": 1, "invocation": "y", "called": true});
    assert_eq!(call(echo::tool(), arguments).await.unwrap(), ToolOutput::text("x 1 y true"));
    assert_eq!(json(call(later::tool(), json!({"later": [1, 2]})).await.unwrap()), 2);
}

#[test]
fn functions_share_a_toolbox_with_other_tools() {
    let toolbox = Toolbox::from_tools([add::tool(), add::tool().name("plus")]).unwrap();
    assert_eq!(toolbox.names().collect::<Vec<_>>(), ["add", "plus"]);

    let error = Toolbox::from_tools([add::tool(), add::tool()]).unwrap_err();
    assert!(error.to_string().contains("two tools are named `add`"), "{error}");
}

#[test]
fn name_description_and_schema_of_a_macro_tool_can_be_overridden() {
    let schema =
        json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": [], "additionalProperties": false});
    let tool = add::tool().name("sum").description("Sum up.").input_schema(schema.clone()).return_direct();
    let tool: Arc<dyn Tool> = tool.build().unwrap();
    assert_eq!(tool.definition().name(), "sum");
    assert_eq!(tool.definition().description(), "Sum up.");
    assert_eq!(tool.definition().input_schema(), &schema);
    assert!(tool.metadata().is_return_direct());
}

#[tokio::test]
async fn a_failure_to_deserialise_is_an_argument_error() {
    #[derive(Debug, schemars::JsonSchema)]
    struct Even(#[expect(dead_code, reason = "only read by Debug")] u8);
    impl<'de> serde::Deserialize<'de> for Even {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let number = u8::deserialize(deserializer)?;
            if number % 2 == 0 { Ok(Self(number)) } else { Err(serde::de::Error::custom(format!("{number} is odd"))) }
        }
    }
    #[tool]
    fn halve(numbers: Vec<Even>) -> usize {
        numbers.len()
    }
    let violation = call(halve::tool(), json!({"numbers": [2, "x"]})).await.unwrap_err();
    let failure = call(halve::tool(), json!({"numbers": [2, 3]})).await.unwrap_err();
    for (error, expected) in [(&violation, "/numbers/1"), (&failure, "/numbers/1")] {
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
        assert_eq!(error.data().unwrap()["problems"][0]["pointer"], expected, "{error}");
        assert!(error.message().contains(expected), "{error}");
    }
    assert!(failure.message().contains("3 is odd"), "{failure}");
}

#[tokio::test]
async fn a_type_that_a_macro_writes_is_known_for_what_it_is() {
    macro_rules! echo {
        ($name:ident, $text:ty, $context:ty) => {
            #[tool]
            fn $name(word: Option<$text>, context: $context) -> String {
                format!("{} {}", word.unwrap_or("nothing"), context.tool_name())
            }
        };
    }
    echo!(echo, &str, &ToolContext);
    assert_eq!(required(&echo::definition().unwrap()), [""; 0]);
    let output = call(echo::tool(), json!({"word": "hello"})).await.unwrap();
    assert_eq!(output, ToolOutput::text("hello echo"));
}
