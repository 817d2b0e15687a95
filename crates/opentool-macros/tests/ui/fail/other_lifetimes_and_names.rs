#![allow(unused_variables)]

use opentool::ToolContext as Cx;
use opentool::prelude::*;

#[tool]
fn label(text: &'static str, other: Option<&'static str>) {}

#[tool]
fn tenant(context: &Cx) {}

fn main() {}
