//! Every shape that a tool may have, through the facade and without a prelude.
#![allow(missing_docs)]

use std::collections::HashMap;

#[derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
enum Unit {
    Metre,
    Foot,
}

type Fallible<T> = std::io::Result<T>;

#[opentool::tool]
fn unit() {}

#[opentool::tool(
    name = "text-of",
    description = "Text.",
    return_direct,
    timeout = "500ms",
    read_only,
    idempotent,
    serial
)]
pub fn text(mut word: String) -> String {
    word.push('!');
    word
}

#[opentool::tool(destructive, approval, exclusive)]
async fn json<'a>(
    word: &'a str,
    ctx: &'a opentool::ToolContext,
    unit: Option<Unit>,
) -> Fallible<HashMap<String, Option<Unit>>> {
    let _ = ctx;
    Ok(HashMap::from([(word.to_owned(), unit)]))
}

#[opentool::tool(inline)]
const fn constant(#[param(default = 3)] number: i8) -> i8 {
    number
}

#[test]
fn every_shape_of_a_tool_compiles() {
    let tools = [unit::tool(), text::tool(), json::tool(), constant::tool()];
    assert!(opentool::Toolbox::from_tools(tools).is_ok());
}
