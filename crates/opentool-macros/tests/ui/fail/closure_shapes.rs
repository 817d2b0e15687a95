#![allow(unused_variables)]

use opentool::prelude::*;

struct Place;

fn main() {
    FnTool::new("by_reference", |context: &ToolContext| context.get("x").is_some());
    FnTool::new("no_schema", |place: Place| drop(place));
    FnTool::new("three", |a: u8, b: u8, c: u8| a + b + c);
    FnTool::fallible("plain", || 1);
}
