//! What the application hands to tools and the model never sees.

use opentool_core::testing::{FakeTool, Probe};
use opentool_core::{BoxFuture, Executor, Invocation, Middleware, Next, ToolCall, ToolContext, ToolError, ToolOutput};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Tenant(u8);

#[tokio::test]
async fn a_tool_sees_the_values_the_call_id_and_its_name() {
    let tool = FakeTool::new("who").acts(|_, context| async move {
        let tenant = context.typed::<Tenant>().copied();
        let key: Option<String> = context.get_as("key")?;
        Ok(ToolOutput::text(format!("{} {} {tenant:?} {key:?}", context.call_id(), context.tool_name())))
    });
    let context = ToolContext::new().with("key", "value").with_typed(Tenant(3));
    let outcome = Executor::new().host(tool).run(ToolCall::new("call_7", "who", ""), &context).await;
    assert_eq!(outcome.output().unwrap().to_text(), r#"call_7 who Some(Tenant(3)) Some("value")"#);
}

#[tokio::test]
async fn a_tool_sees_its_name_however_long_it_is() {
    for length in [1, 29, 30, 31, 64] {
        let name = "x".repeat(length);
        let tool = FakeTool::new(&name).acts(|_, context| async move { Ok(ToolOutput::text(context.tool_name())) });
        Probe::new(tool).call(&name, "").await.assert_text(&name);
    }
}

#[tokio::test]
async fn an_empty_context_works() {
    let tool = FakeTool::new("a").acts(|_, context| async move {
        assert!(context.typed::<Tenant>().is_none() && context.get("x").is_none());
        context.emit("unwatched").await;
        context.progress(1.0, None, None);
        Ok(ToolOutput::text("fine"))
    });
    Probe::new(tool).call("a", "").await.assert_text("fine");
}

#[test]
fn merging_adds_values_and_the_right_side_wins() {
    let left = ToolContext::new().with("a", 1).with("b", 1).with_typed(Tenant(1)).with_typed(7_u8);
    let right = ToolContext::new().with("b", 2).with("c", 2).with_typed(Tenant(2));
    let merged = left.merge(&right);
    assert_eq!(merged.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!((merged.get("a"), merged.get("b")), (Some(&json!(1)), Some(&json!(2))));
    assert_eq!((merged.typed::<Tenant>(), merged.typed::<u8>()), (Some(&Tenant(2)), Some(&7)));
    assert_eq!(left.get("b"), Some(&json!(1)), "the sides stay as they are");
}

#[test]
fn debug_shows_keys_and_never_values() {
    let context = ToolContext::new().with("token", "s3cret").with_typed(Tenant(42));
    let shown = format!("{context:?} {:?}", context.clone());
    assert!(shown.contains("token") && shown.contains("Tenant"));
    assert!(!shown.contains("s3cret") && !shown.contains("42"), "{shown}");
}

#[test]
fn a_value_of_the_wrong_type_is_an_error_without_the_value() {
    let error = ToolContext::new().with("key", "s3cret").get_as::<u8>("key").unwrap_err();
    assert!(error.detail().unwrap().contains("`key` is no u8"));
    assert!(!format!("{error:?}").contains("s3cret"));
}

#[test]
fn a_change_to_a_clone_does_not_touch_the_original() {
    let original = ToolContext::new().with("a", 1);
    let mut clone = original.clone();
    clone.insert("a", 2);
    assert_eq!((original.get("a"), clone.get("a")), (Some(&json!(1)), Some(&json!(2))));
}

struct Tag(&'static str);

impl Middleware for Tag {
    fn call<'a>(&'a self, invocation: Invocation<'a>, next: Next<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let output = next.run(invocation).await?;
            Ok(ToolOutput::text(format!("{}({})", self.0, output.to_text())))
        })
    }
}

/// Runs the tool until it succeeds, as often as this.
struct Again(u32);

impl Middleware for Again {
    fn call<'a>(&'a self, invocation: Invocation<'a>, next: Next<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut attempt = 1;
            loop {
                let context = invocation.context.clone().with_attempt(attempt);
                match next.run(Invocation::new(invocation.arguments, &context)).await {
                    Err(error) if error.is_retryable() && attempt < self.0 => attempt += 1,
                    result => return result,
                }
            }
        })
    }
}

#[tokio::test]
async fn middleware_wraps_the_call_outermost_first() {
    let executor = Executor::builder().middleware(Tag("outer")).middleware(Tag("inner")).build();
    Probe::with(&executor, FakeTool::new("a").answers("x")).call("a", "").await.assert_text("outer(inner(x))");
}

#[tokio::test]
async fn middleware_may_run_the_tool_again_and_the_tool_sees_the_attempt() {
    let executor = Executor::builder().middleware(Again(3)).build();
    let tool = FakeTool::new("a").acts(|_, context| async move {
        if context.attempt() < 3 { Err(ToolError::retry("not yet")) } else { Ok(ToolOutput::text("third")) }
    });
    let log = tool.log();
    Probe::with(&executor, tool).call("a", "").await.assert_text("third");
    assert_eq!(log.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn middleware_is_inside_the_deadline_and_the_checks() {
    struct Slow;
    impl Middleware for Slow {
        fn call<'a>(&'a self, _: Invocation<'a>, _: Next<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(std::future::pending())
        }
    }
    let executor = Executor::builder().middleware(Slow).build();
    let probe = Probe::with(&executor, FakeTool::new("a").with_schema(super::pair()));
    probe.call("a", r#"{"a":1}"#).await.assert_error(opentool_core::ErrorKind::Timeout);
    probe.call("a", "{}").await.assert_error(opentool_core::ErrorKind::InvalidArguments);
}
