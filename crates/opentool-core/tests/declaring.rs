#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
use opentool_core::{
    Arguments, DeclaredTools, FnTool, Invocation, Tool, ToolContext, ToolError, ToolOutput, tool, toolbox,
};
use std::sync::Arc;

/// Add two numbers.
#[tool]
fn add(
    /// The first.
    a: i64,
    #[param(description = "The second.")] b: i64,
) -> i64 {
    a + b
}

#[tool(return_direct, timeout = "5s")]
async fn greet(
    ctx: &ToolContext,
    name: &str,
    title: Option<&str>,
    #[param(default = "hello")] word: &str,
    #[param(required = false)] n: u8,
) -> Result<String, std::io::Error> {
    let _ = ctx;
    Ok(format!("{word} {title:?} {name} {n}"))
}

struct Notes<S> {
    prefix: S,
}
#[toolbox]
impl<S: AsRef<str> + Send + Sync + 'static + serde::de::DeserializeOwned + schemars::JsonSchema> Notes<S> {
    #[tool]
    fn first(&self, text: &str) -> &str {
        self.prefix.as_ref()
    }
    #[tool]
    async fn second(&self, text: S, ctx: &ToolContext) -> Result<(), String> {
        Err(text.as_ref().to_owned())
    }
    #[tool(blocking)]
    fn third(list: Vec<Option<i32>>) {}
}

async fn call(tool: &Arc<dyn Tool>, args: &str) -> Result<ToolOutput, ToolError> {
    let a = Arguments::from(args);
    tool.call(Invocation::new(&a, &ToolContext::new())).await
}

#[tokio::test]
async fn smoke() {
    let t = add::tool().build().unwrap();
    println!("{:#?}", t.definition());
    println!("{:?}", call(&t, r#"{"a":1,"b":2}"#).await);
    println!("{:?}", call(&t, r#"{"a":1,"b":"x"}"#).await);
    assert_eq!(add(1, 2), 3);
    let t = greet::tool().build().unwrap();
    println!("{:#?}", t.definition());
    println!("{:?}", call(&t, r#"{"name":"J\n"}"#).await);
    for t in (Notes { prefix: "x".to_owned() }).into_toolbox().unwrap().iter().cloned() {
        let t = t.build().unwrap();
        println!("{:#?}", t.definition());
        println!("{:?}", call(&t, r#"{"text":"J\n", "list": [1,null]}"#).await);
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Add {
        a: i64,
        b: i64,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct File {
        path: String,
    }
    let t = FnTool::new("add", |i: Add| i.a + i.b).build().unwrap();
    println!("{:?}", call(&t, r#"{"a":1,"b":2}"#).await);
    let t = FnTool::fallible("size", |i: File, cx: ToolContext| async move { Ok(std::fs::metadata(i.path)?.len()) })
        .build()
        .unwrap();
    println!("{:?}", call(&t, r#"{"path":"/etc/passwd"}"#).await);
    println!("{:?}", call(&t, r#"{"path":"/etc/passwdd"}"#).await);
    let t = FnTool::fallible("size", |i: File| Ok(std::fs::metadata(i.path)?.len())).build().unwrap();
    println!("{:?}", call(&t, r#"{"path":"/etc/passwdd"}"#).await);
    println!("{}", FnTool::new("neg", |i: i64| -i).build().map(|_| ()).unwrap_err());
    let t = FnTool::new("raw", |i: Arguments| async move { i.to_string() }).build().unwrap();
    println!("{:?}", call(&t, r#"{"path":"/etc/passwdd"}"#).await);
    let t = FnTool::new("now", || ()).build().unwrap();
    println!("{:?}", call(&t, r#"{"path":"/etc/passwdd"}"#).await);
}
