#![allow(unused_variables)]

use opentool::prelude::*;

struct Place;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {
    word: String,
}

fn main() {
    FnTool::new("by_reference", |context: &ToolContext| context.get("x").is_some());
    FnTool::new("no_schema", |place: Place| drop(place));
    FnTool::new("three", |a: u8, b: u8, c: u8| a + b + c);
    FnTool::fallible("plain", || 1);
    FnTool::new("two", |a: u8, b: u8| a + b);
    FnTool::new("failing", |input: Input| std::fs::read_to_string(input.word));
}
